import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { ConfigError } from "../../src/server/config/config-error.ts";
import { loadConfig } from "../../src/server/config/load.ts";
import { databaseFile, toMs } from "../../src/server/config/resolve.ts";
import { CONFIG_KEYS } from "../../src/server/config/schema.ts";

const folder = mkdtempSync(join(tmpdir(), "flowhook-config-"));
after(() => rmSync(folder, { recursive: true }));

/** Loads a configuration file with this content. */
function load(yaml: string | Uint8Array, env: Record<string, string> = {}) {
  const file = join(folder, "flowhook.yaml");
  writeFileSync(file, yaml);
  return loadConfig({ file, env, cwd: folder, terminal: false });
}

function refused(act: () => unknown): ConfigError {
  try {
    act();
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error;
  }
  return assert.fail("The configuration was accepted");
}

interface Row {
  readonly yaml?: string;
  readonly env?: Record<string, string>;
  /** What the message has. */
  readonly says: readonly string[];
  readonly hides?: string;
}

const WRONG: Record<string, Row> = {
  "a misspelt key": {
    yaml: "# ports\nLISTEN_PROT: 80",
    says: ["flowhook.yaml:2: ", '"LISTEN_PROT"', 'expected "LISTEN_PORT"'],
  },
  "a key in lower case": { yaml: "data_dir: x", says: ['"data_dir"', 'expected "DATA_DIR"'] },
  "a key like nothing known": {
    yaml: "COLOUR: red",
    says: [":1: ", '"COLOUR"', "expected a key of the configuration"],
  },
  "a key of every object": { yaml: "__proto__: 1", says: ['"__proto__"'] },
  "a word for a number": {
    yaml: "\n\nLISTEN_PORT: eighty",
    says: [":3: ", 'Found "eighty" for LISTEN_PORT', "expected a whole number from 0 to 65535"],
  },
  "a number in quotes": { yaml: 'LISTEN_PORT: "80"', says: ['Found "80" for LISTEN_PORT'] },
  "a number out of range": { yaml: "LISTEN_PORT: 65536", says: ["65536", "from 0 to 65535"] },
  "a fraction of a thread": { yaml: "WORKER_THREADS: 1.5", says: ["1.5", "or `auto`"] },
  "an infinite number": { yaml: "FLOW_TIMEOUT_SEC: .inf", says: ["FLOW_TIMEOUT_SEC", "seconds"] },
  "no value": { yaml: "LISTEN_HOST:", says: ["Found null for LISTEN_HOST"] },
  "a word for a switch": { yaml: "ALLOW_NET: yes", says: ['"yes"', "true or false"] },
  "an unknown choice": { yaml: "SYNC_MODE: held", says: ['"held"', "`redirect` or `hold`"] },
  "a mapping for a text": { yaml: "LOG_LEVEL: { a: 1 }", says: ["LOG_LEVEL", "`debug`"] },
  "a text for a list": { yaml: "ALLOW_READ: /tmp", says: ['"/tmp" for ALLOW_READ', "a list of"] },
  "a wrong member of a list": {
    yaml: "TRUSTED_PROXIES: [10.0.0.0/8, 10.0.0.0/33]",
    says: ['"10.0.0.0/33" for TRUSTED_PROXIES[1]', "CIDR"],
  },
  "a host with a path": { yaml: "LISTEN_HOST: localhost/a", says: ["a host name"] },
  "a base URL with a query": { yaml: "BASE_URL: https://a.example/?b", says: ["without query"] },
  "a base URL with a password": {
    yaml: "BASE_URL: https://me:canary@a.example/b",
    says: ['"...@a.example/b" for BASE_URL', "and user"],
    hides: "canary",
  },
  "an address in brackets": { yaml: 'LISTEN_HOST: "[::1]"', says: ['"[::1]"', "a host name"] },
  "a host with a port": { yaml: "LISTEN_HOST: localhost:80", says: ["without a port"] },
  "a key with the prefix of a variable": {
    yaml: "FLOWHOOK_LISTEN_PORT: 1",
    says: ['expected "LISTEN_PORT"'],
  },
  "a word of a key": { yaml: "PORT: 1", says: ['expected "LISTEN_PORT"'] },
  "another word of a key": { yaml: "timeout: 1", says: ['expected "FLOW_TIMEOUT_SEC"'] },
  "a base URL of another scheme": { yaml: "BASE_URL: ftp://a.example", says: ["http or https"] },
  "a store of another kind, without its password": {
    yaml: "DATABASE_URL: mysql://me:canary@host/db",
    says: ['"mysql:..." for DATABASE_URL', "`sqlite:PATH` or `postgres://"],
    hides: "canary",
  },
  "a store without the name of its database, nor its password": {
    yaml: "DATABASE_URL: postgres://me:canary@host",
    says: ['"postgres:..." for DATABASE_URL', "`postgres://USER@HOST/NAME`"],
    hides: "canary",
  },
  "a mistyped parameter of a store, without its password": {
    yaml: "DATABASE_URL: postgres://me:canary@host/db?sslmod=verify-full",
    says: [":1: ", 'the parameter "sslmod"', "not known, expected sslmode, ", "host"],
    hides: "canary",
  },
  "a password of a store that ends early": {
    yaml: "DATABASE_URL: postgres://me@host/db?password=a&canary=b",
    says: ["Found a parameter in DATABASE_URL that is not known"],
    hides: "canary",
  },
  "an unknown mode of TLS": {
    yaml: "DATABASE_URL: postgres://me@host/db?sslmode=verify_full",
    says: ['Found "verify_full" for sslmode in DATABASE_URL', "or verify-full"],
  },
  "a binding to the channel that the driver does not ask for": {
    yaml: "DATABASE_URL: postgres://me@host/db?sslmode=require&channel_binding=require",
    says: ['Found "require" for channel_binding in DATABASE_URL, expected disable or prefer'],
  },
  "no mode of TLS": {
    yaml: "DATABASE_URL: postgres://me@host/db?sslmode=",
    says: ['Found "" for sslmode in DATABASE_URL'],
  },
  "two modes of TLS": {
    yaml: "DATABASE_URL: postgres://me@host/db?sslmode=verify-full&sslmode=disable",
    says: ['the parameter "sslmode" in DATABASE_URL again, expected it once'],
  },
  "no file of an authority": {
    yaml: "DATABASE_URL: postgres://me@host/db?sslrootcert=",
    says: ["Found nothing for sslrootcert"],
  },
  "a list for a store, without its password": {
    yaml: "DATABASE_URL: [postgres://me:canary@host/db]",
    says: ["Found a list for DATABASE_URL", "`sqlite:PATH` or `postgres://"],
    hides: "canary",
  },
  "a mapping for a data key, which is not shown": {
    yaml: "DATA_KEY: { canary: c0ffee }",
    says: ["Found a mapping for DATA_KEY", "64 hexadecimal digits"],
    hides: "canary",
  },
  "a number for a data key, which is not shown": {
    yaml: "DATA_KEY: 12345",
    says: ["Found a number for DATA_KEY"],
    hides: "12345",
  },
  "a list for a base URL, without its password": {
    yaml: "BASE_URL: [https://me:canary@a.example/b]",
    says: ["Found a list for BASE_URL", "and user"],
    hides: "canary",
  },
  "a data key that is too short, which is not shown": {
    yaml: "DATA_KEY: 00c0ffee",
    says: ["Found a text of 8 characters for DATA_KEY", "64 hexadecimal digits"],
    hides: "c0ffee",
  },
  "a limit of bytes where they are PostgreSQL's": {
    yaml: "DATABASE_URL: postgres://me:canary@host/db\nRETENTION_MAX_BYTES: 1000",
    says: ["RETENTION_MAX_BYTES", "RETENTION_DAYS or RETENTION_MAX_EXECUTIONS"],
    hides: "canary",
  },
  "one half of TLS": {
    yaml: "TLS_CERT_FILE: cert.pem",
    says: ["Found TLS_CERT_FILE alone", "expected TLS_KEY_FILE with it"],
  },
  "a time limit above the most": {
    yaml: "FLOW_TIMEOUT_SEC: 7200",
    says: ["Found 7200 for FLOW_TIMEOUT_SEC", "FLOW_TIMEOUT_MAX_SEC (3600)"],
  },
  "a key twice": {
    yaml: "LISTEN_PORT: 1\nLOG_LEVEL: info\nLISTEN_PORT: 2",
    says: [":3: ", "LISTEN_PORT again", "line 1"],
  },
  "broken YAML": {
    yaml: "LISTEN_PORT: 1\nALLOW_READ: [",
    says: [":2:14: ", "YAML cannot be parsed"],
  },
  "a tab as indentation": { yaml: "LISTEN_PORT:\n\t1", says: [":2:1: ", "tab"] },
  "an alias without an anchor": { yaml: "LISTEN_PORT: *a", says: [":1:", "YAML cannot be parsed"] },
  "an unknown tag": { yaml: "LISTEN_PORT: !!binary AA==", says: [":1:", "YAML cannot be parsed"] },
  "several documents": { yaml: "LISTEN_PORT: 1\n---\nLISTEN_PORT: 2", says: ["several YAML doc"] },
  "a list as document": { yaml: "- LISTEN_PORT", says: ["Found a list, expected a mapping"] },
  "a text as document": { yaml: "LISTEN_PORT", says: ["Found a text", "expected a mapping"] },
  "a store without a blank behind the colon, without its password": {
    yaml: "DATABASE_URL:postgres://me:canary@host/db",
    says: ["Found a text", "expected a mapping"],
    hides: "canary",
  },
  "a wrong variable": {
    env: { FLOWHOOK_LISTEN_PORT: "http" },
    says: ['FLOWHOOK_LISTEN_PORT: Found "http" for LISTEN_PORT', "from 0 to 65535"],
  },
  "a variable that is no YAML": {
    env: { FLOWHOOK_ALLOW_READ: "[a" },
    says: ["FLOWHOOK_ALLOW_READ: YAML cannot be parsed"],
  },
  "a variable that names no file": {
    env: { FLOWHOOK_DATABASE_URL_FILE: "/nowhere/x" },
    says: ["FLOWHOOK_DATABASE_URL_FILE: ", '"/nowhere/x"', "ENOENT"],
  },
  "a variable and its file": {
    env: { FLOWHOOK_LOG_LEVEL: "info", FLOWHOOK_LOG_LEVEL_FILE: "/etc/hostname" },
    says: ['FLOWHOOK_LOG_LEVEL_FILE: Found together with "FLOWHOOK_LOG_LEVEL"'],
  },
};

describe("a configuration that cannot be used is refused with exit code 78", () => {
  for (const [name, { yaml = "", env = {}, says, hides }] of Object.entries(WRONG)) {
    test(name, () => {
      const { message, exitCode } = refused(() => load(yaml, env));
      assert.equal(exitCode, 78);
      for (const part of says) assert.ok(message.includes(part), `"${part}" is not in: ${message}`);
      if (hides) assert.ok(!message.includes(hides), message);
    });
  }

  test("every fault is in one message, in the order of the lines", () => {
    const error = refused(() => load("LOG_LEVEL: loud\nCOLOUR: red\nLISTEN_PORT: -1"));
    const lines = error.errors.map(({ place }) => place.split(":").at(-1));
    assert.deepEqual(lines, ["1", "2", "3"]);
    assert.equal(error.message.split("\n").length, 4);
  });

  test("a named file that does not exist", () => {
    const error = refused(() => loadConfig({ file: "none.yaml", env: {}, cwd: folder }));
    assert.match(error.message, /none\.yaml: File cannot be read: ENOENT/);
  });

  test("a flowhook.yaml that is a link to nothing", () => {
    const cwd = mkdtempSync(join(folder, "link-"));
    symlinkSync("nowhere.yaml", join(cwd, "flowhook.yaml"));
    const error = refused(() => loadConfig({ env: {}, cwd }));
    assert.match(error.message, /flowhook\.yaml: File cannot be read: ENOENT/);
  });

  test("bytes that are not UTF-8", () => {
    const error = refused(() => load(Uint8Array.of(0x4c, 0xff)));
    assert.match(error.message, /not UTF-8/);
  });
});

describe("a configuration", () => {
  const threads = { FLOWHOOK_WORKER_THREADS: "6" };

  test("is made of defaults where nothing is given", () => {
    const cwd = mkdtempSync(join(folder, "empty-"));
    const { config, file, warnings } = loadConfig({ env: {}, cwd, terminal: true });
    assert.deepEqual([file, warnings], [null, []]);
    assert.deepEqual(Object.keys(config), [...CONFIG_KEYS]);
    assert.equal(config.LISTEN_PORT, 8080);
    assert.equal(config.DATA_DIR, join(cwd, "data"));
    assert.equal(databaseFile(config), join(cwd, "data/flowhook.db"));
    assert.equal(config.LOG_FORMAT, "pretty");
    assert.ok(config.WORKER_THREADS >= 4 && config.WORKER_THREADS % 4 === 0);
  });

  test("is found in the working folder", () => {
    const cwd = mkdtempSync(join(folder, "usual-"));
    writeFileSync(join(cwd, "flowhook.yaml"), "LISTEN_PORT: 1");
    const { config, file } = loadConfig({ env: {}, cwd });
    assert.deepEqual([config.LISTEN_PORT, file], [1, join(cwd, "flowhook.yaml")]);
  });

  test("may be empty, or nothing but comments", () => {
    for (const yaml of ["", "\n", "# nothing", "---\n...\n", "\uFEFF# nothing"]) {
      assert.equal(load(yaml).config.LISTEN_PORT, 8080);
    }
  });

  test("takes the environment before the file", () => {
    const { config } = load("LISTEN_PORT: 1\nLOG_LEVEL: warn", { FLOWHOOK_LISTEN_PORT: "2" });
    assert.deepEqual([config.LISTEN_PORT, config.LOG_LEVEL], [2, "warn"]);
  });

  test("takes an empty variable as not set", () => {
    assert.equal(load("LISTEN_PORT: 1", { FLOWHOOK_LISTEN_PORT: "" }).config.LISTEN_PORT, 1);
  });

  test("reads a value from the file that a variable names", () => {
    const secret = join(folder, "secret");
    writeFileSync(secret, "sqlite:elsewhere.db\n");
    const { config } = load("", { FLOWHOOK_DATABASE_URL_FILE: secret });
    assert.equal(databaseFile(config), join(folder, "elsewhere.db"));
  });

  test("shows a database without who opens it", () => {
    const given = "postgres://me:canary@db.example:5433/shop?sslmode=require&password=canary";
    const { config, values } = load(`DATABASE_URL: "${given}"`);
    assert.equal(config.DATABASE_URL, given);
    assert.equal(databaseFile(config), null);
    const { value } = values.find(({ key }) => key === "DATABASE_URL") ?? {};
    assert.equal(value, "postgres://db.example:5433/shop?sslmode=require");
  });

  test("takes the parameters of a database that the driver knows", () => {
    for (const parameters of [
      "host=/run/postgresql&user=me&port=5433",
      "sslmode=verify-full&sslrootcert=/etc/ca.pem&sslcert=c.pem&sslkey=k.pem",
      "sslmode=no-verify&application_name=hooks",
      "uselibpqcompat=true&sslmode=require&sslnegotiation=direct",
      "target_session_attrs=read-write&connect_timeout=10&keepalives_idle=10&channel_binding=prefer",
      "options=-c%20search_path%3Dhooks&statement_timeout=5000",
    ]) {
      const url = `postgres://db.example/shop?${parameters}`;
      assert.equal(load(`DATABASE_URL: "${url}"`).config.DATABASE_URL, url);
    }
  });

  test("tells TLS_CERT_FILE from the file of a variable", () => {
    const { config } = load("TLS_KEY_FILE: key.pem", { FLOWHOOK_TLS_CERT_FILE: "cert.pem" });
    assert.equal(config.TLS_CERT_FILE, join(folder, "cert.pem"));
    assert.equal(config.TLS_KEY_FILE, join(folder, "key.pem"));
  });

  test("reads lists and null from variables", () => {
    const { config } = load("RETENTION_DAYS: 5", {
      FLOWHOOK_TRUSTED_PROXIES: "10.0.0.0/8, ::1",
      FLOWHOOK_ALLOW_READ: "[/a, b]",
      FLOWHOOK_RETENTION_DAYS: "null",
      FLOWHOOK_ALLOW_NET: "false",
    });
    assert.deepEqual(config.TRUSTED_PROXIES, ["10.0.0.0/8", "::1"]);
    assert.deepEqual(config.ALLOW_READ, ["/a", join(folder, "b")]);
    assert.deepEqual([config.RETENTION_DAYS, config.ALLOW_NET], [null, false]);
  });

  test("works out what is left to it", () => {
    const { config } = load("FLOW_MEMORY_MB: 100", threads);
    const { FLOW_MAX_CONCURRENT, WARM_THREADS, RUNNER_MEMORY_MB, LOG_FORMAT } = config;
    assert.deepEqual(
      [FLOW_MAX_CONCURRENT, WARM_THREADS, RUNNER_MEMORY_MB, LOG_FORMAT],
      [3, 12, 1112, "json"],
    );
  });

  test("goes on taking calls for a while before a stop where there may be a balancer", () => {
    const delayOf = (yaml: string) => load(yaml).config.SHUTDOWN_DELAY_SEC;
    assert.equal(delayOf(""), 0);
    assert.equal(delayOf("DATABASE_URL: postgres://me@host/db"), 3);
    assert.equal(delayOf("DATABASE_URL: postgres://me@host/db\nSHUTDOWN_DELAY_SEC: 0"), 0);
  });

  test("keeps what is given instead", () => {
    const { config } = load(
      "FLOW_MAX_CONCURRENT: 1\nWARM_THREADS: 7\nRUNNER_MEMORY_MB: 900",
      threads,
    );
    const { FLOW_MAX_CONCURRENT, WARM_THREADS, RUNNER_MEMORY_MB } = config;
    assert.deepEqual([FLOW_MAX_CONCURRENT, WARM_THREADS, RUNNER_MEMORY_MB], [1, 7, 900]);
  });

  test("has its base URL without the last slash", () => {
    assert.equal(
      load("BASE_URL: https://a.example/hooks/").config.BASE_URL,
      "https://a.example/hooks",
    );
    const odd = load('BASE_URL: " HTTPS://A.example:443/b/../hooks//?"').config.BASE_URL;
    assert.equal(odd, "https://a.example/hooks", "as clients write it");
  });

  test("cannot be changed", () => {
    assert.throws(() => Object.assign(load("").config, { LISTEN_PORT: 1 }), TypeError);
  });
});

describe("L11: ALLOW_WRITE over what the service lives on", () => {
  mkdirSync(join(folder, "plugins/inner"), { recursive: true });
  symlinkSync(join(folder, "plugins"), join(folder, "linked"));
  symlinkSync(folder, join(folder, "above"));
  const rows: Record<string, [yaml: string, path: string, name: string]> = {
    "the folder itself": ["ALLOW_WRITE: [./data]", "data", "DATA_DIR"],
    "a folder above": ["ALLOW_WRITE: [.]", "", "DATA_DIR"],
    "the root": ["ALLOW_WRITE: [/]", "/", "DATA_DIR"],
    "a folder in it that is not there yet": [
      "ALLOW_WRITE: [./data/versions]",
      "data/versions",
      "DATA_DIR",
    ],
    "dots that lead back": ["ALLOW_WRITE: [./out/../data]", "data", "DATA_DIR"],
    "the plugins": ["ALLOW_WRITE: [./plugins]", "plugins", "PLUGINS_DIR"],
    "a folder of the plugins": ["ALLOW_WRITE: [./plugins/inner]", "plugins/inner", "PLUGINS_DIR"],
    "a link to the plugins": ["ALLOW_WRITE: [./linked]", "linked", "PLUGINS_DIR"],
    "a path through a link": ["ALLOW_WRITE: [./above/plugins/x]", "above/plugins/x", "PLUGINS_DIR"],
    "the configuration": [
      "ALLOW_WRITE: [./flowhook.yaml]",
      "flowhook.yaml",
      "the configuration file",
    ],
    "the database elsewhere": [
      "DATABASE_URL: sqlite:/srv/db/x.db\nALLOW_WRITE: [/srv/db]",
      "/srv/db",
      "DATABASE_URL",
    ],
    "a key": [
      "TLS_CERT_FILE: /srv/tls/c.pem\nTLS_KEY_FILE: /srv/key/k.pem\nALLOW_WRITE: [/srv/key]",
      "/srv/key",
      "TLS_KEY_FILE",
    ],
    "one of several": ["ALLOW_WRITE: [/srv/out, ./plugins]", "plugins", "PLUGINS_DIR"],
  };
  for (const [name, [yaml, path, covered]] of Object.entries(rows))
    test(`L11: ${name}`, () => {
      const { message, exitCode } = refused(() => load(yaml));
      const line = yaml.split("\n").length;
      const found = path.startsWith("/") ? path : join(folder, path);
      assert.ok(
        message.includes(`flowhook.yaml:${line}: Found "${found}" for ALLOW_WRITE`),
        message,
      );
      assert.ok(message.includes(`which covers ${covered} ("`), message);
      assert.equal(exitCode, 78);
    });

  test("L11: folders beside are allowed, also with a name that begins alike", () => {
    const yaml = "ALLOW_WRITE: [./out, ./data-out, ./plugins.d, /srv/reports]";
    assert.deepEqual(load(yaml).config.ALLOW_WRITE.length, 4);
  });

  /** The warnings but those of paths that are not there. */
  function danger(...given: Parameters<typeof load>): string[] {
    return load(...given).warnings.filter((warning) => !warning.endsWith("does not exist"));
  }

  test("L11: ALLOW_READ over DATA_DIR is warned of", () => {
    const [warning, ...more] = danger("ALLOW_READ: [., /srv]");
    assert.match(
      warning ?? "",
      /^ALLOW_READ ".+" covers DATA_DIR \(".+data"\): flows that declare/,
    );
    assert.deepEqual(more, []);
  });

  const DATA = "DATA_DIR: /srv/data\n";
  const PASSWORD = `${DATA}DATABASE_URL: postgres://one:two@host/name\nALLOW_READ: [.]`;
  const readable: Record<string, readonly [yaml: string, says: RegExp]> = {
    "the database elsewhere": [
      "DATABASE_URL: sqlite:/srv/db/x.db\nALLOW_READ: [/srv/db]",
      /^ALLOW_READ "\/srv\/db" covers DATABASE_URL \("\/srv\/db\/x\.db"\): .* read every execution$/,
    ],
    "the key of the certificate": [
      "TLS_CERT_FILE: /srv/tls/c.pem\nTLS_KEY_FILE: /srv/key/k.pem\nALLOW_READ: [/srv/tls, /srv/key]",
      /^ALLOW_READ "\/srv\/key" covers TLS_KEY_FILE .* read the key of the certificate$/,
    ],
    "a file with a password": [
      PASSWORD,
      / covers the configuration file .* the password or the key/,
    ],
    "a file with the data key": [
      `${DATA}DATA_KEY: ${"ab".repeat(32)}\nALLOW_READ: [.]`,
      / covers the configuration file .* the password or the key/,
    ],
  };
  for (const [name, [yaml, says]] of Object.entries(readable))
    test(`L11: ALLOW_READ over ${name} is warned of`, () => {
      const [warning, ...more] = danger(yaml);
      assert.match(warning ?? "", says);
      assert.deepEqual(more, []);
    });

  test("L11: ALLOW_READ over the flows, or a file without a secret, is nobody's danger", () => {
    const yaml = `${DATA}PLUGINS_DIR: /srv/plugins\nALLOW_READ: [/srv/plugins, .]`;
    assert.deepEqual(danger(yaml), []);
    const env = { FLOWHOOK_DATABASE_URL: "postgres://one:two@host/name" };
    assert.deepEqual(danger(yaml, env), []);
  });

  test("a path that is not there is warned of, and how several are written", () => {
    mkdirSync(join(folder, "in"));
    const yaml = "ALLOW_READ: [in, away]\nALLOW_WRITE: [in/new.csv, away/new.csv]";
    assert.deepEqual(load(yaml).warnings, [
      `ALLOW_READ "${join(folder, "away")}" does not exist`,
      `ALLOW_WRITE "${join(folder, "away/new.csv")}" does not exist`,
    ]);
    const two = load("", { FLOWHOOK_ALLOW_READ: "/srv:/tmp" });
    assert.deepEqual(two.warnings, [
      'ALLOW_READ "/srv:/tmp" does not exist: several paths are written [/a, /b]',
    ]);
    assert.deepEqual(load("", { FLOWHOOK_ALLOW_READ: "/tmp,/" }).config.ALLOW_READ, ["/tmp", "/"]);
  });
});

test("a time is a whole number of milliseconds, however it is written", () => {
  const { config } = load("LOGIN_TOKEN_TTL_SEC: 86400.0005\nNODE_LEASE_SEC: 4.001");
  assert.equal(toMs(config.LOGIN_TOKEN_TTL_SEC), 86_400_001);
  assert.equal(toMs(config.NODE_LEASE_SEC), 4001);
  assert.equal(toMs(1.001), 1001);
});

describe("an unknown variable", () => {
  test("warns, with the nearest known one", () => {
    const { warnings } = load("", { FLOWHOOK_LISTEN_PROT: "1", FLOWHOOK_SERVICE_HOST: "10.0.0.1" });
    assert.equal(warnings.length, 2);
    assert.match(warnings[0]!, /"FLOWHOOK_LISTEN_PROT".*did you mean "FLOWHOOK_LISTEN_PORT"\?/);
    assert.match(warnings[1]!, /"FLOWHOOK_SERVICE_HOST"/);
  });

  test("does not warn where it is no configuration", () => {
    const env = { FLOWHOOK_TOKEN: "t", FLOWHOOK_URL: "u", FLOWHOOK_ADMIN_PASSWORD: "p", HOME: "/" };
    assert.deepEqual(load("", env).warnings, []);
  });
});
