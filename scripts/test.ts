import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, globSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { parseArgs } from "node:util";
import { openPostgres } from "../test/postgres-server.ts";
import { isOnPostgres } from "../test/blackbox/target.ts";
import { ROOT } from "./targets.ts";
import { runQueue, type Queued } from "./test-queue.ts";
import { note, openDurations, openTally, summarize, type Tally } from "./test-report.ts";

/**
 * Builds, then runs the tests of the rooms, of the user interface and of faults, with the binary
 * where they start the program, and the black-box suite once for each way to run it.
 */
const HELP = `npm test -- [options] [TEXT ...]

  --fast         only the tests of the rooms, with the sources and without a build
  --target NAME  only the black-box suite against this target (repeatable)
  --no-build     with what build/ holds
  --no-skips     a skipped test fails the run; so it is where CI=true
  --help
  TEXT           only test files whose path contains it
`;

const TARGETS = ["source", "bundle", "binary", "deno", "postgres", "cluster"] as const;

/** A test that hangs fails by itself before the machine's limit ends the whole run. */
const TEST_TIMEOUT_MS = 600_000;

/** Where what was compiled once is kept for the next file, and the next run. */
const COMPILE_CACHE = join(ROOT, "node_modules/.cache/tests");

/** Files that take longest, which start first among their weight. */
const LONGEST = [
  "ui/pages",
  "runner/deaths",
  "runner/hostile-flows",
  "runner/runners",
  "faults/",
  "blackbox/",
];

/** Black-box files whose service is one process whatever the target: no use against several nodes. */
const ONE_PROCESS = ["author", "coverage", "demo", "docs", "unit"];

/** Files that run several services at once, and how many; of all others, one. */
const WEIGHTS: readonly (readonly [path: string, weight: Queued["weight"]])[] = [
  ["blackbox/scenarios", 3],
  ["ui/", 2],
  // What they send in a certain time, or what memory that takes, is what they are about.
  ["faults/bodies", "alone"],
  ["ui/first-answer", "alone"],
];

/** Counts of one file: those of all are printed at the end. */
const FILE_COUNTS = /^ℹ (?:tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+\n/gm;

/** A file, and the tally that it counts in. */
interface TestRun {
  readonly file: string;
  readonly tally: Tally;
  readonly env: Readonly<Record<string, string>>;
}

const { values: options, positionals: filters } = parseArgs({
  allowPositionals: true,
  allowNegative: true,
  options: {
    fast: { type: "boolean", default: false },
    target: { type: "string", multiple: true },
    build: { type: "boolean", default: true },
    skips: { type: "boolean", default: process.env["CI"] !== "true" },
    help: { type: "boolean", default: false },
  },
});
if (options.help) {
  process.stdout.write(HELP);
  process.exit();
}

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
const durations = openDurations();
const ending = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => {
    ending.abort();
    process.exitCode = 1;
  });
try {
  await runQueue(heaviestFirst(runs).map(toQueued));
} catch (error) {
  // Files that still run have nothing to wait for.
  ending.abort();
  throw error;
} finally {
  await postgres?.stop();
}
durations.print();
if (!summarize(tallies, options.skips) || ending.signal.aborted) process.exitCode = 1;

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
  const tally = openTally(name);
  const env = {
    ...process.env,
    FLOWHOOK_TARGET: target,
    NODE_COMPILE_CACHE: COMPILE_CACHE,
  } as Record<string, string>;
  tallies.push(tally);
  runs.push(...files.map((file) => ({ file, tally, env })));
  return tally;
}

function heaviestFirst(all: readonly TestRun[]): TestRun[] {
  const rank = ({ file }: TestRun): number => {
    const found = LONGEST.findIndex((part) => file.includes(part));
    return found < 0 ? LONGEST.length : found;
  };
  const weight = (one: TestRun) => Number(toQueued(one).weight) || 0;
  return all.toSorted((one, other) => weight(other) - weight(one) || rank(one) - rank(other));
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

function toQueued(one: TestRun): Queued {
  const found = WEIGHTS.findLast(([path]) => one.file.includes(`/test/${path}`));
  const [, weight] = found ?? ["", 1];
  // Several nodes take more to start; of those that run, few are busy at a time.
  const more = one.tally.name === "cluster" ? 1 : 0;
  return { weight: weight === "alone" ? weight : weight + more, run: () => runFile(one) };
}

/** What a file prints comes in one piece, once it has ended. */
async function runFile({ file, tally, env: given }: TestRun): Promise<void> {
  if (ending.signal.aborted) return;
  const isOn = isOnPostgres(given["FLOWHOOK_TARGET"]);
  const server = postgres !== null && isOn ? postgres.url : null;
  const env = server === null ? given : { ...given, FLOWHOOK_TEST_POSTGRES: server };
  const { signal } = ending;
  const stream = run({ files: [file], cwd: ROOT, timeout: TEST_TIMEOUT_MS, env, signal });
  stream.on("test:pass", (test) => note(tally, test, true));
  stream.on("test:fail", (test) => note(tally, test, false));
  const begun = performance.now();
  const printed: string[] = [];
  for await (const text of stream.compose(spec)) printed.push(String(text));
  const title = `${tally.name}: ${relative(ROOT, file)}`;
  console.log(`\n${title} (${durations.add(title, (performance.now() - begun) / 1000)})`);
  process.stdout.write(printed.join("").replaceAll(FILE_COUNTS, ""));
}
