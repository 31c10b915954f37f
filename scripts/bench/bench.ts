import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { BINARY } from "./contestant.ts";
import { stopLoad } from "./calls.ts";
import { CONTESTANTS, type Sample } from "./measure.ts";
import { SCALES } from "./scale.ts";

/**
 * `npm run bench -- [--rounds N] [--seconds N] [--only a,b]`: each contestant in turn, round after
 * round, and the medians with their ratios in the same run. `--seconds`: how many slices of one
 * second a round has for each. `--only scale`: how the cost of a call grows. Nothing fails on a
 * time.
 */

/** [name, contestant, figure, target]; divided by the same figure of whom it takes turns with. */
const RATIOS: readonly [string, string, string, string][] = [
  ["floor-http / floor-node", "floor-http", "calls_per_s", "at least 0.60"],
  ["floor-pool / floor-http", "floor-pool", "calls_per_s", "at least 0.30"],
  ["hold / floor-pool", "hold", "calls_per_s", "at least 0.55"],
  ["async / floor-pool", "async", "calls_per_s", "at least 0.55"],
  ["redirect / hold", "redirect", "calls_per_s", "at least 0.45"],
  ["single p50 / floor-pool", "hold-normal", "single_p50_ms", "at most 3"],
  ["p99 / floor-pool", "hold", "p99_ms", "at most 2"],
  ["history / hold", "history", "calls_per_s", "at least 0.95"],
];

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    seconds: { type: "string", default: "4" },
    only: { type: "string" },
  },
});

const names = Object.keys(CONTESTANTS);
const scales = Object.keys(SCALES);
const compared = names.filter((name) => !scales.includes(name));
const wanted = values.only === "scale" ? scales : (values.only?.split(",") ?? compared);
const unknown = wanted.filter((name) => !names.includes(name));
if (unknown.length > 0)
  throw new Error(`Unknown: ${unknown.join(", ")}. Known: ${names.join(", ")}`);

execFileSync("node", ["--import", "tsx", "scripts/build.ts"], {
  cwd: join(import.meta.dirname, "../.."),
  stdio: ["ignore", "ignore", "inherit"],
});

// A file that was just written lies in memory in larger pieces than one that was read, and each
// process that maps it would count them.
execFileSync("dd", [`if=${BINARY}`, "iflag=nocache", "count=0"], { stdio: "ignore" });

const samples = new Map<string, Sample[]>(wanted.map((name) => [name, []]));
for (let round = 1; round <= Number(values.rounds); round += 1)
  for (const name of wanted) {
    process.stderr.write(`round ${round} of ${values.rounds}: ${name}\n`);
    const measure = CONTESTANTS[name] as (typeof CONTESTANTS)[string];
    samples.get(name)?.push(...(await measure(Number(values.seconds))));
  }

stopLoad();
process.stdout.write(`${describeMachine()}\n\n${toTable()}\n\n${toRatioTable()}\n`);
writeFileSync(
  join(import.meta.dirname, "../../build/bench.json"),
  `${JSON.stringify({ machine: describeMachine(), samples: Object.fromEntries(samples) }, null, 2)}\n`,
);

function describeMachine(): string {
  const memory = Math.round(totalmem() / 1024 ** 3);
  const model = cpus()[0]?.model.trim() ?? "unknown";
  const date = new Date().toISOString().slice(0, 10);
  return `${date}, Node.js ${process.versions.node}, ${cpus().length} x ${model}, ${memory} GiB`;
}

function toTable(): string {
  const lines = [...samples].flatMap(([name, taken]) => {
    const figures = new Set(taken.flatMap(({ own }) => Object.keys(own)));
    return [...figures].map((figure) => {
      const found = taken.map(({ own }) => own[figure]).filter((value) => value !== undefined);
      const [low, middle, high] = quartiles(found);
      return `| ${name} | ${figure} | ${show(middle)} | ${show(low)} to ${show(high)} |`;
    });
  });
  return ["| Contestant | Figure | Median | Quartiles |", "|---|---|---|---|", ...lines].join("\n");
}

/** Ratios are taken slice by slice, so that a machine that drifts costs both sides alike. */
function toRatioTable(): string {
  const lines = RATIOS.filter(([, contestant]) => samples.has(contestant)).map(
    ([name, contestant, figure, target]) => {
      const taken = samples.get(contestant) ?? [];
      const ratios = taken.flatMap(({ own, beside }) =>
        beside === null ? [] : [(own[figure] ?? Number.NaN) / (beside[figure] ?? Number.NaN)],
      );
      const [low, middle, high] = quartiles(ratios);
      return `| ${name} | ${show(middle)} | ${show(low)} to ${show(high)} | ${target} |`;
    },
  );
  return ["| Ratio | Median | Quartiles | Target |", "|---|---|---|---|", ...lines].join("\n");
}

function quartiles(values: readonly number[]): [number, number, number] {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (part: number) => {
    const place = part * (sorted.length - 1);
    const [below = Number.NaN, above = below] = sorted.slice(
      Math.floor(place),
      Math.floor(place) + 2,
    );
    return below + (above - below) * (place - Math.floor(place));
  };
  return [at(0.25), at(0.5), at(0.75)];
}

function show(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString("en") : value.toFixed(2);
}
