import asyncHooks from "node:async_hooks";
import os from "node:os";
import tty from "node:tty";
import * as js from "../shared/intrinsics.ts";
import { refusing } from "./stand-ins.ts";

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
  if (js.IS_DENO) return;
  keepOnly(asyncHooks, ["AsyncLocalStorage", "AsyncResource"]);
  keepOnly(os, []);
  keepOnly(tty, []);
}

/** Apart from the others: few flows need it, and it takes its time to load. */
export function reduceHttp2(http2: object): void {
  if (js.IS_DENO) return;
  for (const name of ["createServer", "createSecureServer", "performServerHandshake"])
    Reflect.set(http2, name, undefined);
}

/** What cannot be deleted are constants. */
function keepOnly(module: object, kept: readonly string[]): void {
  for (const name of Reflect.ownKeys(module))
    if (!kept.includes(String(name))) Reflect.deleteProperty(module, name);
}

/** What stands in place of a module: source text of its default export, and the names beside it. */
interface Substitute {
  readonly value: string;
  /** With commas between them. */
  readonly names: string;
  /** Of functions and classes that throw when they are called. */
  readonly refused?: string;
}

/** By the name of the module; none of it imports anything. The process lacks what it never has in a flow. */
const SUBSTITUTES = {
  __proto__: null,
  process: {
    value: "globalThis.process",
    names: `
      abort, addUncaughtExceptionCaptureCallback, allowedNodeEnvironmentFlags, arch, argv, argv0,
      availableMemory, binding, chdir, config, constrainedMemory, cpuUsage, cwd, debugPort, dlopen,
      domain, emitWarning, env, execArgv, execPath, execve, exit, exitCode, features, finalization,
      getActiveResourcesInfo, getBuiltinModule, getegid, geteuid, getgid, getgroups, getuid,
      hasUncaughtExceptionCaptureCallback, hrtime, initgroups, kill, loadEnvFile, memoryUsage,
      moduleLoadList, nextTick, on, openStdin, pid, platform, ppid, reallyExit, ref, release, report,
      resourceUsage, setSourceMapsEnabled, setUncaughtExceptionCaptureCallback, setegid, seteuid,
      setgid, setgroups, setuid, sourceMapsEnabled, stderr, stdin, stdout, threadCpuUsage, title,
      umask, unref, uptime, version, versions`,
  },
  console: {
    value: "globalThis.console",
    names: `
      Console, assert, clear, context, count, countReset, createTask, debug, dir, dirxml, error, group,
      groupCollapsed, groupEnd, info, log, profile, profileEnd, table, time, timeEnd, timeLog,
      timeStamp, trace, warn`,
  },
  os: {
    value: describeSystem(),
    names: `
      EOL, arch, availableParallelism, constants, cpus, devNull, endianness, homedir, hostname,
      platform, release, tmpdir, type`,
    refused: `
      freemem, getPriority, loadavg, machine, networkInterfaces, setPriority, totalmem, uptime,
      userInfo, version`,
  },
  tty: { value: "{ isatty: () => false }", names: "isatty", refused: "ReadStream, WriteStream" },
} as unknown as Readonly<Record<string, Substitute>>;

/** The system as a flow may know it, as source text. */
function describeSystem(): string {
  const text = (value: unknown): string => JSON.stringify(value);
  return `{
    EOL: ${text(os.EOL)}, devNull: ${text(os.devNull)}, constants: systemConstants, cpus: () => [],
    arch: () => ${text(os.arch())}, endianness: () => ${text(os.endianness())},
    platform: () => ${text(os.platform())}, type: () => ${text(os.platform())},
    availableParallelism: () => ${os.availableParallelism()},
    release: () => "", hostname: () => "flowhook", homedir: () => "/", tmpdir: () => "/tmp",
  }`;
}

/** Source text of what stands in place of a module, or null where it is given itself. */
export function substituteOf(name: string): string | null {
  const found = SUBSTITUTES[name];
  if (found === undefined) return null;
  const { value, names, refused } = found;
  const all = refused === undefined ? value : refusing(name, refused, value);
  const exported = refused === undefined ? names : `${names}, ${refused}`;
  return `${name === "os" ? listConstants() : ""}const all = ${all};
    export const { ${exported} } = all;
    export default all;
    export { all as "module.exports" };`;
}

/** Of the system, as source text: not before they are needed, few flows read them. */
function listConstants(): string {
  return `const freeze = (all) => Object.freeze(all) && Object.values(all).map(freeze) && all;
    const systemConstants = freeze(${js.stringify(constants)});\n`;
}
