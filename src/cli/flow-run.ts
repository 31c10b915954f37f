import type { Execution, LogLine, Started } from "../shared/contract/execution.ts";
import { quotePath } from "../server/config/unwritable.ts";
import { createClient, RefusedFailure, toPath, type Client } from "./client.ts";
import { findConnection } from "./author-connection.ts";
import { isNamed, openConnection, type ConnectionOptions } from "./connection.ts";
import { findAuthorFolder, isAuthorFolder } from "./author-folder.ts";
import { printLog } from "./execution-log.ts";
import { followLog, waitForEnd } from "./follow.ts";
import { CommandError } from "./command-error.ts";
import { readJsonOr } from "./input.ts";
import { describeGoingOn, InterruptedError, untilInterrupted } from "./interrupted.ts";
import { printJson, toLine } from "./table.ts";
import { UnansweredError, UnreachableError } from "./unsent-request.ts";

export interface RunOptions extends ConnectionOptions {
  readonly local?: true;
  readonly input?: string;
  readonly log?: true;
  readonly json?: true;
}

/**
 * Runs a flow and waits for its end, however long that takes: on the service, or in this process
 * where nobody names a service that there is a login to, and the folder has flows.
 *
 * @throws CommandError with status and status message where it did not succeed
 */
export async function runFlow(name: string, options: RunOptions): Promise<void> {
  // Without an input the flow gets what a call without parameters gives.
  const { input } = options;
  const run = { name, body: input === undefined ? {} : { input_value: await readJsonOr(input) } };
  if (options.local === true) return runHere(run, options);
  const connection = openConnection(options);
  const folder = findAuthorFolder();
  const isHere = !isNamed(options) && isAuthorFolder(folder);
  const { url, token } = connection;
  if (isHere && token === null)
    return runHere(run, options, `It ran here, without a service: there is no login to ${url}`);
  const client = createClient(connection);
  const id = await start(client, run).catch((error: unknown) => {
    if (isHere && error instanceof UnreachableError) return null;
    if (error instanceof UnansweredError) throw withDoubt(error, name, options);
    throw isNamed(options)
      ? error
      : withPlace(error, url, isHere && findConnection(folder) === null);
  });
  if (id === null) {
    process.stderr.write(`Cannot reach ${url}: it runs here\n`);
    return runHere(run, options);
  }
  const goingOn = describeGoingOn(id, url, options);
  const tell = () =>
    untilInterrupted(goingOn, (signal) => report(client, id, { ...options, signal, goingOn }));
  if (isNamed(options)) return tell();
  await telling(`It ran on ${url}`, tell);
}

/** Says where it ran, after what came of it: nobody named a service. */
async function telling(where: string, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (!(error instanceof CommandError) || error instanceof InterruptedError) throw error;
    throw new CommandError(`${error.message}\n${where}`, error.exitCode);
  }
  process.stderr.write(`${where}\n`);
}

const NOT_HERE =
  "To run a flow of a folder, go there: this one has neither a flowhook.yaml nor a folder plugins";

/** Nobody named the service: another one may have been meant. */
function withPlace(error: unknown, url: string, isHere: boolean): unknown {
  if (error instanceof UnreachableError) return new CommandError(`${error.message}. ${NOT_HERE}`);
  if (!(error instanceof RefusedFailure)) return error;
  const here = isHere ? ". Flows of this folder run with --local" : "";
  return new CommandError(`${error.message}\nThat is what ${url} says${here}`, error.exitCode);
}

/** Run once more, here or there, it may run twice. */
function withDoubt({ message }: UnansweredError, name: string, { url }: RunOptions): CommandError {
  const service = url === undefined ? "" : ` --url ${quotePath(url)}`;
  return new CommandError(
    `${message}\nIt may run there all the same. This shows it: ` +
      `flowhook execution list --flow ${quotePath(name)}${service}`,
  );
}

/** What is asked of the service. */
interface FlowRun {
  readonly name: string;
  readonly body: { readonly input_value?: unknown };
}

/** @param where says so, after what came of it; null where it was said, or asked for */
async function runHere(
  run: FlowRun,
  options: RunOptions,
  where: string | null = null,
): Promise<void> {
  const { openHere } = await import("./flow-here.ts");
  await using here = await openHere(findAuthorFolder());
  here.requireFlow(run.name);
  const id = await start(here.client, run);
  const tell = () => report(here.client, id, options, "--json shows it");
  await (where === null ? tell() : telling(where, tell));
}

/** @returns the execution's id */
async function start(client: Client, { name, body }: FlowRun): Promise<string> {
  const path = `${toPath("flow", name)}/execution`;
  return (await client.json<Started>("POST", path, { body, has: "id" })).id;
}

interface ReportOptions extends RunOptions {
  readonly signal?: AbortSignal;
  /** What is said of the execution where its end cannot be waited for. */
  readonly goingOn?: string;
}

async function follow(client: Client, id: string, options: ReportOptions): Promise<Execution> {
  const { log, signal = new AbortController().signal } = options;
  const take = (line: LogLine): void => printLog([line], process.stderr);
  if (log) await followLog(client, id, { signal, take });
  return waitForEnd(client, id, signal);
}

/** A script that ran the flow again would run it twice. */
function withGoingOn(error: unknown, { goingOn }: ReportOptions): unknown {
  if (!(error instanceof CommandError) || goingOn === undefined) return error;
  // It was deleted meanwhile.
  if (error instanceof RefusedFailure && error.status === 404) return error;
  return new CommandError(`${error.message}\n${goingOn}`, error.exitCode);
}

/** @param advice what shows a custom response */
async function report(
  client: Client,
  id: string,
  options: ReportOptions,
  advice = `flowhook execution show ${id}`,
): Promise<void> {
  const record = await follow(client, id, options).catch((error: unknown) => {
    throw withGoingOn(error, options);
  });
  const { status, status_message, output_value, response } = record;
  if (options.json) printJson(record);
  else if (status === "ENDED_SUCCESS") printJson(output_value);
  if (status !== "ENDED_SUCCESS")
    throw new CommandError(toLine(`${status}: ${status_message ?? ""}`));
  if (response !== null && !options.json)
    process.stderr.write(`It made a custom response with status ${response.status}: ${advice}\n`);
}
