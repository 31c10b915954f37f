import { IS_DENO } from "../shared/intrinsics.ts";
import type { Grants } from "../shared/wire/protocol.ts";

/** Which of the runtime's own modules a flow can import, and what it must be granted for them. */

/** What a flow can be granted. */
export type Grantable = "files" | "net";

/** `package`: packages alone get it. */
export type Need = "none" | Grantable | "package" | "never";

/** Without a prototype: a name that is not here is not found by way of one that a flow changed. */
const NEEDS = {
  __proto__: null,
  // These reach nothing but the flow's own thread.
  assert: "none",
  "assert/strict": "none",
  buffer: "none",
  constants: "none",
  crypto: "none",
  diagnostics_channel: "none",
  events: "none",
  path: "none",
  "path/posix": "none",
  "path/win32": "none",
  perf_hooks: "none",
  punycode: "none",
  querystring: "none",
  readline: "none",
  "readline/promises": "none",
  stream: "none",
  "stream/consumers": "none",
  "stream/promises": "none",
  "stream/web": "none",
  string_decoder: "none",
  sys: "none",
  timers: "none",
  "timers/promises": "none",
  url: "none",
  util: "none",
  "util/types": "none",
  zlib: "none",
  // Of these a flow gets a part; see reduced-builtins.ts.
  async_hooks: "none",
  console: "none",
  os: "none",
  process: "none",
  tty: "none",
  // Each module of the older format has it as module.constructor; see loader.ts.
  module: IS_DENO ? "never" : "package",
  fs: "files",
  "fs/promises": "files",
  dgram: "net",
  dns: "net",
  "dns/promises": "net",
  http: "net",
  http2: "net",
  https: "net",
  net: "net",
  tls: "net",
} as unknown as Readonly<Record<string, Need>>;

/** What a flow must be granted to import a module. @param name without `node:` */
export function needOf(name: string): Need {
  return NEEDS[name] ?? "never";
}

/** Whether a flow was granted a need, or declares it. */
export function isGranted({ net, read, write }: Omit<Grants, "secrets">, need: Grantable): boolean {
  return need === "net" ? net : read.length + write.length > 0;
}

/** Why a flow that is only imported, to learn what it declares, is refused what it may declare. */
export const TOO_EARLY =
  "at its top level a flow has no permissions yet, whatever it declares: " +
  "do it when the flow runs, or on first use";

/** The line that an author adds to be granted a need. */
export function lineFor(need: Grantable): string {
  return need === "net" ? "permissions: { net: true }" : 'permissions: { read: ["/path"] }';
}
