import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { send, type Answer } from "../blackbox/client.ts";
import { ADMIN_PASSWORD } from "../blackbox/service.ts";
import { assertAside } from "./aside.ts";
import { openTestService, type TestService } from "./test-service.ts";

/** Many webhooks are exported and imported: whoever calls meanwhile is answered as ever. */

const MOST = 10_000;

describe("many webhooks", () => {
  let service: TestService;
  let token = "";
  before(async () => {
    service = await openTestService({ flows: ["echo"] });
    await service.createWebhook("other", "echo", { is_productive: true, sync_mode: "hold" });
    const given = { user_name: "admin", password: ADMIN_PASSWORD };
    const login = await service.api("POST", "/auth/login", given, "");
    ({ token } = JSON.parse(login.text) as { token: string });
  });
  after(() => service[Symbol.asyncDispose]());

  const post = (text: string, query = ""): Promise<Answer> =>
    send(service.origin, {
      method: "POST",
      target: `/api/latest/import${query}`,
      headers: { "x-service-token": token, "content-type": "application/yaml" },
      body: text,
    });

  test("M11: an import of more than ten thousand is refused by name", async () => {
    const answer = await post(toDocument(MOST + 1));
    assert.equal(answer.status, 422);
    assert.match(answer.text, /webhooks: expected at most 10000, found 10001/);
    assert.match(answer.text, /"field":"webhooks"/);
  });

  test("M11: others are called while ten thousand are imported", async () => {
    const made = await assertAside(service, "import", 200, () => post(toDocument(MOST)));
    const { items } = JSON.parse(made.text) as { items: { action: string; key: string }[] };
    assert.equal(items.length, MOST);
    assert.ok(items.every(({ action }) => action === "create"));
    assert.equal(new Set(items.map(({ key }) => key)).size, MOST);
  });

  test("M11: others are called while names are found for ten thousand", async () => {
    const renamed = await assertAside(service, "import, renamed", 200, () =>
      post(toDocument(MOST), "?conflicts=rename&dry_run=true"),
    );
    const { items } = JSON.parse(renamed.text) as { items: { name: string }[] };
    assert.equal(new Set(items.map(({ name }) => name)).size, MOST);
  });

  test("M11: others are called while ten thousand are exported", async () => {
    const exported = await assertAside(service, "export", 200, () => service.api("GET", "/export"));
    assert.equal(exported.text.match(/^ {2}- name: /gm)?.length, MOST + 1);
    assert.match(exported.text, /^# An import takes 10000 webhooks .+ in parts\.\nformat: /);
    const part = exported.text
      .split(/^(?= {2}- name: )/m)
      .slice(0, 1001)
      .join("");
    const again = await post(part, "?conflicts=replace&dry_run=true");
    const { items } = JSON.parse(again.text) as { items: { changes: object }[] };
    assert.equal(items.length, 1000);
    assert.ok(
      items.every(({ changes }) => Object.keys(changes).length === 0),
      "nothing differs",
    );
  });
});

/** Names that differ in their last letters alone, so that new ones are found among many. */
function toDocument(count: number): string {
  const stem = "w".repeat(121);
  const lines = Array.from(
    { length: count },
    (_, n) => `  - { name: ${stem}${String(n).padStart(5, "0")}, flow: echo, role: webhook }`,
  );
  return `format: flowhook/export/v1\nwebhooks:\n${lines.join("\n")}\n`;
}
