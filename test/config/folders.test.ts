import assert from "node:assert/strict";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, beforeEach, describe, test } from "node:test";
import { examineFolders, examineSpace } from "../../src/cli/doctor/folders.ts";
import { ConfigError } from "../../src/server/config/config-error.ts";
import { checkDataFolder, openDataFolder } from "../../src/server/config/data-folder.ts";
import { loadConfig, type Loaded } from "../../src/server/config/load.ts";
import { warnOfPlugins } from "../../src/server/config/plugins-folder.ts";

/** What cannot be looked at: it stops nothing, or is refused in words that name the key. */

const top = mkdtempSync(join(tmpdir(), "flowhook-folders-"));
chmodSync(top, 0o755);
after(() => rmSync(top, { recursive: true }));

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(top, "service-"));
  chmodSync(folder, 0o755);
  mkdirSync(join(folder, "plugins"));
});

function load(env: Record<string, string> = {}): Loaded {
  const given = Object.entries(env).map(([key, value]) => [`FLOWHOOK_${key}`, value]);
  return loadConfig({ env: Object.fromEntries(given), cwd: folder, terminal: false });
}

/** As a user whom modes bind; root is bound by none. What access(2) says stays root's. */
function asOther<T>(act: () => T, user = 65_534): T {
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(user);
  try {
    return act();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

/** A folder that nobody can enter, with a folder in it. */
function close(): string {
  const closed = join(folder, "closed");
  mkdirSync(join(closed, "inner"), { recursive: true });
  chmodSync(closed, 0o600);
  return join(closed, "inner");
}

const LINKS: Readonly<Record<string, () => string>> = {
  "in a circle": () => "some.ts",
  "to nothing": () => "nowhere.ts",
  "with a name of 300 characters": () => "x".repeat(300),
  "into a closed folder": close,
};

describe("PLUGINS_DIR", () => {
  for (const [name, lead] of Object.entries(LINKS))
    test(`a link ${name} stops no look at what all can write`, () => {
      symlinkSync(lead(), join(folder, "plugins/some.ts"));
      writeFileSync(join(folder, "plugins/wide.ts"), "");
      chmodSync(join(folder, "plugins/wide.ts"), 0o666);
      const [warning = "", ...more] = asOther(() => warnOfPlugins(load().config));
      assert.match(warning, /^Every user of this machine can write ".+wide\.ts": /);
      assert.deepEqual(more, []);
    });

  const UNSEEN: Readonly<Record<string, readonly [place: () => string, says: RegExp]>> = {
    "in a closed folder": [
      close,
      /cannot look into ".+inner" \(PLUGINS_DIR\): EACCES.+ Set another/,
    ],
    "with a long name": [
      () => "x".repeat(300),
      /cannot look into ".+" \(PLUGINS_DIR\): ENAMETOOLONG.+ Set another/,
    ],
    "that is not there": [() => "nowhere", /^There is no folder ".+nowhere"/],
  };
  for (const [name, [place, says]] of Object.entries(UNSEEN))
    test(`one ${name} is warned of`, () => {
      const loaded = load({ PLUGINS_DIR: place() });
      const [warning = ""] = asOther(() => warnOfPlugins(loaded.config));
      assert.match(warning, says);
    });
});

interface Place {
  /** @returns variables of the environment */
  make(): Record<string, string>;
  readonly says: RegExp;
}

const REFUSED: Readonly<Record<string, Place>> = {
  "below a link to nothing": {
    make() {
      symlinkSync("nowhere", join(folder, "link"));
      return { DATA_DIR: "link/data" };
    },
    says: /Cannot write DATA_DIR ".+": ".+link" is a link to nothing/,
  },
  "a link in a circle": {
    make() {
      symlinkSync("data", join(folder, "data"));
      return {};
    },
    says: /Cannot write DATA_DIR ".+": ".+data" is a link to nothing/,
  },
  "with a name of 300 characters": {
    make: () => ({ DATA_DIR: "x".repeat(300) }),
    says: /Cannot write DATA_DIR ".+": ENAMETOOLONG/,
  },
  "in /proc": {
    make: () => ({ DATA_DIR: "/proc/flowhook/data" }),
    // To root all of it looks as if it could be written.
    says: /Cannot write DATA_DIR ".+": "\/proc" (takes no new folders|belongs to root)/,
  },
  "with a database that is a link in a circle": {
    make() {
      mkdirSync(join(folder, "data"));
      symlinkSync("flowhook.db", join(folder, "data/flowhook.db"));
      return {};
    },
    says: /Cannot write DATABASE_URL ".+": ".+flowhook\.db" is a link to nothing/,
  },
};

describe("DATA_DIR", () => {
  for (const [name, { make, says }] of Object.entries(REFUSED))
    test(`${name}: refused before anything is made, and a finding of doctor`, () => {
      const loaded = load(make());
      for (const act of [checkDataFolder, openDataFolder])
        assert.throws(
          () => act(loaded),
          (error) => error instanceof ConfigError && says.test(error.message),
        );
      const findings = [...examineFolders(loaded), ...examineSpace(loaded)];
      const [found] = findings;
      assert.equal(found?.state, "error");
      assert.match(found?.message ?? "", says);
      assert.ok(findings.some(({ subject }) => subject === "space"));
    });

  const skip = process.geteuid?.() !== 0;
  test("commands name a user without a name by the number", { skip }, () => {
    const nameless = 61_998;
    const data = join(folder, "data");
    mkdirSync(data);
    chmodSync(data, 0o755);
    const loaded = load();
    assert.throws(
      () => asOther(() => openDataFolder(loaded), nameless),
      (error) => error instanceof ConfigError && error.message.includes("sudo chown -R 61998 "),
    );
    chownSync(data, nameless, nameless);
    chmodSync(data, 0o700);
    writeFileSync(join(data, "left.log"), "");
    const [found] = asOther(() => examineFolders(loaded), nameless);
    assert.match(found?.message ?? "", /left\.log" belongs to root, not to user 61998$/);
    assert.match(found?.action ?? "", /^Run: sudo chown -R 61998 /);
  });
});
