import type { Cancelled, Execution } from "../shared/contract/execution.ts";
import type { Command } from "commander";
import { openClient, toPath } from "./client.ts";
import type { ConnectionOptions } from "./connection.ts";
import { CommandError } from "./command-error.ts";
import { printJson, type ListOptions } from "./table.ts";

interface Filter {
  readonly flow?: string;
  readonly webhook?: string;
  readonly status?: string;
  readonly parent?: string;
}

type CancelOptions = ConnectionOptions & ListOptions & Filter;

/** `execution cancel`: one execution, or all that fit a filter. */
export function addCancelCommand(execution: Command, url: readonly [string, string]): void {
  execution
    .command("cancel")
    .description("Cancel an execution that has not ended, or all that fit the options")
    .argument("[id]", "the execution (default: all that fit every option)")
    .option("--status <status>", "only these: PENDING or RUNNING")
    .option("--webhook <name>", "only those of a webhook")
    .option("--flow <name>", "only those of a flow")
    .option("--parent <id>", "only those that an execution has started")
    .option("--json", "print JSON")
    .option(...url)
    .action(cancel);
}

async function cancel(id: string | undefined, options: CancelOptions): Promise<void> {
  const { flow, webhook, status, parent } = options;
  const filter = { flow, webhook, status: status?.toUpperCase(), parent_id: parent };
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  const names = "--status, --webhook, --flow or --parent";
  if (id !== undefined && isFiltered)
    throw new CommandError(`Found an id and options. Give the id alone, or only ${names}`, 2);
  if (id !== undefined) return cancelOne(id, options);
  if (isFiltered) return cancelAll(filter, options);
  throw new CommandError(`Which executions? Expected an id, or at least one of ${names}`, 2);
}

async function cancelOne(id: string, options: CancelOptions): Promise<void> {
  const path = `${toPath("execution", id)}/cancel`;
  const ended = await openClient(options).json<Execution>("POST", path, {
    mayTakeLong: true,
    has: "status",
  });
  if (ended.status !== "ENDED_CANCELLED")
    throw new CommandError(`The execution was not cancelled: it ended as ${ended.status}`);
  if (options.json) printJson(ended);
  else process.stdout.write(`Cancelled ${id}\n`);
}

async function cancelAll(
  filter: Readonly<Record<string, string | undefined>>,
  options: CancelOptions,
): Promise<void> {
  const client = openClient(options);
  const answer = await client.json<Cancelled>("POST", "/execution/cancel", {
    body: { filter },
    mayTakeLong: true,
    has: "cancelled",
  });
  if (options.json) printJson(answer);
  else process.stdout.write(`${describe(answer)}\n`);
}

function describe({ matched, cancelled }: Cancelled): string {
  if (matched === 0) return "Cancelled none: no execution that has not ended matches";
  const count = `Cancelled ${cancelled} ${cancelled === 1 ? "execution" : "executions"}`;
  const others = matched - cancelled;
  return others === 0 ? count : `${count}; ${others} ended before that`;
}
