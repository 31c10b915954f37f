import type { Command } from "commander";
import type { Workspace } from "../shared/contract/workspace.ts";
import { openClient } from "./client.ts";
import type { ConnectionOptions } from "./connection.ts";
import { printJson, printList, toTime, type Column, type ListOptions } from "./table.ts";

type Node = Workspace["nodes"][number];

/** `nodes`: the services that share a database. */
export function addNodesCommand(program: Command, url: readonly [string, string]): void {
  program
    .command("nodes")
    .description("List the services that share a database of PostgreSQL")
    .option("--json", "print JSON")
    .option(...url)
    .action(printNodes);
}

const COLUMNS: readonly Column<Node>[] = [
  { title: "NODE", of: ({ name }) => name },
  { title: "STATE", of: ({ state }) => state },
  { title: "ANSWERS", of: ({ is_self }) => is_self },
  { title: "RUNNING", of: ({ running }) => running },
  { title: "WAITING", of: ({ waiting }) => waiting },
  { title: "VERSION", of: ({ version }) => version },
  { title: "STARTED", of: ({ started_at }) => toTime(started_at) },
  { title: "LEASE UNTIL", of: ({ lease_until }) => toTime(lease_until) },
];

async function printNodes(options: ConnectionOptions & ListOptions): Promise<void> {
  const { nodes } = await openClient(options).json<Workspace>("GET", "/workspace", {
    has: "nodes",
  });
  if (options.json) return printJson(nodes);
  const isAlone = nodes.every(({ id }) => id === null);
  if (isAlone) process.stdout.write("One service: its store is SQLite, which has no nodes\n");
  else printList(nodes, COLUMNS, { empty: "No nodes" });
}
