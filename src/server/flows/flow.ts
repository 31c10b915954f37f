import type { Manifest } from "../../shared/manifest.ts";
import type { FlowSpec } from "../../shared/wire/protocol.ts";
import { bundleOf, type Bundle } from "./bundles.ts";
import type { FlowError, Served } from "./loader.ts";

/** A flow as the rest of the service sees it: a value that is replaced, never changed. */
export interface Flow {
  readonly name: string;
  readonly description: string | null;
  /** `broken`: the newest version cannot run; an older one may serve all the same. */
  readonly state: "ready" | "broken";
  /** Why the newest version is broken; stack with paths relative to the version folder. */
  readonly error: { readonly message: string; readonly stack: string | null } | null;
  /** The version that serves: the last good one; null where there is none. */
  readonly version: string | null;
  /** How to run it. */
  readonly spec: FlowSpec | null;
  readonly manifest: Manifest | null;
  /** Longest run in milliseconds: what the flow declares, otherwise FLOW_TIMEOUT_SEC. */
  readonly timeoutMs: number;
  /** Name of the bundle that it belongs to. */
  readonly bundle: string | null;
  /** Path of its file relative to PLUGINS_DIR, parts joined by `/`. */
  readonly file: string;
  /** Name of the node whose folder it comes from; null: this one's own. */
  readonly node: string | null;
}

/** What is known about one name. */
export interface Entry {
  readonly name: string;
  file: string;
  /** Name of the node whose folder the newest version is from; null: this one's own. */
  node: string | null;
  /** What was taken up, or found wrong, last. */
  seen: string | null;
  served: Served | null;
  error: FlowError | null;
  /** Whether other flows import its file. */
  isImported: boolean;
  /** Since when its files have not come to rest, as performance.now(). */
  restless: number | null;
  /** Since when its own file has not been there, as performance.now(); null: it is. */
  goneSince: number | null;
  /** When to try again though nothing changed, as performance.now(); null: never. */
  retryAt: number | null;
  /** Milliseconds until then, the next time. */
  pause: number;
  /** Counts attempts, so that an older one that ends later changes nothing. */
  attempt: number;
}

export function newEntry(name: string): Entry {
  const nothing = { seen: null, served: null, error: null, isImported: false };
  const times = { restless: null, goneSince: null, retryAt: null };
  return { name, file: "", node: null, ...nothing, ...times, pause: 0, attempt: 0 };
}

/** The flow of an entry; null where there is none: nothing taken up yet, or a module. */
export function toFlow(entry: Entry, bundles: readonly Bundle[], timeoutMs: number): Flow | null {
  const { name, file, node, served, error } = entry;
  if (served === null && error === null) return null;
  return {
    name,
    description: served?.manifest.description ?? null,
    state: error === null ? "ready" : "broken",
    error: error === null ? null : { message: error.message, stack: error.stack },
    version: served?.spec.version ?? null,
    spec: served?.spec ?? null,
    manifest: served?.manifest ?? null,
    timeoutMs: served?.timeoutMs ?? timeoutMs,
    bundle: bundleOf(file, bundles),
    file,
    node: served === null ? node : served.node,
  };
}
