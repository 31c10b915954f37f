import type { RefusedCall, RefusedCalls } from "../shared/contract/refused-call.ts";
import type { Command } from "commander";
import { openClient, toPath } from "./client.ts";
import type { ConnectionOptions } from "./connection.ts";
import { toCount } from "./input.ts";
import { printList, toTime, type Column, type ListOptions } from "./table.ts";

const COLUMNS: readonly Column<RefusedCall>[] = [
  { title: "AT", of: (row) => toTime(row.at) },
  { title: "STATUS", of: (row) => row.status },
  { title: "CODE", of: (row) => row.code },
  { title: "METHOD", of: (row) => row.method },
  { title: "FROM", of: (row) => row.address },
  { title: "BYTES", of: (row) => row.body_bytes },
  { title: "REASON", of: (row) => row.reason },
];

/** Why calls of a webhook were refused. */
export function addRefusalCommand(webhook: Command, url: readonly [string, string]): void {
  webhook
    .command("refusals")
    .description("List the newest refused calls of a webhook, with the reason of each")
    .argument("<name>")
    .option("--limit <count>", "at most so many (default: 100)", toCount)
    .option("--json", "print JSON, with headers and the hash of the body")
    .option(...url)
    .action(listRefusals);
}

async function listRefusals(
  name: string,
  options: ConnectionOptions & ListOptions & { limit?: number },
): Promise<void> {
  const path = `${toPath("webhook", name)}/refusal`;
  const { limit } = options;
  // All that are kept are few: so it is seen whether there are more.
  const { items } = await openClient(options).json<RefusedCalls>("GET", path, { has: "items" });
  const hasMore = limit !== undefined && items.length > limit;
  const empty = "No call was refused since the service started";
  printList(items.slice(0, limit), COLUMNS, { ...options, empty, hasMore });
}
