import { existsSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { IS_DENO } from "../shared/intrinsics.ts";
import type { FlowSpec } from "../shared/wire/protocol.ts";

/**
 * The permission layer: the flags that a thread is started with. Under Deno the permissions of the
 * process are the layer.
 */

/**
 * Flags for threads of a flow version: it reads its folder, the program's and the packages,
 * and what was granted. Every thread is given them: what threads inherit changes with Node.
 *
 * @param connects to the server: it drops the network then, before the flow is loaded
 */
export function flagsFor(spec: FlowSpec, readable: readonly string[], connects: boolean): string[] {
  if (IS_DENO) return [];
  const packages = join(spec.plugins_dir, "node_modules");
  const read = [spec.directory, ...readable, ...spec.grants.read];
  if (existsSync(packages)) read.push(packages);
  return [
    ...restrictedTo(read),
    ...spec.grants.write.map((path) => `--allow-fs-write=${path}`),
    ...(spec.grants.net || connects ? ["--allow-net"] : []),
    ...(spec.debug_port === undefined ? [] : DEBUGGED),
  ];
}

function restrictedTo(read: readonly string[]): string[] {
  return [
    "--permission",
    "--no-experimental-sqlite",
    "--disable-warning=ExperimentalWarning",
    ...read.map((path) => `--allow-fs-read=${path}`),
  ];
}

/** Its author has asked for it, on loopback: nobody need be warned. */
const DEBUGGED = ["--allow-inspector", "--disable-warning=PERM0004"];

/** Each line is an act that a thread without grants must be refused. */
const PROBE = `
const { parentPort } = require("node:worker_threads");
const open = [];
function attempt(name, act) { try { act(); open.push(name); } catch (error) { if (error.code !== "ERR_ACCESS_DENIED") open.push(name + ": " + error.message); } }
const fs = require("node:fs");
attempt("reading files", () => fs.readdirSync("/"));
attempt("writing files", () => fs.mkdirSync("/"));
attempt("child processes", () => require("node:child_process").spawnSync("/"));
attempt("threads", () => new (require("node:worker_threads").Worker)("", { eval: true }));
try { require("node:sqlite"); open.push("node:sqlite"); } catch {}
process.permission.drop("net");
require("node:net").connect(1, "127.0.0.1").on("error", ({ code, message }) => {
  if (code !== "ERR_ACCESS_DENIED") open.push("the network: " + message);
  parentPort.postMessage(open);
});
`;

/**
 * Starts a thread with the flags and lets it try what they must prevent.
 * @throws {Error} naming what is open; a runner takes no runs then
 */
export async function testFlags(readable: readonly string[]): Promise<void> {
  if (IS_DENO) return;
  const flags = [...restrictedTo(readable), "--allow-net"];
  const open = await new Promise<unknown>((resolve, reject) => {
    const worker = new Worker(PROBE, { eval: true, env: {}, execArgv: flags });
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.once("exit", (code) => reject(new Error(`The probe thread ended with ${code}`)));
  });
  if (!Array.isArray(open) || open.length > 0) {
    throw new Error(`Threads are not restricted as they must be; open: ${String(open)}`);
  }
}
