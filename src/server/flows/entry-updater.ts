import { now } from "../../shared/clock.ts";
import type { Log } from "../../shared/log.ts";
import type { Debounce } from "./debounce.ts";
import type { Entry } from "./flow.ts";
import type { FlowError, Loader, Served } from "./loader.ts";
import type { FlowPaths } from "./paths.ts";
import type { FlowRegistry } from "./registry.ts";
import { QUIET_MS } from "./sources.ts";
import { isWhole } from "./version-folder.ts";
import type { Candidate } from "./version-source.ts";
import type { Versions } from "./versions.ts";

/** Files that change without pause are taken as they are after this time, in milliseconds. */
const RESTLESS_MAX_MS = 2000;
/** Longest pause between two tries of a version that cannot be imported, in milliseconds: 1 hour. */
const PAUSE_MAX_MS = 3_600_000;

export interface EntryUpdaterOptions {
  readonly registry: FlowRegistry;
  readonly loader: Loader;
  readonly versions: Versions;
  readonly log: Log;
  readonly debounce: Debounce;
  /** Where PLUGINS_DIR was at the last pass. */
  readonly paths: () => FlowPaths;
  /** First pause after a version that cannot be imported, in milliseconds. */
  readonly pauseMs: number;
}

/** Brings one flow at a time from what serves to what its candidate is. */
export class EntryUpdater {
  readonly #options: EntryUpdaterOptions;
  readonly #openedAt = now();
  #isStopped = false;

  constructor(options: EntryUpdaterOptions) {
    this.#options = options;
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** Remembers on disk what serves, for the next start. */
  remember(flow: string, version: string | null): void {
    const { versions, log, debounce } = this.#options;
    const work = versions.serve(flow, version).catch((error: unknown) => {
      log.warn({ flow, version, err: error }, "Cannot record which version serves");
    });
    debounce.during(work);
  }

  /** Takes a candidate up once it has come to rest, unless it has been seen before. */
  update(entry: Entry, candidate: Candidate): void {
    entry.goneSince = null;
    const isDue = entry.retryAt !== null && performance.now() >= entry.retryAt;
    if (entry.seen === candidate.key && !isDue) {
      entry.restless = null;
      return;
    }
    if (entry.seen !== candidate.key) entry.pause = this.#options.pauseMs;
    const rest = candidate.since + QUIET_MS - now();
    entry.restless ??= performance.now();
    // More than that is left where the clock was set back.
    if (rest > 0 && performance.now() - entry.restless < RESTLESS_MAX_MS)
      return this.#options.debounce.after(Math.min(rest, QUIET_MS));
    entry.restless = null;
    entry.retryAt = null;
    entry.seen = candidate.key;
    const take = this.#take(entry, candidate).catch((error: unknown) => {
      this.#options.log.error({ flow: entry.name, err: error }, "Cannot take up a flow");
    });
    this.#options.debounce.during(take);
  }

  /** A fault that shows without a look into the file. */
  async refuse(entry: Entry, message: string): Promise<void> {
    entry.goneSince = null;
    if (entry.seen === message) return;
    entry.seen = message;
    entry.attempt++;
    await this.#break(entry, { message, stack: null });
  }

  /** Whether an own file that is not there has come to rest so: it may be about to be replaced. */
  isGone(entry: Entry): boolean {
    if (entry.served === null || entry.served.node !== null) return true;
    entry.goneSince ??= performance.now();
    const rest = entry.goneSince + QUIET_MS - performance.now();
    if (rest > 0) this.#options.debounce.after(rest);
    return rest <= 0;
  }

  /** @returns whether a flow is gone with it */
  remove(entry: Entry): boolean {
    if (!this.isGone(entry)) return false;
    entry.attempt++;
    const wasFlow = this.#options.registry.find(entry.name) !== undefined;
    this.#options.registry.remove(entry);
    if (this.#options.versions.serving(entry.name) !== undefined) this.remember(entry.name, null);
    return wasFlow;
  }

  async #take(entry: Entry, candidate: Candidate): Promise<void> {
    const { registry, loader, debounce, paths } = this.#options;
    const attempt = ++entry.attempt;
    const taken = await loader.take(entry.name, paths(), candidate);
    if (attempt !== entry.attempt || this.#isStopped) return;
    if (taken.kind === "broken") return this.#break(entry, taken.error);
    if (taken.kind === "moved") {
      entry.seen = null;
      return debounce.after(QUIET_MS);
    }
    if (taken.kind === "flow")
      registry.serve(entry, taken.served, this.#tookSince(candidate.since));
    else registry.clear(entry);
    this.remember(entry.name, entry.served?.spec.version ?? null);
  }

  #tookSince(since: number): number | null {
    return since < this.#openedAt ? null : now() - since;
  }

  async #break(entry: Entry, error: FlowError): Promise<void> {
    if (error.retry === "soon") entry.seen = null;
    if (error.retry === "later") {
      entry.retryAt = performance.now() + entry.pause;
      entry.pause = Math.min(entry.pause * 6, PAUSE_MAX_MS);
    }
    const { attempt } = entry;
    const lastGood = entry.served ?? (await this.#servedBefore(entry));
    if (attempt === entry.attempt) this.#options.registry.break(entry, error, lastGood);
  }

  /** The version that served before a restart, where it is whole and today's limits allow it. */
  async #servedBefore({ name, node }: Entry): Promise<Served | null> {
    const { versions, loader, paths } = this.#options;
    const kept = versions.serving(name);
    if (kept === undefined) return null;
    try {
      const isKept = await isWhole(kept.directory, kept.entry, kept.version);
      return isKept ? loader.serve(name, paths(), kept, node) : null;
    } catch {
      return null;
    }
  }
}
