import assert from "node:assert/strict";
import { send } from "../client.ts";
import { callTarget, countExecutions, poll, type Group, type StoryRow } from "../scenario.ts";
import { ADMIN_PASSWORD } from "../service.ts";
import { ADMITTED_ROWS, KEY } from "./keys-admitted.ts";
import { LIMIT, ORDER_ROWS, OTHER, REFUSED_ROWS } from "./keys-refused.ts";

const STORY_ROWS: StoryRow[] = [
  {
    name: "creation makes a random key that is shown this once",
    covers: ["5.2 rule 4", "4.8 endpoint"],
    async run(service) {
      const keys = await Promise.all(
        ["made-1", "made-2"].map(async (name) => {
          const created = await service.api("POST", "/webhook", { name, flow: "echo" });
          assert.equal(created.status, 201, created.text);
          const { key, ...rest } = created.body as Record<string, unknown>;
          assert.match(String(key), /^[\w-]{40,}$/, "256 random bits with a prefix");
          assert.equal(rest["is_enabled"], false);
          assert.equal(rest["is_key_required"], true);
          const read = await service.api("GET", `/webhook/${name}`);
          assert.ok(!read.text.includes(String(key)), "never part of a read");
          assert.ok(!("key" in (read.body as object)));
          return String(key);
        }),
      );
      assert.notEqual(keys[0], keys[1]);
      await service.api("PUT", "/webhook/made-1/authentication", {
        password: ADMIN_PASSWORD,
        is_enabled: true,
      });
      const target = callTarget(service, "made-1", "?async");
      const headers = { authorization: `Bearer ${keys[0]}` };
      assert.equal((await send(service.origin, { method: "POST", target, headers })).status, 201);
      assert.ok(!service.logs().includes(keys[0] ?? ""), "a key stands in the log");
    },
  },
  {
    name: "the authentication endpoint asks for the password again",
    covers: ["4.8 endpoint"],
    async run(service) {
      const path = "/webhook/keyed/authentication";
      for (const body of [{ is_enabled: false }, { password: "wrong", is_enabled: false }]) {
        assert.equal((await service.api("PUT", path, body)).status, 403);
      }
      for (const body of [{ is_enabled: false }, { require_login: true }, { key: null }]) {
        const answer = await service.api("PATCH", "/webhook/keyed", body);
        assert.equal(answer.status, 403, answer.text);
        assert.match(answer.text, /\/authentication/, "names the endpoint");
      }
      const read = await service.api("GET", "/webhook/keyed");
      assert.equal((read.body as Record<string, unknown>)["is_enabled"], true);
    },
  },
  {
    name: "a generated key replaces the old one, with an overlap where asked",
    covers: ["5.2 rule 4", "4.8 endpoint"],
    async run(service) {
      await service.createWebhook("turning", "echo", { key: "the-first-key-of-turning" });
      async function status(key: string): Promise<number> {
        const target = callTarget(service, "turning", `?async&key=${key}`);
        return (await send(service.origin, { method: "POST", target })).status;
      }
      async function turn(more: object): Promise<string> {
        const answer = await service.api("PUT", "/webhook/turning/authentication", {
          password: ADMIN_PASSWORD,
          key: { generate: true },
          ...more,
        });
        assert.equal(answer.status, 200, answer.text);
        return (answer.body as { key: string }).key;
      }
      const second = await turn({ keep_previous_sec: 3600 });
      assert.equal(
        await status("the-first-key-of-turning"),
        201,
        "the old one is kept for a while",
      );
      assert.equal(await status(second), 201);
      const third = await turn({});
      assert.equal(await status(second), 401, "the old one is void at once");
      assert.equal(await status(third), 201);
    },
  },
  {
    name: "a key of less than 16 characters is refused",
    covers: ["4.8 endpoint"],
    async run(service) {
      const answer = await service.api("PUT", "/webhook/keyed/authentication", {
        password: ADMIN_PASSWORD,
        key: "too-short",
      });
      assert.equal(answer.status, 422, answer.text);
    },
  },
  {
    name: "a refused call is logged with its reason and without the key",
    covers: ["C1 logged", "C5 not kept"],
    async run(service) {
      const before = service.logs().length;
      const target = callTarget(service, "keyed", `/logged?key=${KEY}x`);
      await send(service.origin, { method: "POST", target });
      const printed = await poll("the refusal in the log", async () => {
        const text = service.logs().slice(before);
        return /keyed/.test(text) && /401|not_authenticated/.test(text) ? text : null;
      });
      assert.ok(!printed.includes(KEY));
    },
  },
  {
    name: "no execution shows the key",
    covers: ["C5 not kept"],
    async run(service) {
      assert.ok((await countExecutions(service, "keyed")) > 10);
      const list = await service.api("GET", "/execution?webhook=keyed&limit=500");
      assert.ok(!list.text.includes(KEY));
    },
  },
];

export const KEYS: Group = {
  name: "keys",
  config: { MAX_BODY_BYTES: LIMIT },
  flows: ["echo", "raw-body"],
  webhooks: {
    keyed: { flow: "echo", key: KEY },
    another: { flow: "echo", key: OTHER },
    raw: { flow: "raw-body", key: KEY },
  },
  rows: [...ADMITTED_ROWS, ...REFUSED_ROWS, ...ORDER_ROWS, ...STORY_ROWS],
};
