import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import {
  AFTER_FLOWS,
  maySee,
  mayUse,
  NOT_BESIDE_FLOWS,
  OWNERS,
  roomOf,
  ROOMS,
} from "../scripts/rooms.ts";

const ROOT = join(import.meta.dirname, "..");
const SRC = join(ROOT, "src");

const TOP_LEVEL =
  "package.json package-lock.json tsconfig.json README.md LICENSE CHANGELOG.md " +
  "src plugins scripts test build";

interface SourceFile {
  /** Relative to src/, with forward slashes. */
  readonly path: string;
  /** Without comments. */
  readonly code: string;
  /** The files below src/ that it imports, types included. */
  readonly files: readonly string[];
  /** Those of which it imports more than types. */
  readonly used: readonly string[];
  /** The packages that it imports. */
  readonly packages: readonly { readonly name: string; readonly typesOnly: boolean }[];
}

const sources = globSync("**/*.{ts,tsx}", { cwd: SRC }).map(readSource);

test("the top level holds what the owner has named, and files that begin with a dot", () => {
  const listed = execFileSync("git", ["ls-files"], { cwd: ROOT, encoding: "utf8" }).split("\n");
  const top = new Set(listed.map((path) => path.split("/")[0] ?? ""));
  const others = [...top].filter(
    (name) => !name.startsWith(".") && !TOP_LEVEL.split(" ").includes(name),
  );
  assert.deepEqual(others, [""]);
});

test("every room has a rank", () => {
  assert.deepEqual(
    rows((file) => !ROOMS.includes(roomOf(file.path))),
    [],
  );
});

test("a file imports its own room or a lower rank", () => {
  const errors = sources.flatMap((file) =>
    file.files
      .filter((other) => !maySee(file.path, other))
      .map((other) => `${file.path} imports ${other}`),
  );
  assert.deepEqual(errors, []);
});

test("no module of a thread waits at its top: one that is ended there takes its process with it", () => {
  const isWaiting = /^(?!.*(?:async|function))(?=\S).*\bawait\b/m;
  const isOfThread = (path: string) => Object.hasOwn(AFTER_FLOWS, path.replace(/\.ts$/, ""));
  assert.deepEqual(
    rows(({ path, code }) => isOfThread(path) && isWaiting.test(code)),
    [],
  );
});

test("each dependency has its owners", () => {
  const errors = sources.flatMap((file) =>
    file.packages
      .filter(({ name, typesOnly }) => !mayUse(file.path, name, typesOnly))
      .map(({ name }) => `${file.path} imports ${name}`),
  );
  assert.deepEqual(errors, []);
});

test("each dependency of the program is in the table of owners", () => {
  const manifest = readFileSync(join(SRC, "../package.json"), "utf8");
  const { dependencies } = JSON.parse(manifest) as { dependencies: Record<string, string> };
  assert.deepEqual(
    Object.keys(dependencies).filter((name) => OWNERS[name] === undefined),
    [],
  );
});

test("each owner imports its package", () => {
  const imports = (owner: string, name: string) =>
    sources.some(
      ({ path, packages }) =>
        (path === owner || roomOf(path) === owner) && packages.some((one) => one.name === name),
    );
  const dead = Object.entries(OWNERS).flatMap(([name, owners]) =>
    owners.filter((owner) => !imports(owner, name)).map((owner) => `${owner} has no ${name}`),
  );
  assert.deepEqual(dead, []);
});

test("there is no cycle of imports, types included", () => {
  assert.deepEqual(findCycles(), []);
});

test("a held call is read in at most twelve files, each led to by one before it", () => {
  const page = readFileSync(join(SRC, "assets/docs/architecture.md"), "utf8");
  const listed = [...page.matchAll(/^\| \d+ \| `([^`]+)`/gm)].map(([, path]) => path as string);
  assert.ok(listed.length > 6 && listed.length <= 12, `${listed.length} files`);
  assert.deepEqual(
    listed.filter((path, at) => at > 0 && !listed.slice(0, at).some((one) => leadsTo(one, path))),
    [],
  );
});

/** Whether a file imports another, over one between at most, or sends it messages that both know. */
function leadsTo(path: string, other: string): boolean {
  const direct = importsOf(path);
  if ([path, ...direct].some((one) => importsOf(one).includes(other))) return true;
  const isMessage = (one: string) => one.startsWith("shared/wire/");
  return (
    roomOf(path) !== roomOf(other) &&
    direct.some((one) => isMessage(one) && importsOf(other).includes(one))
  );
}

function importsOf(path: string): readonly string[] {
  return sources.find((file) => file.path === path)?.files ?? [];
}

test("C3: all that runs in a thread beside a flow is held to what was captured before", () => {
  const found = new Set(["sandbox/thread.ts", "sandbox/inspect.ts"]);
  for (const path of found)
    for (const other of sources.find((file) => file.path === path)?.files ?? []) found.add(other);
  const listed = [...Object.keys(AFTER_FLOWS), ...NOT_BESIDE_FLOWS].map((name) => `${name}.ts`);
  // Types of what flows import, which is bundled apart.
  assert.deepEqual([...found].filter((path) => path !== "shared/author.ts").sort(), listed.sort());
});

test("what has one home is used nowhere else", () => {
  assert.deepEqual(
    rows(({ path, code }) => !isOfBrowser(path) && /\bDate\.now\b/.test(code)),
    ["shared/clock.ts"],
  );
  assert.deepEqual(
    rows(({ path, code }) => roomOf(path) !== "sandbox" && /\bprocess\.env\b/.test(code)),
    ["server/config/environment.ts"],
  );
  const comparing = rows(({ code }) => /\btimingSafeEqual\b/.test(code));
  assert.deepEqual([...new Set(comparing.map(roomOf))], ["server/access"]);
});

test("there are no barrels and no default exports", () => {
  assert.deepEqual(
    rows(({ code }) => /^export \* from/m.test(code)),
    [],
  );
  assert.deepEqual(
    rows(({ code }) => isBarrel(code)),
    [],
  );
  // Piscina calls the default export of its thread entry, in the sources and as it is shipped.
  assert.deepEqual(
    rows(({ code }) => /^export default\b/m.test(withoutTemplates(code))),
    ["sandbox/entry.ts", "sandbox/thread.ts"],
  );
});

test("files are named by nouns of the product", () => {
  const vague = /(^|[/-])(utils?|helpers?|common|misc|types|context|manager|index)\.tsx?$/;
  assert.deepEqual(
    rows(({ path }) => vague.test(path)),
    [],
  );
  assert.deepEqual(
    rows(({ path }) => path !== path.toLowerCase() || path.includes("_")),
    [],
  );
});

/** Files that may be longer, and why one noun names them all the same. */
const LONG: Readonly<Record<string, string>> = {
  "server/config/schema.ts": "one row for each key of the configuration",
  "server/executions/executions.ts": "the acts of an execution's life, each short",
  "server/workers/runner.ts": "one process with all that it can say and be told",
};

test("schemas of the contract stay out of the browser and of the command line", () => {
  const isSchema = (path: string) =>
    path.startsWith("shared/contract/") &&
    sources.some((file) => file.path === path && [...file.packages, ...file.used].length > 0);
  const errors = sources
    .filter(({ path }) => path.startsWith("browser/") || path.startsWith("cli/"))
    .flatMap(({ path, used }) => used.filter(isSchema).map((other) => `${path} uses ${other}`));
  assert.deepEqual(errors, []);
});

test("files are short, but for those that are named", () => {
  const long = sources.filter(({ code }) => linesOf(code) > 250).map(({ path }) => path);
  assert.deepEqual(long.toSorted(), Object.keys(LONG).toSorted());
});

function linesOf(code: string): number {
  return code.split("\n").filter((line) => line.trim() !== "").length;
}

function rows(holds: (file: SourceFile) => boolean): string[] {
  return sources.filter(holds).map((file) => file.path);
}

function readSource(found: string): SourceFile {
  const path = found.replaceAll("\\", "/");
  const code = withoutComments(readFileSync(join(SRC, path), "utf8"));
  const imports = [
    ...code.matchAll(/^(?:import|export)\b(\s+type\b)?[^;"']*?from\s*"([^"]+)"/gm),
    ...code.matchAll(/^import()\s*"([^"]+)"/gm),
    ...code.matchAll(/\bimport\(()\s*"([^"]+)"\s*\)/g),
  ].map((match) => ({ name: match[2]!, typesOnly: Boolean(match[1]) }));
  const files = imports.filter(({ name }) => name.startsWith("."));
  const packages = imports.filter(({ name }) => !name.startsWith("."));
  const toPath = ({ name }: { name: string }) => join(dirname(path), name).replaceAll("\\", "/");
  return {
    path,
    code,
    files: files.map(toPath).filter(isBelowSrc),
    used: files
      .filter(({ typesOnly }) => !typesOnly)
      .map(toPath)
      .filter(isBelowSrc),
    packages: packages.map(({ name, typesOnly }) => ({ name: packageOf(name), typesOnly })),
  };
}

/** Modules of pages run elsewhere, with a clock of their own. */
function isOfBrowser(path: string): boolean {
  return path.startsWith("browser/");
}

/** package.json is read for the version; it is no room. */
function isBelowSrc(path: string): boolean {
  return !path.startsWith("..");
}

function packageOf(specifier: string): string {
  const [first = "", second] = specifier.split("/");
  return first.startsWith("@") ? `${first}/${second}` : first;
}

/** Rough but enough: no text of this program holds these marks of a comment at a line's start. */
function withoutComments(text: string): string {
  return text.replace(/^\s*\/\*[\s\S]*?\*\//gm, "").replace(/^\s*\/\/.*$/gm, "");
}

/** Texts of several lines may hold the code of a flow. */
function withoutTemplates(code: string): string {
  return code.replace(/`(?:[^`\\]|\\.)*`/gs, "``");
}

/** A file that does nothing but pass on the exports of others. */
function isBarrel(code: string): boolean {
  const statements = code.split(/;\s*\n/).map((part) => part.trim());
  const real = statements.filter((part) => part !== "");
  return real.length > 0 && real.every((part) => /^export\s+(type\s+)?\{[^}]*\}\s+from/.test(part));
}

/** Each cycle once, as the path around it. */
function findCycles(): string[] {
  const imports = new Map(sources.map((file) => [file.path, file.files]));
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (path: string, way: readonly string[]): void => {
    const start = way.indexOf(path);
    if (start >= 0) cycles.push([...way.slice(start), path].join(" > "));
    if (start >= 0 || done.has(path)) return;
    for (const next of imports.get(path) ?? []) visit(next, [...way, path]);
    done.add(path);
  };
  for (const { path } of sources) visit(path, []);
  return cycles;
}
