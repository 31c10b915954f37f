import { availableParallelism, loadavg } from "node:os";

/**
 * How much of each fault a run injects. The short form is part of the test suite; `npm run soak`
 * sets larger numbers. Every run prints its seed, and FLOWHOOK_FAULTS_SEED repeats it.
 */
function read(name: string, short: number): number {
  const text = process.env[`FLOWHOOK_FAULTS_${name}`];
  const value = text === undefined ? short : Number(text);
  if (!Number.isInteger(value) || value < 1) throw new Error(`Cannot use "${text}" as ${name}`);
  return value;
}

/** Kills of the server, and as many of runners and of nodes. */
export const ROUNDS = read("ROUNDS", 5);
/** Nodes on one database. */
export const NODES = read("NODES", 3);
/** Generated requests, and generated answers of flows. */
export const CASES = read("CASES", 600);
/** Ended executions that the store holds before the start after a crash. */
export const ROWS = read("ROWS", 20_000);
/** Executions that the crash has interrupted. */
export const INTERRUPTED = read("INTERRUPTED", 1000);
/** Clients that wait at the same time. */
export const CLIENTS = read("CLIENTS", 1000);
/** Reloads of a flow. */
export const RELOADS = read("RELOADS", 8);
/** Executions of the slow flow that wait while another one is called. */
export const QUEUED = read("QUEUED", 1000);
/** Calls of the flow that must not be starved, with and without the queue. */
export const FAIR_CALLS = read("FAIR_CALLS", 120);
/** Wrong keys, and wrong passwords. */
export const GUESSES = read("GUESSES", 200);

/** How long hostile flows are made and run, in seconds. */
export const HOSTILE_SEC = read("HOSTILE_SEC", 10);

export const SEED = read("SEED", Math.floor(Math.random() * 2 ** 31) + 1);

/** Prints a figure of this run, in one form for all families. */
export function figure(name: string, value: number | string, unit = ""): void {
  const shown = typeof value === "number" ? Number(value.toFixed(1)) : value;
  console.log(`figure  ${name}: ${shown}${unit === "" ? "" : ` ${unit}`}`);
}

/** Random numbers that a seed repeats (mulberry32): each call gives one from 0 to 1. */
export function openRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The value below which a share of the samples lies. */
export function quantile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

/**
 * By how much more than the two cores can do at once the machine is asked for: a limit of the
 * service counts on a machine that is not. The soak runs one file after the other, so that the
 * limits hold as they are.
 */
export function busyFactor(): number {
  const factor = Math.max(1, (loadavg()[0] ?? 0) / availableParallelism());
  figure("this machine: asked for, of what it can do", `${Math.round(factor * 100)} %`);
  return factor;
}

/** The soak, which sets each number, runs nothing beside a file. */
const isSoak = process.env["FLOWHOOK_FAULTS_ROUNDS"] !== undefined;
/** Where much runs, a process, a thread or a write to the disk may be held up so long, in milliseconds. */
const PAUSE_MS = isSoak ? 0 : 5000;

/**
 * What may take \`ms\` at most on a machine that does nothing else, here: one sample meets a pause now
 * and then, so the median of many is held to \`ms * busyFactor()\` beside it.
 *
 * @param pauseMs what a pause costs here
 */
export function mostHere(ms: number, pauseMs = PAUSE_MS): number {
  return ms * busyFactor() + (isSoak ? 0 : pauseMs);
}
