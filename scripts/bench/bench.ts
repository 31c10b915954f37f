import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { ALONE } from "./alone.ts";
import { CONTESTANTS } from "./contestants.ts";
import { GENERATOR } from "./load.ts";
import * as report from "./report.ts";
import { runRounds } from "./rounds.ts";
import { SCALES } from "./scale.ts";
import { BINARY } from "./server.ts";
import { judge } from "./targets.ts";

const ROOT = join(import.meta.dirname, "../..");

const HELP = `npm run bench -- [options]

What a call costs, beside floors and others on the same machine. Nothing fails on a time.

  --only NAME,...   these alone; a ratio needs both of its contestants
  --rounds N        rounds that count: one slice of each contestant in each (8)
  --secs N          whole seconds of a slice (1)
  --quick           2 rounds, without history and what is measured alone
  --with-node-red   with Node-RED 5, which npm installs below the temporary folder
  --json FILE       where all slices and figures go (build/bench.json)
  --help

Contestants: ${Object.keys(CONTESTANTS).join(", ")}
Alone: ${Object.keys(ALONE).join(", ")}
How the cost grows, only if named ("scale": all): ${Object.keys(SCALES).join(", ")}
`;

const { values: options } = parseArgs({
  options: {
    only: { type: "string" },
    rounds: { type: "string" },
    secs: { type: "string", default: "1" },
    quick: { type: "boolean", default: false },
    "with-node-red": { type: "boolean", default: false },
    json: { type: "string", default: join(ROOT, "build/bench.json") },
    help: { type: "boolean", default: false },
  },
});

if (options.help) process.stdout.write(HELP);
else await main(toCount("rounds", options.rounds ?? (options.quick ? "2" : "8")));

async function main(rounds: number): Promise<void> {
  const seconds = toCount("secs", options.secs);
  const names = chooseNames();
  process.stderr.write(`load by ${GENERATOR}\nbuilding\n`);
  build();
  const compared = names.filter((name) => name in CONTESTANTS);
  const { slices, figures: alone } = await runRounds(compared, { rounds, seconds });
  for (const name of names.filter((found) => !compared.includes(found))) {
    process.stderr.write(`${name}\n`);
    const measure = ALONE[name] ?? (() => SCALES[name]?.(seconds + 1));
    alone.set(name, (await measure()) ?? {});
  }
  const verdicts = judge(slices, alone);
  const machine = report.describeMachine();
  const without = names.includes("node-red") ? "" : "Without Node-RED (--with-node-red).\n";
  process.stdout.write(`${machine}, load by ${GENERATOR}\n${without}\n`);
  process.stdout.write(report.toSliceTable(slices));
  process.stdout.write(report.toThreadTable(slices));
  process.stdout.write(report.toFigureTable(alone));
  process.stdout.write(report.toTargetTable(verdicts));
  process.stdout.write(report.toWarning(slices));
  const found = {
    machine,
    generator: GENERATOR,
    rounds,
    seconds,
    slices: Object.fromEntries(slices),
  };
  const whole = { ...found, alone: Object.fromEntries(alone), targets: verdicts };
  writeFileSync(resolve(options.json), `${JSON.stringify(whole, null, 2)}\n`);
}

function toCount(option: string, text: string): number {
  if (!/^[1-9][0-9]*$/.test(text))
    throw new Error(`Expected a whole number from 1 for --${option}, not "${text}"`);
  return Number(text);
}

function chooseNames(): string[] {
  const scales = Object.keys(SCALES);
  const known = [...Object.keys(CONTESTANTS), ...Object.keys(ALONE), ...scales];
  if (options.only !== undefined) {
    const names = options.only.split(",").flatMap((name) => (name === "scale" ? scales : [name]));
    const unknown = names.filter((name) => !known.includes(name));
    if (unknown.length === 0) return names;
    throw new Error(`Unknown: ${unknown.join(", ")}. Known: ${known.join(", ")}, scale`);
  }
  const leftOut = options.quick ? [...scales, ...Object.keys(ALONE), "history"] : scales;
  const hasNodeRed = options["with-node-red"];
  return known.filter((name) => !leftOut.includes(name) && (hasNodeRed || name !== "node-red"));
}

function build(): void {
  execFileSync("node", ["--import", "tsx", "scripts/build.ts"], {
    cwd: ROOT,
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (process.platform !== "linux") return;
  // A file that was just written lies in memory in larger pieces than one that was read, and each
  // process that maps it would count them.
  execFileSync("dd", [`if=${BINARY}`, "iflag=nocache", "count=0"], { stdio: "ignore" });
}
