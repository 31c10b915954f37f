import assert from "node:assert/strict";
import { mkdtempSync, rmSync, unwatchFile, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, mock, test } from "node:test";
import { readCertificate, type Certificate } from "../../src/server/config/certificate.ts";
import { watchCertificate } from "../../src/server/http/certificate-watch.ts";
import { makeCertificate } from "../config/certificate-maker.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const folder = mkdtempSync(join(tmpdir(), "flowhook-watch-"));
const config = { TLS_CERT_FILE: join(folder, "cert.pem"), TLS_KEY_FILE: join(folder, "key.pem") };
after(() => rmSync(folder, { recursive: true }));
afterEach(() => {
  mock.timers.reset();
  for (const file of Object.values(config)) unwatchFile(file);
});

function put(name: string, until: number): void {
  const { cert, key } = makeCertificate({ name, until });
  writeFileSync(config.TLS_CERT_FILE, cert);
  writeFileSync(config.TLS_KEY_FILE, key);
}

/** What is warned of, in few words, and what is served. */
function watch() {
  mock.timers.enable({ apis: ["Date", "setTimeout", "setInterval"], now: Date.now() });
  const warned: string[] = [];
  const taken: Certificate[] = [];
  const log = {
    warn: (said: unknown, text?: string) => warned.push(text ?? String(said).replace(/ at .*/, "")),
  };
  watchCertificate({ config, log, certificate: readCertificate(config)! }, (one) =>
    taken.push(one),
  );
  return { warned: () => warned.splice(0).map((said) => said.replace(/.*CN=/, "")), taken };
}

test("a certificate whose renewal broke is warned of while the service runs, once of each date", () => {
  put("late.example", 60);
  const { warned } = watch();
  mock.timers.tick(45 * DAY_MS);
  assert.deepEqual(warned(), []);
  mock.timers.tick(5 * DAY_MS);
  assert.deepEqual(warned(), ["late.example expires"]);
  mock.timers.tick(30 * DAY_MS);
  assert.deepEqual(warned(), ["late.example expired"]);
});

test("a warning of the start is not repeated by the look at the files that follows", () => {
  put("soon.example", 3);
  const { warned, taken } = watch();
  assert.deepEqual(warned(), ["soon.example expires"]);
  mock.timers.tick(DAY_MS);
  assert.equal(taken.length, 1);
  assert.deepEqual(warned(), []);
});

test("the dates are those of what is served, also where the new files are no use", () => {
  put("served.example", 20);
  const { warned, taken } = watch();
  writeFileSync(config.TLS_KEY_FILE, makeCertificate().key);
  mock.timers.tick(5000);
  assert.deepEqual(warned(), ["Cannot take up the changed certificate yet"]);
  mock.timers.tick(10 * DAY_MS);
  assert.deepEqual(warned(), ["served.example expires"]);
  assert.equal(taken.length, 0);
});
