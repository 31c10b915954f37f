import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import {
  environmentOfFlows,
  readCredentials,
  readEnvironment,
} from "../../src/server/config/environment.ts";

test("credentials are null where nothing is set", () => {
  const { adminPassword, ...others } = readCredentials({});
  assert.equal(adminPassword(), null);
  assert.deepEqual(others, {
    url: null,
    token: null,
    certificateFile: null,
  });
});

test("the administrator's password may stand in a file", () => {
  const folder = mkdtempSync(join(tmpdir(), "flowhook-password-"));
  try {
    const file = join(folder, "password");
    writeFileSync(file, "open sesame\r\n");
    const env = {
      FLOWHOOK_ADMIN_PASSWORD_FILE: file,
      FLOWHOOK_URL: "http://a",
      FLOWHOOK_TOKEN: "t",
      SSL_CERT_FILE: "/etc/own.pem",
    };
    const expected = {
      url: "http://a",
      token: "t",
      certificateFile: "/etc/own.pem",
    };
    const { adminPassword, ...others } = readCredentials(env);
    assert.equal(adminPassword(), "open sesame");
    assert.deepEqual(others, expected);
    writeFileSync(file, "\r\n");
    assert.throws(() => adminPassword(), /_FILE: Found an empty password, expected that of/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the environment is a copy", () => {
  const env = readEnvironment();
  assert.equal(env["PATH"], process.env["PATH"]);
  assert.notEqual(env, process.env);
});

test("flows have the time zone and the authorities of the service, and nothing else", () => {
  assert.deepEqual(environmentOfFlows({ PATH: "/bin", TZ: "", NODE_OPTIONS: "--inspect" }), {});
  assert.deepEqual(
    environmentOfFlows({
      TZ: "Asia/Tokyo",
      NODE_USE_SYSTEM_CA: "1",
      NODE_EXTRA_CA_CERTS: "ca.pem",
    }),
    { TZ: "Asia/Tokyo", NODE_USE_SYSTEM_CA: "1", NODE_EXTRA_CA_CERTS: resolve("ca.pem") },
  );
});
