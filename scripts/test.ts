import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, globSync } from "node:fs";
import { availableParallelism } from "node:os";
import { basename, join, relative } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { parseArgs } from "node:util";
import { openPostgres } from "../test/postgres-server.ts";
import { NODE_COUNT } from "../test/blackbox/cluster.ts";
import { isOnPostgres } from "../test/blackbox/target.ts";
import { ROOT } from "./targets.ts";

/**
 * `npm test`: builds, then runs the tests of the rooms, of the user interface and of faults, with the
 * binary where they start the program, and the black-box suite once for each way to run it.
 *
 *   --fast         only the tests of the rooms, with the sources and without a build
 *   --target NAME  only the black-box suite against this target (repeatable)
 *   --no-build     with what build/ holds
 *   --no-skips     a skipped test fails the run; so it is where CI=true
 *   TEXT           only test files whose path contains it
 */

const TARGETS = ["source", "bundle", "binary", "deno", "postgres", "cluster"] as const;

/** A test that hangs fails by itself before the machine's limit ends the whole run. */
const TEST_TIMEOUT_MS = 600_000;

/** Files that take longest, which start first: the last one to end runs alone otherwise. */
const LONGEST = ["blackbox/scenarios", "runner/deaths", "ui/pages", "runner/runners"];

/** Tests at a time. Much of their time is a process that starts, or a limit that is waited for. */
const AT_A_TIME = availableParallelism() + 2;

/** Black-box files whose service is one process whatever the target: no use against several nodes. */
const ONE_PROCESS = ["author", "coverage", "demo", "docs", "unit"];

/** Files that run several services at once, and how many; of all others, one. */
const WEIGHTS: readonly (readonly [path: string, tests: number])[] = [
  ["blackbox/scenarios", 3],
  ["ui/", 2],
  // What they send in a certain time, or what memory that takes, is what they are about.
  ["faults/bodies", AT_A_TIME],
  ["ui/first-answer", AT_A_TIME],
];

/** Counts of one file: those of all are printed at the end. */
const FILE_COUNTS = /^ℹ (?:tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+\n/gm;

/** A file, and the tally that it counts in. */
interface TestRun {
  readonly file: string;
  readonly tally: Tally;
  readonly env: Readonly<Record<string, string>>;
}

interface Tally {
  readonly name: string;
  tests: number;
  passed: number;
  readonly failures: string[];
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
const runs: TestRun[] = [];
if (!options.fast && options.build) build();
if (options.target === undefined) addRuns("rooms", rooms, options.fast ? "source" : "binary");
if (!options.fast) {
  if (options.target === undefined) addRuns("shipped", shipped, "binary");
  for (const target of options.target ?? TARGETS) addTarget(target);
}
/** One server for all files of that target. */
const postgres = runs.some(({ env }) => isOnPostgres(env["FLOWHOOK_TARGET"]))
  ? await openPostgres()
  : null;
await runAll(longestFirst(runs));
await postgres?.stop();
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

function addTarget(target: string): void {
  const missing = whyMissing(target);
  const { skips } = addRuns(target, missing === null ? filesFor(target) : [], target);
  if (missing !== null) skips.push(`all of "${target}": ${missing}`);
}

function filesFor(target: string): string[] {
  if (target !== "cluster") return blackBox;
  const isOne = (file: string) => ONE_PROCESS.includes(basename(file, ".test.ts"));
  return blackBox.filter((file) => !isOne(file));
}

function addRuns(name: string, files: readonly string[], target: string): Tally {
  const tally: Tally = { name, tests: 0, passed: 0, failures: [], skips: [] };
  const env = { ...process.env, FLOWHOOK_TARGET: target } as Record<string, string>;
  tallies.push(tally);
  runs.push(...files.map((file) => ({ file, tally, env })));
  return tally;
}

function longestFirst(all: readonly TestRun[]): TestRun[] {
  const rank = ({ file }: TestRun): number => {
    const found = LONGEST.findIndex((part) => file.includes(part));
    return found < 0 ? LONGEST.length : found;
  };
  return all.toSorted((one, other) => rank(one) - rank(other));
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

/** Starts what there is room for, the first of the list first. */
function runAll(waiting: TestRun[]): Promise<void> {
  let room = AT_A_TIME;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  function startSome(): void {
    for (let at = 0; at < waiting.length && room > 0;) {
      const weight = weightOf(waiting[at] as TestRun);
      if (weight > room) at += 1;
      else {
        const [next] = waiting.splice(at, 1);
        room -= weight;
        runFile(next as TestRun).then(() => {
          room += weight;
          startSome();
        }, reject);
      }
    }
    if (waiting.length === 0 && room === AT_A_TIME) resolve();
  }
  startSome();
  return promise;
}

function weightOf({ file, tally }: TestRun): number {
  const found = WEIGHTS.findLast(([path]) => file.includes(`/test/${path}`));
  const nodes = tally.name === "cluster" ? NODE_COUNT : 1;
  return Math.min((found?.[1] ?? 1) * nodes, AT_A_TIME);
}

/** What a file prints comes in one piece, once it has ended. */
async function runFile({ file, tally, env: given }: TestRun): Promise<void> {
  const isOn = isOnPostgres(given["FLOWHOOK_TARGET"]);
  const server = postgres !== null && isOn ? postgres.url : null;
  const env = server === null ? given : { ...given, FLOWHOOK_TEST_POSTGRES: server };
  const stream = run({ files: [file], cwd: ROOT, timeout: TEST_TIMEOUT_MS, env });
  stream.on("test:pass", (test) => note(tally, test, true));
  stream.on("test:fail", (test) => note(tally, test, false));
  const begun = performance.now();
  const printed: string[] = [];
  for await (const text of stream.compose(spec)) printed.push(String(text));
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  console.log(`\n${tally.name}: ${relative(ROOT, file)} (${seconds} s)`);
  process.stdout.write(printed.join("").replaceAll(FILE_COUNTS, ""));
}

interface Ended {
  readonly name: string;
  readonly file?: string | undefined;
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
  else tally.failures.push(`${relative(ROOT, test.file ?? "")}: ${test.name}`);
}

function summarize(all: readonly Tally[]): boolean {
  const sum = (count: (tally: Tally) => number) => all.reduce((n, tally) => n + count(tally), 0);
  const [tests, passed, failed] = [
    sum((t) => t.tests),
    sum((t) => t.passed),
    sum((t) => t.failures.length),
  ];
  const skips = all.flatMap((tally) => tally.skips.map((skip) => `${tally.name}: ${skip}`));
  console.log("");
  for (const skip of skips) console.log(`skipped  ${skip}`);
  for (const { name, failures } of all)
    for (const failure of failures) console.log(`failed   ${name}: ${failure}`);
  for (const tally of all) {
    const counts = `${tally.tests} tests, ${tally.passed} pass, ${tally.failures.length} fail`;
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
