import { now } from "../../shared/clock.ts";
import type { Log } from "../../shared/log.ts";
import { readBundles } from "./bundles.ts";
import { closureOf, type Closure } from "./closure.ts";
import type { Entry } from "./flow.ts";
import { nameFault } from "./names.ts";
import { Pace } from "./pace.ts";
import type { Roster } from "./roster.ts";
import { findPlace, type Place } from "./place.ts";
import { scan } from "./scan.ts";
import { messageOf, QUIET_MS, SourceMoved, type Sources } from "./sources.ts";
import type { Fault, Served, TakeUp } from "./take-up.ts";
import { isWhole } from "./version-folder.ts";
import type { Versions } from "./versions.ts";

/** Files that change without pause are taken as they are after this time, in milliseconds. */
const RESTLESS_MAX_MS = 2000;
/** Between two looks without an event, in milliseconds. */
const LOOK_MS = 5000;
/** Longest pause between two tries of a version that cannot be imported, in milliseconds: 1 hour. */
const PAUSE_MAX_MS = 3_600_000;
/** Looking takes at most one part in so many of the time. */
const LOOK_SHARE = 100;

export interface FollowOptions {
  readonly plugins_dir: string;
  readonly data_dir: string;
  readonly roster: Roster;
  readonly sources: Sources;
  readonly takeUp: TakeUp;
  readonly versions: Versions;
  readonly log: Log;
  /** Between two looks without an event, in milliseconds; 5000 unless told. */
  readonly look_ms?: number | undefined;
}

/** Lets the roster follow what lies in PLUGINS_DIR. */
export class Follower {
  readonly pace = new Pace(() => this.#pass());
  readonly #options: FollowOptions;
  #place: Place;
  #nextLook: NodeJS.Timeout | undefined;
  #isStopped = false;

  private constructor(options: FollowOptions, place: Place) {
    this.#options = options;
    this.#place = place;
  }

  static async open(options: FollowOptions): Promise<Follower> {
    return new Follower(options, await findPlace(options.plugins_dir, options.data_dir));
  }

  /** Where PLUGINS_DIR was at the last pass. */
  get place(): Place {
    return this.#place;
  }

  /** Remembers on disk what serves, for the next start. */
  remember(flow: string, version: string | null): void {
    const work = this.#options.versions.serve(flow, version).catch((error: unknown) => {
      this.#options.log.warn({ flow, version, err: error }, "Cannot record which version serves");
    });
    this.pace.during(work);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#nextLook);
    this.#options.takeUp.stop();
    await this.pace.stop();
  }

  async #pass(): Promise<void> {
    const start = now();
    await this.#look().catch((error: unknown) => {
      this.#options.log.error({ err: error }, `Cannot scan PLUGINS_DIR: ${messageOf(error)}`);
    });
    if (!this.#isStopped) this.#lookAgain(now() - start);
  }

  async #look(): Promise<void> {
    const { plugins_dir, data_dir, roster, versions, sources, log } = this.#options;
    this.#place = await findPlace(plugins_dir, data_dir);
    const found = await scan(this.#place);
    roster.setBundles(await readBundles(this.#place.root, found.bundles, log));
    for (const [name, files] of found.flows) await this.#consider(roster.entry(name), files);
    for (const name of new Set([...roster.names(), ...versions.names()])) {
      if (!found.flows.has(name)) this.#remove(roster.entry(name));
    }
    sources.sweep();
  }

  /**
   * Events get lost: on network file systems, beyond the system's limit of watches, or where a
   * folder is swapped twice at once. What was broken for a passing reason gets its next try here.
   */
  #lookAgain(lookTook: number): void {
    clearTimeout(this.#nextLook);
    const wait = Math.max(this.#options.look_ms ?? LOOK_MS, lookTook * LOOK_SHARE);
    this.#nextLook = setTimeout(() => this.pace.immediately(), wait).unref();
  }

  async #consider(entry: Entry, files: readonly string[]): Promise<void> {
    entry.file = files[0] ?? entry.file;
    const wrong = nameFault(entry.name) ?? sharedName(entry.name, files);
    if (wrong !== null) return this.#wrong(entry, wrong);
    try {
      const closure = await closureOf(this.#options.sources, this.#place, entry.file);
      // A link to nothing, or deleted since the scan.
      if (closure === null) return this.#remove(entry);
      if (closure.isBlank && this.#wasFlow(entry)) {
        return this.#wrong(
          entry,
          `The file '${entry.file}' is empty; delete it to remove the flow`,
        );
      }
      this.#settled(entry, closure);
    } catch (error) {
      if (error instanceof SourceMoved) return this.pace.after(QUIET_MS);
      return this.#wrong(entry, messageOf(error));
    }
  }

  #wasFlow(entry: Entry): boolean {
    return entry.served !== null || this.#options.versions.serving(entry.name) !== undefined;
  }

  /** Takes a closure up once it has come to rest, unless it has been seen before. */
  #settled(entry: Entry, closure: Closure): void {
    const seen = JSON.stringify([this.#place.root, closure.entry, closure.version]);
    const isDue = entry.retryAt !== null && now() >= entry.retryAt;
    if (entry.seen === seen && !isDue) {
      entry.restless = null;
      return;
    }
    if (entry.seen !== seen) entry.pause = 2 * (this.#options.look_ms ?? LOOK_MS);
    const rest = closure.since + QUIET_MS - now();
    entry.restless ??= now();
    if (rest > 0 && now() - entry.restless < RESTLESS_MAX_MS) return this.pace.after(rest);
    entry.restless = null;
    entry.retryAt = null;
    entry.seen = seen;
    const take = this.#take(entry, closure).catch((error: unknown) => {
      this.#options.log.error({ flow: entry.name, err: error }, "Cannot take up a flow");
    });
    this.pace.during(take);
  }

  async #take(entry: Entry, closure: Closure): Promise<void> {
    const { roster, takeUp } = this.#options;
    const attempt = ++entry.attempt;
    const taken = await takeUp.take(entry.name, this.#place, closure);
    if (attempt !== entry.attempt || this.#isStopped) return;
    if (taken.kind === "broken") return this.#break(entry, taken.fault);
    if (taken.kind === "moved") {
      entry.seen = null;
      return this.pace.after(QUIET_MS);
    }
    if (taken.kind === "flow") roster.serve(entry, taken.served);
    else roster.clear(entry);
    this.remember(entry.name, entry.served?.spec.version ?? null);
  }

  /** A fault that shows without a look into the file. */
  async #wrong(entry: Entry, message: string): Promise<void> {
    if (entry.seen === message) return;
    entry.seen = message;
    entry.attempt++;
    await this.#break(entry, { message, stack: null });
  }

  async #break(entry: Entry, fault: Fault): Promise<void> {
    if (fault.retry === "soon") entry.seen = null;
    if (fault.retry === "later") {
      entry.retryAt = now() + entry.pause;
      entry.pause = Math.min(entry.pause * 6, PAUSE_MAX_MS);
    }
    const { attempt } = entry;
    const lastGood = entry.served ?? (await this.#servedBefore(entry.name));
    if (attempt === entry.attempt) this.#options.roster.break(entry, fault, lastGood);
  }

  /** The version that served before a restart, where it is whole and today's limits allow it. */
  async #servedBefore(flow: string): Promise<Served | null> {
    const kept = this.#options.versions.serving(flow);
    if (kept === undefined || !(await isWhole(kept.directory, kept.entry, kept.version)))
      return null;
    try {
      return this.#options.takeUp.serve(flow, this.#place, kept);
    } catch {
      return null;
    }
  }

  #remove(entry: Entry): void {
    entry.attempt++;
    this.#options.roster.remove(entry);
    if (this.#options.versions.serving(entry.name) !== undefined) this.remember(entry.name, null);
  }
}

function sharedName(name: string, files: readonly string[]): string | null {
  if (files.length < 2) return null;
  const all = files.map((file) => `'${file}'`).join(" and ");
  return `The files ${all} have the same flow name '${name}'; rename all but one`;
}
