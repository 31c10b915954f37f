import type { Command } from "commander";
import type { ExecutionSummary, Started } from "../shared/contract/execution.ts";
import { FAILURES } from "../shared/contract/status.ts";
import { openClient, RefusedFailure, toPath, type Client } from "./client.ts";
import { CommandError } from "./command-error.ts";
import type { ConnectionOptions } from "./connection.ts";
import { readJsonOr, toCount } from "./input.ts";
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

/** Those that have a replay are left out: what was interrupted goes on when it is called again. */
async function replayAll(options: ReplayOptions): Promise<void> {
  const client = openClient(options);
  const { webhook, flow, status = FAILURES.join(","), from, to } = options;
  const filter = { webhook, flow, status: status.toUpperCase(), from, to };
  // All before the first is run: a replay that fails at once fits the filter too.
  const matched = await client.list<ExecutionSummary>("/execution", { ...filter, order: "asc" });
  const done: Started[] = [];
  const told = { left: 0, refused: 0 };
  try {
    for (const { id } of matched) {
      if (done.length === options.limit) break;
      if (await hasReplay(client, id)) told.left += 1;
      else if (!(await isStarted(client, id, options, done))) told.refused += 1;
    }
  } finally {
    if (options.json) printJson(done);
    process.stderr.write(`${describe(matched.length, done.length, told.left)}\n`);
  }
  if (told.refused > 0) throw new CommandError(`The service refused ${told.refused} of them`);
}

async function hasReplay(client: Client, id: string): Promise<boolean> {
  const query = { replay_of: id, limit: 1 };
  const { items } = await client.json<{ items: unknown[] }>("GET", "/execution", {
    query,
    has: "items",
  });
  return items.length > 0;
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

function describe(matched: number, done: number, left: number): string {
  if (matched === 0) return "Run again: none. No execution matches";
  const count = `Run again: ${done} ${done === 1 ? "execution" : "executions"}`;
  return left === 0 ? count : `${count}; ${left} ${left === 1 ? "has" : "have"} a replay already`;
}
