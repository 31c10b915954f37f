import type {
  Execution,
  ExecutionSummary,
  LogLine,
  Verified,
} from "../shared/contract/execution.ts";
import type { Command } from "commander";
import { FAILURES } from "../shared/contract/status.ts";
import { whyUnsent } from "../shared/unsent.ts";
import { addCancelCommand } from "./cancel.ts";
import { openClient, toPath, type Client } from "./client.ts";
import { toOptions, type ConnectionOptions } from "./connection.ts";
import { printLog, readLog } from "./execution-log.ts";
import { printFixture } from "./fixture.ts";
import { followLog } from "./follow.ts";
import { toCount } from "./input.ts";
import { describeGoingOn, untilInterrupted } from "./interrupted.ts";
import { findProjectId } from "./project.ts";
import { addReplayCommand } from "./replay.ts";
import {
  printFields,
  printJson,
  printList,
  toJson,
  toLine,
  toTime,
  type Column,
  type ListOptions,
} from "./table.ts";

const COLUMNS: readonly Column<ExecutionSummary>[] = [
  { title: "ID", of: (row) => row.id },
  { title: "STATUS", of: (row) => row.status },
  { title: "WEBHOOK", of: (row) => row.webhook },
  { title: "FLOW", of: (row) => row.flow },
  { title: "CREATED", of: (row) => toTime(row.created_at) },
  { title: "TOOK", of: took },
  { title: "MESSAGE", of: (row) => row.status_message },
];

/** The commands about executions. */
export function addExecutionCommands(program: Command, url: readonly [string, string]): void {
  const execution = program.command("execution").description("Executions of flows");
  execution
    .command("list")
    .description("List executions, newest first")
    .option("--status <list>", "only these, e.g. RUNNING or ENDED_ERROR,ENDED_TIMEOUT")
    .option("--webhook <name>", "only those of a webhook")
    .option("--flow <name>", "only those of a flow")
    .option("--project <name>", "only those in a project")
    .option("--from <time>", "only those created since, e.g. 2026-01-31T09:30:00Z")
    .option("--to <time>", "only those created before")
    .option("--text <part>", "only those with this part in their status message")
    .option("--limit <count>", "at most so many", toCount, 50)
    .option("--oldest-first", "the other order")
    .option("--json", "print JSON")
    .option(...url)
    .action(listExecutions);
  execution
    .command("show")
    .description("Show one execution, with input and output")
    .argument("<id>")
    .option("--log", "with its log lines")
    .option("--follow", "print its log lines as they come, then the execution once it has ended")
    .option("--json", "print JSON")
    .option(...url)
    .action(showExecution);
  addCancelCommand(execution, url);
  addReplayCommand(execution, url);
  execution
    .command("fixture")
    .description("Print the input of an execution without credentials, for tests and flow run")
    .argument("<id>")
    .option(...url)
    .action(printFixture);
}

interface ListFilter extends ConnectionOptions, ListOptions {
  readonly status?: string;
  readonly webhook?: string;
  readonly flow?: string;
  readonly project?: string;
  readonly from?: string;
  readonly to?: string;
  readonly text?: string;
  readonly limit: number;
  readonly oldestFirst?: true;
}

async function listExecutions(options: ListFilter): Promise<void> {
  const client = openClient(options);
  const { status, webhook, flow, project, from, to, text, limit, oldestFirst } = options;
  const project_id = project === undefined ? undefined : await findProjectId(client, project);
  const order = oldestFirst ? "asc" : "desc";
  const filter = { status: status?.toUpperCase(), webhook, flow, project_id, from, to, text };
  const query = { ...filter, order };
  const { items, hasMore } = await client.first<ExecutionSummary>("/execution", query, limit);
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  const empty = isFiltered
    ? "No execution matches"
    : "No executions yet. Start one with: flowhook call WEBHOOK, or flowhook flow run FLOW";
  printList(items, COLUMNS, { ...options, empty, hasMore });
}

type ShowOptions = ConnectionOptions & ListOptions & { log?: true; follow?: true };

async function showExecution(id: string, options: ShowOptions): Promise<void> {
  const client = openClient(options);
  const record = await readExecution(client, id);
  if (options.follow) return followExecution(client, id, options);
  const log = options.log ? await readLog(client, id) : null;
  if (options.json) return printJson(log === null ? record : { ...record, log });
  printExecution(record);
  if (log === null) return printHint(record, options);
  process.stdout.write(log.length === 0 ? "\nNo log lines\n" : "\nlog\n");
  printLog(log, process.stdout);
}

function readExecution(client: Client, id: string): Promise<Execution> {
  return client.json<Execution>("GET", toPath("execution", id), { has: "status" });
}

/** Each line as it comes, then the execution: with `--json` an object each, in a line of its own. */
async function followExecution(client: Client, id: string, options: ShowOptions): Promise<void> {
  const { json } = options;
  const gone = new AbortController();
  // Nobody reads what would come.
  process.stdout.once("error", () => gone.abort());
  let count = 0;
  const take = (log: LogLine): void => {
    count += 1;
    if (json) process.stdout.write(`${toJson({ log })}\n`);
    else printLog([log], process.stdout);
  };
  try {
    await untilInterrupted(describeGoingOn(id, client.url, options), (stop) =>
      followLog(client, id, { signal: AbortSignal.any([stop, gone.signal]), take }),
    );
  } catch (error) {
    if (gone.signal.aborted) return;
    throw error;
  }
  const execution = await readExecution(client, id);
  if (json) return void process.stdout.write(`${toJson({ execution })}\n`);
  if (count > 0) process.stdout.write("\n");
  printExecution(execution);
}

/** All but its log. */
function printExecution(record: Execution): void {
  const { input_value, output_value, response, ...summary } = record;
  const verified = describeVerified(record.verified);
  printFields({ ...summary, verified, took: took(record) });
  for (const [name, value] of Object.entries({ input_value, output_value })) {
    process.stdout.write(`\n${name}\n`);
    printJson(value);
  }
  if (response !== null) printResponse(record);
}

/** Where a flow failed is in its log. */
function printHint({ id, status }: Execution, options: ConnectionOptions): void {
  if (!FAILURES.includes(status)) return;
  process.stdout.write(
    `\nIts log has more: flowhook execution show ${id} --log${toOptions(options)}\n`,
  );
}

/** The scheme, and each other member that the signature had. */
function describeVerified(verified: Verified | null): string | null {
  if (verified === null) return null;
  const { scheme, ...more } = verified;
  const known = Object.entries(more).filter(([, value]) => value !== null);
  return [scheme, ...known.map(([name, value]) => `${name} ${value}`)].join(", ");
}

/** What the flow made for the caller, and whether the caller got it. */
function printResponse(record: Execution): void {
  const unsent = whyUnsent(record);
  process.stdout.write(unsent === null ? "\nresponse\n" : `\nresponse\n${toLine(unsent)}\n`);
  printJson(record.response);
}

/** How long it ran; null where it did not start or has not ended. */
function took({ started_at, ended_at }: ExecutionSummary): string | null {
  if (started_at === null || ended_at === null) return null;
  const ms = Date.parse(ended_at) - Date.parse(started_at);
  return ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`;
}
