import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import Database from "better-sqlite3";
import { firstKeyOf } from "../../src/shared/id.ts";
import { ADMIN_PASSWORD } from "../blackbox/service.ts";
import { figure } from "./sizes.ts";
import { cpuOf, openTestService, type TestService } from "./test-service.ts";

/** Lists that take long: whoever asks for many of them, or goes away, holds up nobody. */

const ROWS = 200_000;
const PASSWORD = "a password of a viewer";
const SCAN = "/api/latest/execution?text=nowhere";

describe("lists", () => {
  let service: TestService;
  let token = "";
  before(async () => {
    service = await openTestService({ flows: ["echo"] });
    const own_password = ADMIN_PASSWORD;
    const user = { name: "vera", password: PASSWORD, roles: ["viewer"], own_password };
    assert.equal((await service.api("POST", "/user", user)).status, 201);
    await service.stop();
    insertRows(join(service.data, "flowhook.db"));
    await service.start();
    const given = { user_name: "vera", password: PASSWORD };
    const login = await service.api("POST", "/auth/login", given, "");
    ({ token } = JSON.parse(login.text) as { token: string });
  });
  after(() => service[Symbol.asyncDispose]());

  const scan = () => service.api("GET", SCAN.replace("/api/latest", ""), undefined, token);

  test("M6: one user asks for few lists at the same time, the others are refused", async () => {
    const answers = await Promise.all(Array.from({ length: 60 }, scan));
    const refused = answers.filter(({ status }) => status === 429);
    figure("lists: asked for at once by one user", answers.length);
    figure("lists: of them refused", refused.length);
    assert.ok(refused.length >= 20, "four are under way, and few wait");
    assert.ok(answers.every(({ status }) => status === 200 || status === 429));
    assert.match(refused[0]!.text, /urn:flowhook:error:too_many_requests/);
    assert.equal(refused[0]!.headers["retry-after"], "1");
    assert.equal((await scan()).status, 200, "and afterwards is answered as ever");
  });

  test("M6: others get their lists meanwhile", async () => {
    const order: string[] = [];
    // Four are under way, and as many wait.
    const scans = Array.from({ length: 8 }, () => scan().then(() => order.push("scan")));
    const others = Array.from({ length: 3 }, () =>
      service.api("GET", "/webhook").then(({ status }) => {
        assert.equal(status, 200);
        order.push("other");
      }),
    );
    await Promise.all([...scans, ...others]);
    assert.ok(order.lastIndexOf("other") < order.lastIndexOf("scan"), order.join());
  });

  test("M6: what a client does not wait for is not read", async () => {
    // Of the processors: a machine that pauses takes longer for either.
    const one = Math.max(await cpuOf(service, scan), 10);
    const took = await cpuOf(service, async () => {
      for (let n = 0; n < 60; n += 1) await askAndLeave(service, token);
      assert.equal((await scan()).status, 200);
    });
    figure("lists: 60 that nobody waits for, of one", took / one);
    assert.ok(took < 30 * one, `${took} ms, one takes ${one} ms`);
  });
});

async function askAndLeave({ origin }: TestService, token: string): Promise<void> {
  const socket = connect(origin.port, origin.host);
  await once(socket, "connect");
  const head = `GET ${SCAN} HTTP/1.1\r\nHost: a\r\nx-service-token: ${token}\r\n\r\n`;
  await new Promise<void>((resolve) => socket.write(head, () => resolve()));
  socket.destroy();
}

function insertRows(path: string): void {
  const db = new Database(path);
  db.pragma("synchronous = OFF");
  db.exec(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${ROWS})
     insert into execution (key, id, status, status_message, flow, is_productive, is_async, project_id,
       created_at, started_at, ended_at)
     select ${firstKeyOf(0x019f_0000_0000)} + i, printf('019f0000-%04x-7%03x-8000-%012x', i >> 12, i & 4095, i), 'ENDED_ERROR',
       'a message of its own ' || i, 'echo', 1, 1, (select id from project), i, i, i from n`,
  );
  db.close();
}
