import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { ADMIN_PASSWORD } from "../blackbox/service.ts";
import { openTestService } from "./test-service.ts";

test("the configuration of the service, where it came from, and no secret of it", async () => {
  await using service = await openTestService({
    env: { FLOWHOOK_MAX_LOG_LINES: "7", FLOWHOOK_LISTEN_PORT: "0" },
  });
  const { json, text } = await service.want(200, "GET", "/config");
  const { file, items } = json as {
    file: string;
    items: { key: string; value: unknown; [member: string]: unknown }[];
  };
  assert.equal(file, join(service.directory, "flowhook.yaml"));
  const find = (key: string) => items.find((item) => item.key === key);
  const from = { source: "environment", place: "FLOWHOOK_MAX_LOG_LINES", overrides: null };
  assert.deepEqual(find("MAX_LOG_LINES"), { key: "MAX_LOG_LINES", value: 7, ...from });
  assert.equal(find("LISTEN_PORT")?.["overrides"], `${file}:2`);
  assert.equal(find("DATA_DIR")?.value, join(service.directory, "data"));
  assert.equal(find("ADMIN_PASSWORD")?.value, null);
  assert.ok(!text.includes(ADMIN_PASSWORD));
});
