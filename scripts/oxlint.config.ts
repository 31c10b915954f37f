import { globSync } from "node:fs";
import { join } from "node:path";
import { defineConfig, type DummyRuleMap, type OxlintOverride } from "oxlint";
import { AFTER_FLOWS, OWNERS, roomOf, ROOMS, seenBy, TYPE_READERS } from "./rooms.ts";

/** As a pattern knows them; rooms of the server have no files of these names. */
const SERVER_FILES = globSync("*.ts", { cwd: join(import.meta.dirname, "../src/server") });

/** A later override replaces `no-restricted-imports`, so there is exactly one for each room. */
const walls = ROOMS.map<OxlintOverride>((room) => ({
  files: [filesOf(room)],
  rules: { "no-restricted-imports": wall(room) },
}));

const captured = Object.entries(AFTER_FLOWS).map<OxlintOverride>(([file, options]) => ({
  files: [`**/src/${file}.ts`],
  jsPlugins: ["./captured-rule.ts"],
  rules: {
    "flowhook/captured": ["error", options],
    "typescript/return-await": ["error", "always"],
  },
}));

export default defineConfig({
  plugins: ["eslint", "typescript", "unicorn", "oxc", "import", "node"],
  categories: { correctness: "error" },
  options: { typeAware: true, denyWarnings: true, reportUnusedDisableDirectives: "error" },
  ignorePatterns: ["build/**", "**/*.mjs"],
  rules: {
    eqeqeq: "error",
    "no-var": "error",
    "prefer-const": "error",
    "no-shadow": "off",
    "max-lines-per-function": ["error", { max: 60, skipBlankLines: true, skipComments: true }],
    "import/no-cycle": "error",
    "oxc/no-barrel-file": "off",
    "typescript/no-explicit-any": "error",
    // `void` is no reader of a promise either: whoever starts one catches what it throws.
    "typescript/no-floating-promises": ["error", { ignoreVoid: false }],
    "typescript/no-misused-promises": "error",
    "typescript/switch-exhaustiveness-check": "error",
    "typescript/ban-ts-comment": "error",
    "typescript/consistent-type-imports": "error",
    "typescript/no-unnecessary-type-assertion": "error",
    "typescript/only-throw-error": "error",
    "typescript/return-await": "off",
    "typescript/unbound-method": "off",
    // Spreading a text counts its code points, which is what limits of names are in.
    "typescript/no-misused-spread": ["error", { allow: ["string"] }],
    "import/no-default-export": "error",
    "unicorn/no-thenable": "off",
  },
  overrides: [
    ...walls,
    ...captured,
    {
      // Migrations name columns of earlier releases.
      files: ["**/src/**/*.{ts,tsx}"],
      excludeFiles: ["**/src/server/store/migrations/**"],
      jsPlugins: ["./names-rule.ts"],
      rules: { "names/case": "error", "names/words": "error" },
    },
    {
      // node:test's functions give promises that nobody has to wait for.
      files: ["**/test/**"],
      rules: {
        "typescript/no-floating-promises": "off",
        "typescript/no-base-to-string": "off",
        "max-lines-per-function": "off",
        "no-control-regex": "off",
      },
    },
    {
      // Flows, entries of Piscina's threads and this tool's configuration are default exports.
      files: [
        "**/plugins/**",
        "**/files/doctor-flow.mjs",
        "**/test/**/flows/**",
        "**/sandbox/{entry,thread}.ts",
        "**/recorded-thread.ts",
        "**/pool-task.ts",
        "**/*.config.ts",
        "**/*-rule.ts",
      ],
      rules: { "import/no-default-export": "off" },
    },
  ],
});

function wall(room: string): NonNullable<DummyRuleMap["no-restricted-imports"]> {
  return ["error", { paths: foreign(room), patterns: hidden(room) }];
}

/** Whether a room has no folder of its own. */
function isFile(room: string): boolean {
  return ["main", "binary"].includes(room);
}

/** What stands in a room itself, and not in one below it. */
function filesOf(room: string): string {
  if (isFile(room)) return `**/src/${room}.ts`;
  return room === "server" ? "**/src/server/*.ts" : `**/src/${room}/**`;
}

/** The packages that a room may not import, or of which it may import the types alone. */
function foreign(room: string) {
  const owns = (name: string) => OWNERS[name]!.some((owner) => owner === room || isIn(owner, room));
  const names = Object.keys(OWNERS).filter((name) => !owns(name));
  return names.map((name) => ({
    name,
    message: `Only ${OWNERS[name]!.join(", ")} may import it`,
    allowTypeImports: TYPE_READERS[name]?.includes(room) ?? false,
  }));
}

function isIn(file: string, room: string): boolean {
  return file.endsWith(".ts") && roomOf(file) === room;
}

/** The rooms that a room does not see, by the last folder of their path. */
function hidden(room: string) {
  const seen = seenBy(room);
  return ROOMS.filter((other) => !seen.includes(other)).map((other) => {
    const message = `${room} does not see ${other}`;
    if (isFile(other)) return { regex: `^\\.\\./(\\.\\./)*${other}\\.ts$`, message };
    if (other !== "server") return { group: [`**/${other.replace("server/", "")}/**`], message };
    return { regex: `^(\\.\\./)+(server/)?(${SERVER_FILES.join("|")})$`, message };
  });
}
