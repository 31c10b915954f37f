/** Which of the runtime's own modules a flow can import, and what it needs for them. */

/** Reach nothing but the flow's own thread. */
const HARMLESS = new Set([
  "assert",
  "assert/strict",
  "buffer",
  "constants",
  "crypto",
  "diagnostics_channel",
  "events",
  "path",
  "path/posix",
  "path/win32",
  "perf_hooks",
  "punycode",
  "querystring",
  "readline",
  "readline/promises",
  "stream",
  "stream/consumers",
  "stream/promises",
  "stream/web",
  "string_decoder",
  "timers",
  "timers/promises",
  "url",
  "util",
  "util/types",
  "zlib",
]);

const FILES = new Set(["fs", "fs/promises"]);
const NETWORK = new Set(["dgram", "dns", "dns/promises", "http", "http2", "https", "net", "tls"]);

/**
 * Modules of which a flow gets the harmless part: source text of what stands in their place.
 * The whole of async_hooks would hand out the ports between thread and runner; os sets the
 * priority of processes and tty opens the runner's output.
 */
const REDUCED: Readonly<Record<string, string>> = {
  process: reduced("const all = globalThis.process;", [
    "arch",
    "argv",
    "cwd",
    "emitWarning",
    "env",
    "exit",
    "hrtime",
    "memoryUsage",
    "nextTick",
    "on",
    "pid",
    "platform",
    "stderr",
    "stdout",
    "uptime",
    "version",
    "versions",
  ]),
  console: reduced("const all = globalThis.console;", ["debug", "error", "info", "log", "warn"]),
  async_hooks: reduced(
    'import { AsyncLocalStorage as A, AsyncResource as R } from "node:async_hooks";' +
      "const all = { AsyncLocalStorage: A, AsyncResource: R };",
    ["AsyncLocalStorage", "AsyncResource"],
  ),
  os: reduced(
    'import { EOL as E, endianness as e, availableParallelism as p } from "node:os";' +
      "const { platform: name, arch: machine } = globalThis.process;" +
      "const all = { EOL: E, endianness: e, availableParallelism: p, platform: () => name, arch: () => machine," +
      ' type: () => name, release: () => "", hostname: () => "flowhook", homedir: () => "/", tmpdir: () => "/tmp",' +
      " cpus: () => [], constants: {} };",
    [
      "EOL",
      "arch",
      "availableParallelism",
      "constants",
      "cpus",
      "endianness",
      "homedir",
      "hostname",
      "platform",
      "release",
      "tmpdir",
      "type",
    ],
  ),
  tty: reduced("const all = { isatty: () => false };", ["isatty"]),
};

/** @param setup declares `all`; the names are its members. */
function reduced(setup: string, names: readonly string[]): string {
  const exported = names.map((name) => `export const ${name} = all.${name};`).join("\n");
  return `${setup}\n${exported}\nexport default all;\nexport { all as "module.exports" };\n`;
}

export type Need = "none" | "files" | "net" | "never";

/** What a flow must be granted to import a module. @param name without `node:` */
export function needOf(name: string): Need {
  if (HARMLESS.has(name) || Object.hasOwn(REDUCED, name)) return "none";
  if (FILES.has(name)) return "files";
  return NETWORK.has(name) ? "net" : "never";
}

/** Source text of what stands in place of a module, or null where it is given whole. */
export function substituteOf(name: string): string | null {
  return Object.hasOwn(REDUCED, name) ? (REDUCED[name] ?? null) : null;
}

/** The line that an author adds to be granted a need. */
export function lineFor(need: "files" | "net"): string {
  return need === "net" ? "permissions: { net: true }" : 'permissions: { read: ["/path"] }';
}
