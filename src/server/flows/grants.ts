import { resolve } from "node:path";
import { isInside, toRealPath } from "../../shared/path.ts";
import type { Declaration } from "../../shared/manifest.ts";
import type { Grants } from "../../shared/wire/protocol.ts";

/** The most that a flow can be granted: ALLOW_*, FLOW_TIMEOUT_* and FLOW_MEMORY_MB. */
export interface Limits {
  readonly allow: {
    readonly net: boolean;
    /** Files and folders; relative ones are relative to PLUGINS_DIR. */
    readonly read: readonly string[];
    readonly write: readonly string[];
  };
  /** Limit of a flow that declares none. */
  readonly timeoutMs: number;
  /** Most that a flow may declare. */
  readonly timeoutMaxMs: number;
  /** Heap of a flow that declares none; a flow may declare at most four times as much. */
  readonly memory_mb: number;
}

/** How a flow runs: what it declared, as far as it was granted. */
export interface Allotment {
  readonly grants: Grants;
  readonly timeoutMs: number;
  readonly memory_mb: number;
}

/**
 * Grants what a flow declares. All or nothing: a flow that asks for more than the operator
 * allows is broken, because one that runs with less would fail later, and less clearly.
 * @throws {Error} naming what was asked for and the key of the configuration that allows it.
 */
export function allot(manifest: Declaration, limits: Limits, pluginsDir: string): Allotment {
  const { permissions } = manifest;
  if (permissions.net && !limits.allow.net) {
    throw new Error("The flow asks for the network, and ALLOW_NET is false");
  }
  const read = paths("read", permissions.read, limits.allow.read, pluginsDir);
  const write = paths("write", permissions.write, limits.allow.write, pluginsDir);
  const grants = { net: permissions.net, read, write, secrets: permissions.secrets };
  return { grants, timeoutMs: timeoutOf(manifest, limits), memory_mb: memoryOf(manifest, limits) };
}

function paths(
  act: "read" | "write",
  asked: readonly string[],
  allowed: readonly string[],
  pluginsDir: string,
): string[] {
  const folders = allowed.map((path) => toRealPath(resolve(pluginsDir, path)));
  return asked.map((path) => {
    const absolute = resolve(pluginsDir, path);
    // Compared behind all links, so that a link in an allowed folder leads nowhere else.
    const real = toRealPath(absolute);
    if (folders.some((folder) => isInside(folder, real))) return absolute;
    const key = `ALLOW_${act.toUpperCase()}`;
    throw new Error(
      `The flow asks to ${act} '${path}', which is not inside ${key}. That key of the configuration ` +
        `lists what flows may ${act}: add the path there (flowhook.yaml or FLOWHOOK_${key}), and restart`,
    );
  });
}

function timeoutOf(manifest: Declaration, limits: Limits): number {
  if (manifest.timeout_sec === null) return limits.timeoutMs;
  const asked = manifest.timeout_sec * 1000;
  if (asked <= limits.timeoutMaxMs) return Math.max(1, Math.round(asked));
  throw new Error(
    `The flow asks for timeout_sec ${manifest.timeout_sec}, and FLOW_TIMEOUT_MAX_SEC is ${limits.timeoutMaxMs / 1000}`,
  );
}

function memoryOf(manifest: Declaration, limits: Limits): number {
  const most = limits.memory_mb * 4;
  if (manifest.memory_mb === null) return limits.memory_mb;
  if (manifest.memory_mb <= most) return manifest.memory_mb;
  throw new Error(
    `The flow asks for memory_mb ${manifest.memory_mb}, and four times FLOW_MEMORY_MB is ${most}`,
  );
}
