import { cp, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { openBalancer } from "./balancer.ts";
import type { Origin } from "./client.ts";

/** A process that serves, as far as this file knows it. */
interface Node {
  readonly origin: Origin;
  logs(): string;
}

/** Processes that answer at one address. */
export interface Serving<N extends Node = Node> {
  readonly origin: Origin;
  /** The first one's folder is that of the service. */
  readonly nodes: readonly [N, ...N[]];
  /** Whole lines of all, in the order in which they were first seen here. */
  logs(): string;
  /** Whether each connection from now on goes to one node alone; nothing where there is but one. */
  pin(isPinned: boolean): void;
  /** Gives up the address; the processes are the caller's to end. */
  close(): Promise<void>;
}

const NODE_COUNT = 3;

/** One process at its own address. */
export function alone<N extends Node>(node: N): Serving<N> {
  return {
    origin: node.origin,
    nodes: [node],
    logs: node.logs,
    pin: () => {},
    close: async () => {},
  };
}

/**
 * Nodes on one database behind a balancer. The first has `directory`, and whatever a first start makes;
 * the others, which start after it at the same time, have folders below it.
 */
export async function openCluster<N extends Node>(
  directory: string,
  start: (directory: string) => Promise<N>,
  end: (node: N) => Promise<unknown>,
): Promise<Serving<N>> {
  const first = await start(directory);
  const others = await Promise.allSettled(
    Array.from({ length: NODE_COUNT - 1 }, async (_, at) =>
      start(await furnish(directory, `node-${at + 2}`)),
    ),
  );
  const started = others.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const refused = others.find((one) => one.status === "rejected");
  const nodes: [N, ...N[]] = [first, ...started];
  if (refused !== undefined) {
    await Promise.all(nodes.map(end));
    throw refused.reason;
  }
  const balancer = await openBalancer(nodes.map(({ origin }) => origin));
  return { ...balancer, nodes, logs: gather(nodes) };
}

/** The first node's configuration and data key in a folder of its own; flows are lent. */
async function furnish(first: string, name: string): Promise<string> {
  const directory = join(first, name);
  await mkdir(join(directory, "data"), { recursive: true });
  await mkdir(join(directory, "plugins"));
  await cp(join(first, "flowhook.yaml"), join(directory, "flowhook.yaml"));
  await cp(join(first, "data/secret.key"), join(directory, "data/secret.key"));
  return directory;
}

/** The data folders of all nodes of a service. */
export async function dataFolders(directory: string): Promise<string[]> {
  const names = (await readdir(directory)).filter((name) => /^node-\d+$/.test(name));
  return ["", ...names].map((name) => join(directory, name, "data"));
}

function gather(nodes: readonly Node[]): () => string {
  const read = nodes.map(() => 0);
  let all = "";
  return () => {
    nodes.forEach((node, at) => {
      const printed = node.logs();
      const end = printed.lastIndexOf("\n") + 1;
      all += printed.slice(read[at], end);
      read[at] = Math.max(end, read[at] ?? 0);
    });
    return all;
  };
}
