import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, globSync } from "node:fs";
import { join } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { parseArgs } from "node:util";
import { ROOT } from "./targets.ts";

/**
 * `npm test`: builds, then runs the tests of the rooms once, those of the user interface and of
 * faults on the binary, and the black-box suite once for each way to run the program.
 *
 *   --fast         only the tests of the rooms, without a build
 *   --target NAME  only the black-box suite against this target (repeatable)
 *   --no-build     with what build/ holds
 *   --no-skips     a skipped test fails the run; so it is where CI=true
 *   TEXT           only test files whose path contains it
 */

const TARGETS = ["source", "bundle", "binary", "deno"] as const;

/** A test that hangs fails by itself before the machine's limit ends the whole run. */
const TEST_TIMEOUT_MS = 300_000;

interface Tally {
  readonly name: string;
  tests: number;
  passed: number;
  failed: number;
  readonly skips: string[];
}

const { values: options, positionals: filters } = parseArgs({
  allowPositionals: true,
  allowNegative: true,
  options: {
    fast: { type: "boolean", default: false },
    target: { type: "string", multiple: true },
    build: { type: "boolean", default: true },
    skips: { type: "boolean", default: process.env["CI"] !== "true" },
  },
});

const rooms = filesOf("test/**/*.test.ts").filter((file) => !needsBuild(file));
const blackBox = filesOf("test/blackbox/**/*.test.ts");
/** What is tried on the program that is shipped alone. */
const shipped = filesOf("test/{ui,faults}/**/*.test.ts");

const tallies: Tally[] = [];
if (!options.fast && options.build) build();
if (options.target === undefined) tallies.push(await runFiles("rooms", rooms, {}));
if (!options.fast) {
  if (options.target === undefined)
    tallies.push(await runFiles("shipped", shipped, { FLOWHOOK_TARGET: "binary" }));
  for (const target of options.target ?? TARGETS) tallies.push(await runTarget(target));
}
process.exitCode = summarize(tallies) ? 0 : 1;

function filesOf(pattern: string): string[] {
  const files = globSync(pattern, { cwd: ROOT }).sort();
  const wanted = (file: string) =>
    filters.length === 0 || filters.some((part) => file.includes(part));
  return files.filter(wanted).map((file) => join(ROOT, file));
}

function needsBuild(file: string): boolean {
  return ["blackbox", "ui", "faults"].some((room) => file.startsWith(join(ROOT, "test", room)));
}

function build(): void {
  const script = join(ROOT, "scripts/build.ts");
  execFileSync(process.execPath, ["--import", "tsx", script], { stdio: "inherit", cwd: ROOT });
}

async function runTarget(target: string): Promise<Tally> {
  const missing = whyMissing(target);
  if (missing === null) return runFiles(target, blackBox, { FLOWHOOK_TARGET: target });
  return {
    name: target,
    tests: 0,
    passed: 0,
    failed: 0,
    skips: [`all of "${target}": ${missing}`],
  };
}

/** Why a target cannot be tested here, or null where it can. */
function whyMissing(target: string): string | null {
  if (!TARGETS.some((name) => name === target)) throw new Error(`Unknown target "${target}"`);
  if (target !== "deno") return null;
  const deno = join(ROOT, "node_modules/.bin/deno");
  // Without install scripts this first run also puts the program itself into node_modules/deno.
  const runs = existsSync(deno) && spawnSync(deno, ["--version"]).status === 0;
  return runs ? null : "there is no Deno for this platform";
}

async function runFiles(
  name: string,
  files: string[],
  env: Record<string, string>,
): Promise<Tally> {
  const tally: Tally = { name, tests: 0, passed: 0, failed: 0, skips: [] };
  if (files.length === 0) return tally;
  console.log(`\n${name}: ${files.length} files`);
  const stream = run({
    files,
    cwd: ROOT,
    concurrency: 2,
    timeout: TEST_TIMEOUT_MS,
    env: { ...process.env, ...env },
  });
  stream.on("test:pass", (test) => note(tally, test, true));
  stream.on("test:fail", (test) => note(tally, test, false));
  for await (const text of stream.compose(spec)) process.stdout.write(text);
  return tally;
}

interface Ended {
  readonly name: string;
  readonly skip?: string | boolean;
  readonly details: { readonly type?: string; readonly error?: Error };
}

/** What only gathers other tests is counted where it fails, or is skipped, by itself. */
function note(tally: Tally, test: Ended, passed: boolean): void {
  const gathers = test.details.type === "suite";
  if (gathers && passed && !test.skip) return;
  const { error } = test.details;
  if (error && "failureType" in error && error.failureType === "subtestsFailed") return;
  tally.tests++;
  if (test.skip) {
    const reason = typeof test.skip === "string" ? test.skip : "no reason given";
    tally.skips.push(`${test.name}: ${reason}`);
  } else if (passed) tally.passed++;
  else tally.failed++;
}

function summarize(all: readonly Tally[]): boolean {
  const sum = (count: (tally: Tally) => number) => all.reduce((n, tally) => n + count(tally), 0);
  const [tests, passed, failed] = [sum((t) => t.tests), sum((t) => t.passed), sum((t) => t.failed)];
  const skips = all.flatMap((tally) => tally.skips.map((skip) => `${tally.name}: ${skip}`));
  console.log("");
  for (const skip of skips) console.log(`skipped  ${skip}`);
  for (const tally of all) {
    const counts = `${tally.tests} tests, ${tally.passed} pass, ${tally.failed} fail`;
    console.log(`${tally.name.padEnd(7)}  ${counts}, ${tally.skips.length} skipped`);
  }
  const refused = skips.length > 0 && !options.skips;
  if (refused) console.log("A skipped test fails this run (CI=true or --no-skips)");
  if (tests === 0) console.log("No test was run");
  for (const [word, count] of Object.entries({ tests, pass: passed, fail: failed })) {
    console.log(`ℹ ${word} ${count}`);
  }
  console.log(`ℹ skipped ${skips.length}`);
  return failed === 0 && tests > 0 && !refused;
}
