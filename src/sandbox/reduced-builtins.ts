import asyncHooks from "node:async_hooks";
import os from "node:os";
import tty from "node:tty";
import { IS_DENO, stringify } from "../shared/intrinsics.ts";

/**
 * Modules of the runtime of which a flow gets the harmless part. `async_hooks` would hand out the
 * ports between thread and runner, `os` sets the priority of processes, `tty` opens the runner's
 * output, and a server of `http2` sends any open file of the process.
 */

const { constants } = os;

/**
 * Takes the rest out of the modules themselves, so that whoever gets hold of one has no more. Call
 * before any code of the flow is loaded, and tell the runtime of it (syncBuiltinESMExports). Deno's
 * modules are its own, and are held by its permissions.
 */
export function reduceBuiltins(): void {
  if (IS_DENO) return;
  keepOnly(asyncHooks, ["AsyncLocalStorage", "AsyncResource"]);
  keepOnly(os, []);
  keepOnly(tty, []);
}

/** Apart from the others: few flows need it, and it takes its time to load. */
export function reduceHttp2(http2: object): void {
  if (IS_DENO) return;
  for (const name of ["createServer", "createSecureServer", "performServerHandshake"])
    Reflect.set(http2, name, undefined);
}

/** What cannot be deleted are constants. */
function keepOnly(module: object, kept: readonly string[]): void {
  for (const name of Reflect.ownKeys(module))
    if (!kept.includes(String(name))) Reflect.deleteProperty(module, name);
}

/** Source text of what stands in place of a module, by its name; none of it imports anything. */
const SUBSTITUTES = {
  __proto__: null,
  process: toSource(
    "globalThis.process",
    "arch argv cwd emitWarning env exit hrtime memoryUsage nextTick on pid " +
      "platform stderr stdout uptime version versions",
  ),
  console: toSource("globalThis.console", "debug error info log warn"),
  os: toSource(
    describeSystem(),
    "EOL arch availableParallelism constants cpus endianness homedir hostname " +
      "platform release tmpdir type",
  ),
  tty: toSource("{ isatty: () => false }", "isatty"),
} as unknown as Readonly<Record<string, string>>;

/** The system as a flow may know it, as source text. */
function describeSystem(): string {
  const text = (value: unknown): string => JSON.stringify(value);
  return `{
    EOL: ${text(os.EOL)}, constants: systemConstants, cpus: () => [],
    arch: () => ${text(os.arch())}, endianness: () => ${text(os.endianness())},
    platform: () => ${text(os.platform())}, type: () => ${text(os.platform())},
    availableParallelism: () => ${os.availableParallelism()},
    release: () => "", hostname: () => "flowhook", homedir: () => "/", tmpdir: () => "/tmp",
  }`;
}

/** A module whose default export is a value, with some of its members by name. */
function toSource(value: string, names: string): string {
  const exported = names
    .split(" ")
    .map((name) => `export const ${name} = all.${name};`)
    .join("\n");
  return `const all = ${value};\n${exported}\nexport default all;\nexport { all as "module.exports" };\n`;
}

/** Source text of what stands in place of a module, or null where it is given itself. */
export function substituteOf(name: string): string | null {
  const found = SUBSTITUTES[name];
  if (found === undefined) return null;
  return name === "os" ? listConstants() + found : found;
}

/** Of the system, as source text: not before they are needed, few flows read them. */
function listConstants(): string {
  return `const freeze = (all) => Object.freeze(all) && Object.values(all).map(freeze) && all;
    const systemConstants = freeze(${stringify(constants)});\n`;
}
