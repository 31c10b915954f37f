import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { createConnection } from "node:net";
import { connect } from "node:tls";
import { makeCertificate, type Made } from "../config/certificate-maker.ts";
import { runCommand } from "../blackbox/command.ts";
import { poll } from "../blackbox/scenario.ts";
import { launch, terminate } from "../blackbox/service.ts";
import { environment } from "../blackbox/target.ts";
import { faultsTarget } from "./test-service.ts";

/** Certificates that are wrong at the start, and that become wrong while the service runs. */

const target = faultsTarget();

describe("TLS", { skip: target.skip ?? false }, () => {
  let folder = "";
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "flowhook-tls-"));
    await mkdir(join(folder, "plugins"));
    const tls = { TLS_CERT_FILE: "./cert.pem", TLS_KEY_FILE: "./key.pem" };
    const config = { LOG_FORMAT: "json", LISTEN_PORT: 0, ...tls };
    await writeFile(join(folder, "flowhook.yaml"), JSON.stringify(config, null, 1));
  });
  after(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));

  async function put({ cert, key }: { cert: string; key: string }): Promise<void> {
    await writeFile(join(folder, "cert.pem"), cert);
    await writeFile(join(folder, "key.pem"), key);
  }

  /** The name in the certificate that a client is shown. */
  async function shown(port: number): Promise<string> {
    const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false });
    await once(socket, "secureConnect");
    const name = socket.getPeerCertificate().subject.CN;
    socket.destroy();
    return String(name);
  }

  const own = makeCertificate({ name: "own.example" });
  const wrong: Record<string, [Partial<Made>, RegExp]> = {
    "no files": [
      {},
      /flowhook\.yaml:4: Found no file at ".+cert\.pem" for TLS_CERT_FILE, expected/,
    ],
    "the key of another": [
      { cert: own.cert, key: makeCertificate().key },
      /flowhook\.yaml:5: Found a key in ".+key\.pem" for TLS_KEY_FILE that does not fit/,
    ],
    "no PEM": [{ cert: "none", key: own.key }, /flowhook\.yaml:4: Found no PEM/],
  };
  for (const [name, [{ cert, key }, says]] of Object.entries(wrong))
    for (const command of ["serve", "check"])
      test(`10: ${command} with ${name}: exit code 78`, async () => {
        await rm(join(folder, "cert.pem"), { force: true });
        if (cert !== undefined && key !== undefined) await put({ cert, key });
        const finished = await runCommand(target, [command], { cwd: folder });
        assert.equal(finished.code, 78, finished.stderr);
        assert.match(finished.stderr, says);
        assert.doesNotMatch(finished.stderr, /\n +at /);
      });

  test("10: an expired one is served, with a warning; check says it too", async () => {
    await put(makeCertificate({ name: "old.example", from: -9, until: -1 }));
    const checked = await runCommand(target, ["check"], { cwd: folder });
    assert.equal(checked.code, 0, checked.stderr);
    assert.match(checked.stderr, /CN=old\.example expired at/);
    const running = await launch(target, folder, ["serve"], environment());
    try {
      assert.equal(await shown(running.origin.port), "old.example");
      assert.match(running.logs(), /"level":"warn",.*CN=old\.example expired at/);
    } finally {
      await terminate(running.child);
    }
  });

  test("a client that says nothing within the handshake is let go, and holds up no stop", async () => {
    await put(own);
    const running = await launch(target, folder, ["serve"], environment());
    const { port } = running.origin;
    // The beginning of a handshake of 512 bytes.
    const silent = ["", "\x16\x03\x01\x02\x00\x01"].map((text) => {
      const socket = createConnection({ port, host: "127.0.0.1" });
      socket.write(text, "latin1");
      return socket.resume();
    });
    await Promise.all(silent.map((socket) => once(socket, "close")));
    const late = createConnection({ port, host: "127.0.0.1" });
    late.resume().on("error", () => {});
    await once(late, "connect");
    await shown(port);
    const stopped = performance.now();
    await terminate(running.child);
    assert.ok(performance.now() - stopped < 8000, "not as long as a handshake may take");
  });

  test("10: files that change: wrong ones only warn, right ones are taken up", async () => {
    await put(own);
    const running = await launch(target, folder, ["serve"], environment());
    try {
      const { port } = running.origin;
      await put({ cert: makeCertificate({ name: "half.example" }).cert, key: own.key });
      await poll("the warning", async () =>
        /"level":"warn",.*does not fit the first certificate/.test(running.logs()) ? true : null,
      );
      assert.equal(await shown(port), "own.example");
      await put(makeCertificate({ name: "new.example", until: 3 }));
      await poll("the new one", async () => ((await shown(port)) === "new.example" ? true : null));
      assert.match(running.logs(), /"level":"warn",.*CN=new\.example expires at/);
    } finally {
      await terminate(running.child);
    }
  });
});
