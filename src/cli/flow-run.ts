import type { Execution, Started } from "../shared/contract/execution.ts";
import { toPath, openClient, type Client } from "./client.ts";
import type { ConnectionOptions } from "./connection.ts";
import { printLog, readLog } from "./execution-log.ts";
import { CommandError } from "./command-error.ts";
import { readJson } from "./input.ts";
import { printJson, toLine } from "./table.ts";

interface RunOptions extends ConnectionOptions {
  readonly input?: string;
  readonly log?: true;
  readonly json?: true;
}

/**
 * Runs a flow and waits for its end, however long that takes.
 *
 * @throws CommandError with status and status message where it did not succeed
 */
export async function runFlow(name: string, options: RunOptions): Promise<void> {
  const client = openClient(options);
  // Without an input the flow gets what a call without parameters gives.
  const body = options.input === undefined ? {} : { input_value: readJson(options.input) };
  const path = `${toPath("flow", name)}/execution`;
  const { id } = await client.json<Started>("POST", path, { body });
  const record = await waitFor(client, id);
  if (options.log) printLog(await readLog(client, id), process.stderr);
  const { status, status_message, output_value, response } = record;
  if (options.json) printJson(record);
  else if (status === "ENDED_SUCCESS") printJson(output_value);
  if (status !== "ENDED_SUCCESS")
    throw new CommandError(toLine(`${status}: ${status_message ?? ""}`));
  if (response !== null && !options.json)
    process.stderr.write(
      `It made a custom response with status ${response.status}: flowhook execution show ${id}\n`,
    );
}

/** Follows the wait endpoint: 302 to itself after each poll window, 200 at the end. */
async function waitFor(client: Client, id: string): Promise<Execution> {
  for (;;) {
    const answer = await client.request("GET", `${toPath("execution", id)}/wait`);
    if (answer.status === 200) return (await answer.json()) as Execution;
    await answer.body?.cancel();
  }
}
