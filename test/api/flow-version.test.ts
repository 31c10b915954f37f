import assert from "node:assert/strict";
import { test } from "node:test";
import { memberOf, openTestService } from "./test-service.ts";

test("a file of a version is read by a path of the version alone", async () => {
  await using service = await openTestService();
  const version = memberOf((await service.want(200, "GET", "/flow/echo")).json, "version");
  const path = `/flow/echo/version/${version}`;
  const { json } = await service.want(200, "GET", path);
  const { source, files, file, is_serving } = json as Record<string, unknown>;
  assert.deepEqual([files, file, is_serving], [["echo.ts"], "echo.ts", true]);
  const flow = await service.want(200, "GET", "/flow/echo");
  assert.equal(source, memberOf(flow.json, "source"));

  const near = await service.want(404, "GET", `${path}?file=eco.ts`);
  assert.match(near.text, /There is no file \\"eco.ts\\"; did you mean \\"echo.ts\\"/);
  const outside = ["..%2Fserving", "%2Fetc%2Fpasswd", "..%2F..%2F..%2Fflowhook.db"];
  for (const file of outside) await service.want(404, "GET", `${path}?file=${file}`);
  for (const wanted of ["..", "%2e%2e", "..%2F..", "0123456789abcdef", "serving"]) {
    const { status, text } = await service.ask("GET", `/flow/echo/version/${wanted}`);
    assert.equal(status, 404, wanted);
    assert.ok(!text.includes(service.directory), "no path of the machine");
  }
  const gone = await service.want(404, "GET", "/flow/echo/version/0123456789abcdef");
  assert.match(gone.text, /There is no version .* any more: the newest 10/);
});
