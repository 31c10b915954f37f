import assert from "node:assert/strict";
import { createHmac, generateKeyPairSync, sign } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { send, type Answer } from "../blackbox/client.ts";
import { ADMIN_PASSWORD } from "../blackbox/service.ts";
import { assertAside } from "./aside.ts";
import { openTestService, type TestService } from "./test-service.ts";

/** Signatures over large bodies: whoever else calls meanwhile is answered as ever. */

const BODY = Buffer.from(`"${"x".repeat(9_000_000)}"`);
const TEXT = "a secret of somebody";

const pairs = Array.from({ length: 5 }, () => generateKeyPairSync("ed25519"));
const last = pairs.at(-1)!;

const toSecret = ({ publicKey }: (typeof pairs)[number]): string =>
  `whpk_${Buffer.from(publicKey.export({ format: "jwk" }).x ?? "", "base64url").toString("base64")}`;

/** @param candidates of the header, as bytes */
function standard(candidates: readonly Buffer[], at: string): Record<string, string> {
  const parts = candidates.map((bytes) => `v1a,${bytes.toString("base64")}`);
  return { "webhook-id": "1", "webhook-timestamp": at, "webhook-signature": parts.join(" ") };
}

describe("signatures of large bodies", () => {
  let service: TestService;
  before(async () => {
    service = await openTestService({ flows: ["echo"] });
    const fields = { is_productive: true, sync_mode: "hold" };
    for (const name of ["other", "many", "plain"])
      await service.createWebhook(name, "echo", fields);
    const secrets = pairs.map((pair, at) => [`s${at}`, toSecret(pair)] as const);
    for (const [name, value] of [...secrets, ["text", TEXT]])
      assert.equal((await service.api("POST", "/secret", { name, value })).status, 201);
    const names = secrets.map(([name]) => name);
    await setSignature("many", { scheme: "standard_webhooks", secrets: names });
    await setSignature("plain", { scheme: "github", secrets: ["text"] });
  });
  after(() => service[Symbol.asyncDispose]());

  async function setSignature(webhook: string, signature: object): Promise<void> {
    const body = { password: ADMIN_PASSWORD, signature };
    const answer = await service.api("PUT", `/webhook/${webhook}/authentication`, body);
    assert.equal(answer.status, 200, answer.text);
  }

  const post = (webhook: string, headers: Record<string, string>): Promise<Answer> =>
    send(service.origin, {
      method: "POST",
      target: `/api/latest/webhook/${webhook}/call?async`,
      headers: { "content-type": "application/json", ...headers },
      body: BODY,
    });

  test("others are answered while ten wrong ones are held against five keys of Ed25519", async () => {
    const at = String(Math.floor(Date.now() / 1000));
    const wrong = Array.from({ length: 10 }, (_, n) => Buffer.alloc(64, n));
    const headers = standard(wrong, at);
    await assertAside(service, "ten times five", 401, () => post("many", headers));
  });

  test("one that is right is found, by the name of its secret", async () => {
    const at = String(Math.floor(Date.now() / 1000));
    const right = sign(null, Buffer.concat([Buffer.from(`1.${at}.`), BODY]), last.privateKey);
    const answer = await post("many", standard([Buffer.alloc(64), right], at));
    assert.equal(answer.status, 201, answer.text);
    const record = await service.api("GET", `/execution/${answer.text}`);
    const { verified } = JSON.parse(record.text) as { verified: object };
    assert.deepEqual(verified, {
      scheme: "standard_webhooks",
      secret: "s4",
      id: "1",
      timestamp: at,
    });
    const again = await post("many", standard([right], at));
    assert.equal(again.text, answer.text, "it admits one execution");
  });

  test("those of HMAC as well, right and wrong", async () => {
    const right = createHmac("sha256", TEXT).update(BODY).digest("hex");
    for (const [signature, status] of [
      [right, 201],
      [right.replace(/.$/, (digit) => (digit === "0" ? "1" : "0")), 401],
    ] as const) {
      const answer = await post("plain", { "x-hub-signature-256": `sha256=${signature}` });
      assert.equal(answer.status, status, answer.text);
    }
  });
});
