import type { Log } from "../../shared/log.ts";
import type { Bundle } from "./bundles.ts";
import { newEntry, toFlow, type Entry, type Flow } from "./flow.ts";
import type { FlowError, Served } from "./loader.ts";

export interface FlowRegistryOptions {
  /** Limit of a flow that declares none, in milliseconds. */
  readonly timeoutMs: number;
  retire(key: string): void;
  onChange?(flow: Flow): void;
  readonly log: Log;
}

/** For how long a version that cannot run is not tried again, in milliseconds: a package may come. */
const BROKEN_MS = 60_000;
/** Of so many that is known; of more, the oldest are tried again. */
const MOST_BROKEN = 1000;

/** Which version of each flow serves. Every change is one step: callers see before or after. */
export class FlowRegistry {
  readonly #options: FlowRegistryOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #flows = new Map<string, Flow>();
  /** Versions that the runner gave up. */
  readonly #givenUp = new Set<string>();
  /** Versions that executions name and that cannot run: since when, as performance.now(). */
  readonly #broken = new Map<string, number>();
  #sorted: readonly Flow[] | null = null;
  #bundles: readonly Bundle[] = [];

  constructor(options: FlowRegistryOptions) {
    this.#options = options;
  }

  find(name: string): Flow | undefined {
    return this.#flows.get(name);
  }

  list(): readonly Flow[] {
    this.#sorted ??= [...this.#flows.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
    return this.#sorted;
  }

  bundles(): readonly Bundle[] {
    return this.#bundles;
  }

  setBundles(bundles: readonly Bundle[]): void {
    if (JSON.stringify(bundles) === JSON.stringify(this.#bundles)) return;
    this.#bundles = bundles;
    for (const entry of this.#entries.values()) this.#publish(entry);
  }

  names(): readonly string[] {
    return [...this.#entries.keys()];
  }

  /** Path of the file that gives a flow here; undefined: it is not known, or another node's. */
  ownFile(name: string): string | undefined {
    const entry = this.#entries.get(name);
    return entry?.node === null && entry.file !== "" ? entry.file : undefined;
  }

  entries(): Iterable<Entry> {
    return this.#entries.values();
  }

  entry(name: string): Entry {
    const entry = this.#entries.get(name) ?? newEntry(name);
    this.#entries.set(name, entry);
    return entry;
  }

  /**
   * The newest version is good and serves from now on.
   * @param duration_ms from its last change until now; null where it was there before the start
   */
  serve(entry: Entry, served: Served, duration_ms: number | null): void {
    this.#replace(entry, served, null);
    const { key, version } = served.spec;
    this.#givenUp.delete(key);
    this.#broken.delete(key);
    const took = duration_ms === null ? {} : { duration_ms };
    const from = served.node === null ? "" : `, from node "${served.node}"`;
    this.#options.log.info({ flow: entry.name, version, ...took }, `Flow is ready${from}`);
  }

  /** The newest version is broken; what is given as good serves. */
  break(entry: Entry, error: FlowError, lastGood: Served | null): void {
    const isKnown = entry.error?.message === error.message && entry.served === lastGood;
    if (isKnown) return;
    this.#replace(entry, lastGood, error);
    const { name, file, served } = entry;
    const serving = served === null ? "nothing serves it" : `version ${served.spec.version} serves`;
    this.#options.log.error(
      { flow: name, file, stack: error.stack },
      `Flow is broken, ${serving}: ${error.message}`,
    );
  }

  /** The file has no flow, or none any longer. */
  clear(entry: Entry): void {
    this.#replace(entry, null, null);
  }

  /** The file is gone. */
  remove(entry: Entry): void {
    this.#replace(entry, null, null);
    this.#entries.delete(entry.name);
  }

  /** The runner gave a version up. Gives the entry that it served, null where none. */
  giveUp(key: string, message: string): Entry | null {
    this.#givenUp.add(key);
    const serving = [...this.#entries.values()].find((entry) => entry.served?.spec.key === key);
    if (serving === undefined) return null;
    this.break(serving, { message, stack: null, isGivenUp: true }, null);
    return serving;
  }

  isGivenUp(key: string): boolean {
    return this.#givenUp.has(key);
  }

  /** A version that does not serve cannot run now, and need not be tried for each execution. */
  noteBroken(key: string): void {
    const broken = this.#broken;
    broken.delete(key);
    broken.set(key, performance.now());
    if (broken.size > MOST_BROKEN) broken.delete(broken.keys().next().value as string);
  }

  isBroken(key: string): boolean {
    return performance.now() - (this.#broken.get(key) ?? -Infinity) < BROKEN_MS;
  }

  /** Versions of a flow. @see isGivenUp, isBroken */
  listBroken(flow: string): string[] {
    const keys = [
      ...this.#givenUp,
      ...[...this.#broken.keys()].filter((key) => this.isBroken(key)),
    ];
    const prefix = `${flow}@`;
    return keys.flatMap((key) => (key.startsWith(prefix) ? key.slice(prefix.length) : []));
  }

  /** What was stored again may be what could not be used before. */
  forgetBroken(): void {
    this.#broken.clear();
  }

  /** Another chance for everything that is broken. */
  forgive(): void {
    this.#givenUp.clear();
    this.forgetBroken();
    for (const entry of this.#entries.values()) if (entry.error !== null) entry.seen = null;
  }

  #replace(entry: Entry, served: Served | null, error: FlowError | null): void {
    const old = entry.served;
    entry.served = served;
    entry.error = error;
    this.#publish(entry);
    const isSame =
      old?.spec.key === served?.spec.key && old?.spec.plugins_dir === served?.spec.plugins_dir;
    if (old !== null && !isSame) this.#options.retire(old.spec.key);
  }

  #publish(entry: Entry): void {
    const before = this.#flows.get(entry.name);
    const flow = toFlow(entry, this.#bundles, this.#options.timeoutMs);
    if (flow === null) this.#flows.delete(entry.name);
    else this.#flows.set(entry.name, flow);
    this.#sorted = null;
    if (flow === null && before !== undefined) {
      this.#options.log.info({ flow: entry.name }, "Flow is gone");
    }
    const changed = flow ?? before;
    if (changed !== undefined) this.#options.onChange?.(changed);
  }
}
