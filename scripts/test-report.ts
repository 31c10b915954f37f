import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { ROOT } from "./targets.ts";

/** What a run of the tests says at its end. */

/** The results of the files that are counted together. */
export interface Tally {
  readonly name: string;
  tests: number;
  passed: number;
  readonly failures: string[];
  readonly skips: string[];
}

/** A test that has ended, as node:test tells it. */
interface Ended {
  readonly name: string;
  readonly file?: string | undefined;
  readonly skip?: string | boolean;
  readonly details: { readonly type?: string; readonly error?: Error };
}

export function openTally(name: string): Tally {
  return { name, tests: 0, passed: 0, failures: [], skips: [] };
}

/** What only gathers other tests is counted where it fails, or is skipped, by itself. */
export function note(tally: Tally, test: Ended, passed: boolean): void {
  const gathers = test.details.type === "suite";
  if (gathers && passed && !test.skip) return;
  const { error } = test.details;
  if (error && "failureType" in error && error.failureType === "subtestsFailed") return;
  tally.tests++;
  if (test.skip) {
    const reason = typeof test.skip === "string" ? test.skip : "no reason given";
    tally.skips.push(`${test.name}: ${reason}`);
  } else if (passed) tally.passed++;
  else tally.failures.push(`${relative(ROOT, test.file ?? "")}: ${test.name}${reasonOf(error)}`);
}

/** Lines of a reason that are shown at the end: where a run is told of by its last lines, they tell. */
const MOST_LINES = 12;
const MOST_WIDTH = 200;

function reasonOf(error: Error | undefined): string {
  const reason: unknown = error?.cause ?? error;
  if (!(reason instanceof Error)) return "";
  const { message, stack = "" } = reason;
  const lines = message.split("\n").slice(0, MOST_LINES);
  // Where in the test it was.
  const frame = stack
    .split("\n")
    .find((line) => line.startsWith("    at ") && line.includes("/test/"));
  const shown = [...lines, ...(frame === undefined ? [] : [frame.trim()])];
  return shown.map((line) => `\n         ${line.slice(0, MOST_WIDTH)}`).join("");
}

/** How long each file took, and how much of a processor. */
export interface Durations {
  /**
   * Notes what a file took that has just ended.
   *
   * @param wall in seconds
   * @returns that in words
   */
  add(title: string, wall: number): string;
  /** Prints the files to look at where the run takes too long. */
  print(): void;
}

const SLOWEST = 10;

/** To be opened before the first file is started. */
export function openDurations(): Durations {
  const files: { readonly title: string; readonly wall: number; readonly cpu: number | null }[] =
    [];
  let counted = childrensCpu();
  return {
    add(title, wall) {
      const now = childrensCpu();
      const cpu = now === null || counted === null ? null : now - counted;
      counted = now;
      files.push({ title, wall, cpu });
      return inWords(wall, cpu);
    },
    print() {
      const slowest = files.toSorted((one, other) => other.wall - one.wall).slice(0, SLOWEST);
      console.log(`\nThe ${slowest.length} files that took longest:`);
      for (const { title, wall, cpu } of slowest) console.log(`${inWords(wall, cpu)}  ${title}`);
      if (counted === null) return;
      console.log(
        `All took ${Math.round(counted)} s of a processor, what was started before with it`,
      );
    },
  };
}

function inWords(wall: number, cpu: number | null): string {
  return `${wall.toFixed(1)} s${cpu === null ? "" : `, CPU ${cpu.toFixed(1)} s`}`;
}

/** Clock ticks of Linux in a second, for whoever reads /proc. */
const TICKS = 100;

/**
 * Seconds of a processor that ended processes of this one took, with all that those waited for; null
 * where nobody tells. What it has grown by since a file ended is what the next one took.
 */
function childrensCpu(): number | null {
  if (process.platform !== "linux") return null;
  const stat = readFileSync("/proc/self/stat", "utf8");
  // proc_pid_stat(5): cutime and cstime are the 16th and 17th, state the 3rd after the name.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[13]) + Number(fields[14])) / TICKS;
}

/** Prints all counts. @returns whether the run passed */
export function summarize(all: readonly Tally[], allowsSkips: boolean): boolean {
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
  const refused = skips.length > 0 && !allowsSkips;
  if (refused) console.log("A skipped test fails this run (CI=true or --no-skips)");
  if (tests === 0) console.log("No test was run");
  for (const [word, count] of Object.entries({ tests, pass: passed, fail: failed })) {
    console.log(`ℹ ${word} ${count}`);
  }
  console.log(`ℹ skipped ${skips.length}`);
  return failed === 0 && tests > 0 && !refused;
}
