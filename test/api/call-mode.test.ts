import assert from "node:assert/strict";
import { test } from "node:test";
import { ADMIN_PASSWORD, itemsOf, openTestService, type TestService } from "./test-service.ts";

/** What webhooks say of themselves, and what a call gets that says nothing itself. */

const WEBHOOKS = {
  usual: {},
  redirecting: { sync_mode: "redirect" },
  held: { sync_mode: "hold" },
  async: { default_mode: "async" },
  "async-held": { default_mode: "async", sync_mode: "hold" },
} as const;

const STATUS: Readonly<Record<string, number>> = { async: 201, redirect: 303, hold: 200 };

const ROWS = [
  [{}, ["redirect", "redirect", "hold", "async", "async"]],
  [{ SYNC_MODE: "hold" }, ["hold", "redirect", "hold", "async", "async"]],
  [{ RESPONSE_MATRIX: "earlier" }, ["hold", "hold", "hold", "hold", "hold"]],
] as const;

for (const [config, expected] of ROWS)
  test(`a webhook says what a call gets, with ${JSON.stringify(config)}`, async () => {
    await using service = await openTestService({ config });
    for (const [name, members] of Object.entries(WEBHOOKS))
      await service.want(201, "POST", "/webhook", { body: { name, flow: "echo", ...members } });
    const names = Object.keys(WEBHOOKS);
    const { json } = await service.want(200, "GET", "/webhook");
    const told = new Map(itemsOf(json).map((item) => [item["name"], item["call_mode"]]));
    assert.deepEqual(
      names.map((name) => told.get(name)),
      expected,
    );
    for (const name of names) {
      const one = await service.want(200, "GET", `/webhook/${name}`);
      assert.equal((one.json as Record<string, unknown>)["call_mode"], told.get(name));
      assert.equal(await statusOf(service, name), STATUS[String(told.get(name))], name);
    }
  });

async function statusOf(service: TestService, name: string): Promise<number> {
  const body = { password: ADMIN_PASSWORD, is_enabled: true, key: null };
  await service.want(200, "PUT", `/webhook/${name}/authentication`, { body });
  const url = `${service.url}/api/latest/webhook/${name}/call`;
  const response = await fetch(url, { method: "POST", redirect: "manual" });
  await response.arrayBuffer();
  return response.status;
}
