import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { runCommand, type Finished } from "../blackbox/command.ts";
import { ADMIN_PASSWORD, launch, terminate, type Running } from "../blackbox/service.ts";
import { environment, openTarget } from "../blackbox/target.ts";
import { makeCertificate } from "../config/certificate-maker.ts";
import { all } from "./session.ts";

const target = openTarget();
const reason = target.name === "deno" ? "Deno reads DENO_CERT instead" : false;

describe("an authority of one's own", { skip: target.skip ?? reason }, () => {
  let folder = "";
  let running: Running;
  let url = "";

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "flowhook-certificates-"));
    const authority = makeCertificate({ name: "An authority" });
    const own = makeCertificate({ name: "localhost", by: authority });
    await writeFile(join(folder, "authority.pem"), `around it\n${authority.cert}`);
    await writeFile(join(folder, "other.pem"), makeCertificate({ name: "Another" }).cert);
    await writeFile(join(folder, "none.pem"), own.key);
    await writeFile(join(folder, "cert.pem"), own.cert);
    await writeFile(join(folder, "key.pem"), own.key, { mode: 0o600 });
    const config = { LISTEN_PORT: 0, LOG_FORMAT: "json", TLS_CERT_FILE: "cert.pem" };
    const text = JSON.stringify({ ...config, TLS_KEY_FILE: "key.pem", DATA_DIR: "data" });
    await writeFile(join(folder, "flowhook.yaml"), text);
    const env = environment({ FLOWHOOK_ADMIN_PASSWORD: ADMIN_PASSWORD });
    running = await launch(target, folder, ["serve"], env);
    url = `https://localhost:${running.origin.port}`;
  });
  after(async () => {
    await terminate(running.child);
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  });

  function run(words: readonly string[], env: Record<string, string> = {}): Promise<Finished> {
    const all = { XDG_CONFIG_HOME: folder, ...env };
    return runCommand(target, words, { cwd: folder, env: all, input: ADMIN_PASSWORD });
  }

  const login = ["login", "--user", "admin", "--password-stdin"];
  const given = ["--cacert", "authority.pem"];

  test("without a word about it: refused, and how to name it", async () => {
    for (const words of [
      [...login, url],
      ["call", "any", "--url", url],
      ["flow", "run", "any", "--url", url],
    ]) {
      const finished = await run(words);
      assert.equal(finished.code, 1, all(finished));
      assert.match(finished.stderr, /certificate/);
      assert.doesNotMatch(finished.stderr, /Node/);
      assert.match(finished.stderr, /name that with --cacert FILE or SSL_CERT_FILE/);
    }
  });

  test("with --cacert: every command that speaks to the service", async () => {
    const logged = await run([...login, url, ...given]);
    assert.equal(logged.code, 0, all(logged));
    const listed = await run(["webhook", "list", "--url", url, ...given]);
    assert.equal(listed.code, 0, all(listed));
    const called = await run(["call", "nothing", "--url", url, ...given]);
    assert.match(called.stderr, /answered with 404/, all(called));
  });

  test("with SSL_CERT_FILE, and --cacert before it", async () => {
    const env = { SSL_CERT_FILE: join(folder, "authority.pem") };
    assert.equal((await run([...login, url], env)).code, 0);
    const other = await run([...login, url, "--cacert", "other.pem"], env);
    assert.equal(other.code, 1, all(other));
  });

  test("doctor: of BASE_URL, and how the service that runs is configured otherwise", async () => {
    const { port } = running.origin;
    const env = { FLOWHOOK_BASE_URL: url, FLOWHOOK_LISTEN_PORT: String(port) };
    const examine = async (...more: string[]) => {
      const { stdout } = await run(["doctor", "--json", ...more], env);
      const findings = JSON.parse(stdout) as { subject: string; state: string; message: string }[];
      return (subject: string) => findings.filter((one) => one.subject === subject);
    };
    const refused = (await examine())("proxy");
    assert.match(refused[0]?.message ?? "", /^Nothing answers at BASE_URL .*certificate/);
    assert.doesNotMatch(refused[0]?.message ?? "", /Node/);
    const find = await examine(...given);
    assert.deepEqual(
      find("proxy").map(({ state }) => state),
      ["ok"],
    );
    const said = `The service runs with BASE_URL null (default), and here it is "${url}" (FLOWHOOK_BASE_URL)`;
    assert.ok(find("configuration").some(({ message }) => message === said));
  });

  test("a file without one, or none at all: usage", async () => {
    const none = await run([...login, url, "--cacert", "none.pem"]);
    assert.equal(none.code, 2, all(none));
    assert.match(none.stderr, /Found no certificate in "none\.pem"/);
    const missing = await run([...login, url, "--cacert", "missing.pem"]);
    assert.equal(missing.code, 2, all(missing));
    assert.match(missing.stderr, /missing\.pem/);
  });
});
