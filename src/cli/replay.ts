import type { Command } from "commander";
import type { ExecutionSummary, Started } from "../shared/contract/execution.ts";
import { FAILURES, UNENDED } from "../shared/contract/status.ts";
import { openClient, RefusedFailure, toPath, type Client } from "./client.ts";
import { CommandError } from "./command-error.ts";
import type { ConnectionOptions } from "./connection.ts";
import { readJsonOr, toCount } from "./input.ts";
import { untilInterrupted } from "./interrupted.ts";
import { quotePath } from "../server/config/unwritable.ts";
import { printJson, toLines, type ListOptions } from "./table.ts";

interface Filter {
  readonly webhook?: string;
  readonly flow?: string;
  readonly status?: string;
  readonly from?: string;
  readonly to?: string;
}

interface ReplayOptions extends ConnectionOptions, ListOptions, Filter {
  readonly input?: string;
  readonly flowVersion?: string;
  readonly limit?: number;
}

/** What a replay can be refused with that another may still be taken after. */
const OF_ONE: readonly number[] = [403, 404, 409, 422];

const NAMES = "--webhook, --flow, --status, --from or --to";

/** `execution replay`: one execution, or all that fit a filter. */
export function addReplayCommand(execution: Command, url: readonly [string, string]): void {
  execution
    .command("replay")
    .description("Run an execution again, or all that fit the options, and print the new ids")
    .argument("[id]", "the execution (default: all that fit every option, oldest first)")
    .option("--webhook <name>", "only those of a webhook")
    .option("--flow <name>", "only those of a flow")
    .option("--status <list>", `only these (default: ${FAILURES.join(",")})`)
    .option("--from <time>", "only those created since, e.g. 2026-01-31T09:30:00Z")
    .option("--to <time>", "only those created before")
    .option("--limit <count>", "run at most so many again (default: all)", toCount)
    .option("--input <input>", "another input_value: JSON, or a file of it; - reads standard input")
    .option("--flow-version <version>", "a kept version of the flow (default: the newest)")
    .option("--json", "print JSON")
    .option(...url)
    .action(replay);
}

async function replay(id: string | undefined, options: ReplayOptions): Promise<void> {
  const { webhook, flow, status, from, to, input, limit } = options;
  const isFiltered = [webhook, flow, status, from, to].some((value) => value !== undefined);
  if (id !== undefined && (isFiltered || limit !== undefined))
    throw new CommandError(`Found an id and options. Give the id alone, or only ${NAMES}`, 2);
  if (id !== undefined) return replayOne(id, options);
  if (!isFiltered)
    throw new CommandError(`Which executions? Expected an id, or at least one of ${NAMES}`, 2);
  if (input !== undefined)
    throw new CommandError("--input is for one execution: give its id in the place of options", 2);
  return replayAll(options);
}

async function replayOne(id: string, options: ReplayOptions): Promise<void> {
  const { input } = options;
  const body = input === undefined ? {} : { input_value: await readJsonOr(input) };
  const started = await start(openClient(options), id, { ...options, body });
  if (options.json) printJson(started);
  else process.stdout.write(`${started.id}\n`);
}

function start(
  client: Client,
  id: string,
  { flowVersion, body = {} }: { flowVersion?: string; body?: object },
): Promise<Started> {
  const version = flowVersion === undefined ? {} : { flow_version: flowVersion };
  const path = `${toPath("execution", id)}/replay`;
  return client.json<Started>("POST", path, { body: { ...body, ...version }, has: "id" });
}

/** What has come of those that fit. */
interface Outcome {
  readonly matched: readonly ExecutionSummary[];
  readonly done: Started[];
  /** The last replays of those that had one already. */
  readonly replays: ExecutionSummary[];
  refused: number;
  /** How many were looked at. */
  seen: number;
}

const STOPPED = "Stopped: give the command again for what is left";

/** Those that have a replay are left out: what was interrupted goes on when it is called again. */
async function replayAll(options: ReplayOptions): Promise<void> {
  const { webhook, flow, from, to } = options;
  const status = readEnded(options.status ?? FAILURES.join(","));
  const client = openClient(options);
  const query = { webhook, flow, status, from, to, order: "asc" };
  // All before the first is run: a replay that fails at once fits the filter too.
  const matched = await client.list<ExecutionSummary>("/execution", query);
  const outcome: Outcome = { matched, done: [], replays: [], refused: 0, seen: 0 };
  try {
    await untilInterrupted(STOPPED, (signal) => replayEach(client, options, outcome, signal));
  } finally {
    if (options.json) printJson(outcome.done);
    process.stderr.write(`${describe(outcome, options)}\n`);
  }
  if (outcome.refused > 0) throw new CommandError(`The service refused ${outcome.refused} of them`);
}

/** @throws CommandError (usage) for what runs still: it would run twice at once */
function readEnded(list: string): string {
  const statuses = list.toUpperCase();
  const unended = statuses.split(",").find((one) => (UNENDED as string[]).includes(one.trim()));
  if (unended === undefined) return statuses;
  throw new CommandError(`--status: found ${unended.trim()}, expected what has ended`, 2);
}

async function replayEach(
  client: Client,
  options: ReplayOptions,
  outcome: Outcome,
  signal: AbortSignal,
): Promise<void> {
  const { matched, done, replays } = outcome;
  for (const { id } of matched) {
    if (done.length === options.limit) break;
    // Never while one is being started: its id would be lost.
    signal.throwIfAborted();
    const replay = await lastReplay(client, id);
    if (replay !== null) replays.push(replay);
    else if (!(await isStarted(client, id, options, done))) outcome.refused += 1;
    outcome.seen += 1;
  }
}

/** @returns the newest replay of an execution; of one that failed its own, if there is one */
async function lastReplay(client: Client, id: string): Promise<ExecutionSummary | null> {
  const query = { replay_of: id, limit: 1 };
  const { items } = await client.json<{ items: ExecutionSummary[] }>("GET", "/execution", {
    query,
    has: "items",
  });
  const [replay = null] = items;
  if (replay === null || !isFailed(replay)) return replay;
  return (await lastReplay(client, replay.id)) ?? replay;
}

function isFailed({ status }: ExecutionSummary): boolean {
  return FAILURES.includes(status);
}

/** Each id is printed once there is one. @returns false where the service refuses this one alone */
async function isStarted(
  client: Client,
  id: string,
  options: ReplayOptions,
  done: Started[],
): Promise<boolean> {
  try {
    const started = await start(client, id, options);
    done.push({ id: started.id });
    if (!options.json) process.stdout.write(`${started.id}\n`);
    return true;
  } catch (error) {
    if (!(error instanceof RefusedFailure && OF_ONE.includes(error.status))) throw error;
    process.stderr.write(`${id}: ${toLines(error.message)}\n`);
    return false;
  }
}

function describe({ matched, done, replays, seen }: Outcome, { limit }: ReplayOptions): string {
  if (matched.length === 0) return "Run again: none. No execution matches";
  const parts = [`Run again: ${done.length} ${done.length === 1 ? "execution" : "executions"}`];
  const known = replays.length;
  if (known > 0)
    parts.push(
      `${known} ${known === 1 ? "has" : "have"} a replay already${ofFailed(replays, matched)}`,
    );
  const left = matched.length - seen;
  const advice = done.length === limit ? ": give the command again" : "";
  if (left > 0) parts.push(`${left} ${left === 1 ? "is" : "are"} left${advice}`);
  return parts.join("; ");
}

/** Of those that failed, and do not fit themselves: the same command never runs them again. */
function ofFailed(
  replays: readonly ExecutionSummary[],
  matched: readonly ExecutionSummary[],
): string {
  const fitting = new Set(matched.map(({ id }) => id));
  const failed = replays.filter((replay) => isFailed(replay) && !fitting.has(replay.id));
  if (failed.length === 0) return "";
  const flows = new Set(failed.map(({ flow }) => `--flow ${quotePath(flow)}`));
  const those = failed.length === 1 ? "that" : "those";
  return `, ${failed.length} of which failed: run ${those} again by ${[...flows].join(" or ")}`;
}
