import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { test } from "node:test";
import pg from "pg";
import { toClientConfig } from "../../src/server/store/postgres/connection.ts";

/** What the driver makes of a URL's `sslmode`, and that it prints no lines of its own. */

const ROWS: readonly (readonly [parameters: string, rejectsUnknown: boolean | null])[] = [
  ["", null],
  ["?sslmode=disable", null],
  ["?sslmode=no-verify", false],
  ["?sslmode=prefer", true],
  ["?sslmode=require", true],
  ["?sslmode=verify-ca", true],
  ["?sslmode=verify-full&application_name=a%20b", true],
  ["?uselibpqcompat=true&sslmode=require", false],
];

for (const [parameters, rejectsUnknown] of ROWS)
  test(`a connection with "${parameters}"`, async (t) => {
    const warned = t.mock.fn();
    process.on("warning", warned);
    t.after(() => process.off("warning", warned));
    const url = `postgres://user:a%20pass%2Fword@db.example/flowhook${parameters}`;
    const client = new pg.Client(toClientConfig({ url, name: "flowhook" }));
    await turn();
    const { ssl, password } = client as unknown as Connected;
    const found = typeof ssl === "object" ? ssl.rejectUnauthorized !== false : null;
    assert.equal(found, rejectsUnknown);
    assert.equal(password, "a pass/word");
    assert.equal(warned.mock.callCount(), 0);
  });

interface Connected {
  readonly ssl: false | { readonly rejectUnauthorized?: boolean };
  readonly password: string;
}
