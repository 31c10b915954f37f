import * as js from "../shared/intrinsics.ts";
import type { Grants } from "../shared/wire/protocol.ts";

/** Which of the runtime's own modules a flow can import, and what it must be granted for them. */

/** What a flow can be granted. */
export type Grantable = "files" | "net";

/** `package`: packages alone get it. */
export type Need = "none" | Grantable | "package" | "never";

/** Of modules by their names without `node:`; no flow gets others. */
const NEEDS: readonly (readonly [need: Need, names: readonly string[]])[] = [
  // These reach nothing but the flow's own thread.
  [
    "none",
    (
      "assert assert/strict buffer constants crypto diagnostics_channel events path path/posix " +
      "path/win32 perf_hooks punycode querystring readline readline/promises stream " +
      "stream/consumers stream/promises stream/web string_decoder sys timers timers/promises url " +
      "util util/types zlib"
    ).split(" "),
  ],
  // Of these a flow gets a part; see reduced-builtins.ts.
  ["none", ["async_hooks", "console", "os", "process", "tty"]],
  // Each module of the older format has it as module.constructor; see loader.ts.
  [js.IS_DENO ? "never" : "package", ["module"]],
  ["files", ["fs", "fs/promises"]],
  ["net", "dgram dns dns/promises http http2 https net tls".split(" ")],
];

/** What a flow must be granted to import a module. @param name without `node:` */
export function needOf(name: string): Need {
  return (
    js.firstOf(NEEDS, ({ 0: need, 1: names }) => (js.contains(names, name) ? need : null)) ??
    "never"
  );
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
