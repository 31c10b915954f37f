import { now } from "../../shared/clock.ts";
import type { Log } from "../../shared/log.ts";
import { readBundles } from "./bundles.ts";
import { closureOf, type Closure } from "./closure.ts";
import type { Entry } from "./flow.ts";
import { describeExtension } from "./misplaced.ts";
import { nameError } from "./names.ts";
import { Debounce } from "./debounce.ts";
import type { FlowRegistry } from "./registry.ts";
import { findPaths, type FlowPaths } from "./paths.ts";
import { scan, type Scan } from "./scan.ts";
import { messageOf, QUIET_MS, SourceMovedError, type Sources } from "./sources.ts";
import type { FlowError, Served, Loader } from "./loader.ts";
import { isWhole } from "./version-folder.ts";
import type { Versions } from "./versions.ts";

/** Files that change without pause are taken as they are after this time, in milliseconds. */
const RESTLESS_MAX_MS = 2000;
/** Between two scans without an event, in milliseconds. */
const POLL_MS = 5000;
/** Longest pause between two tries of a version that cannot be imported, in milliseconds: 1 hour. */
const PAUSE_MAX_MS = 3_600_000;
/** Scanning takes at most one part in so many of the time. */
const SCAN_SHARE = 100;

export interface FolderSyncOptions {
  readonly plugins_dir: string;
  readonly dataDir: string;
  readonly registry: FlowRegistry;
  readonly sources: Sources;
  readonly loader: Loader;
  readonly versions: Versions;
  readonly log: Log;
  /** Between two scans without an event, in milliseconds; 5000 unless told. */
  readonly pollMs?: number | undefined;
}

/** What one look at the folder gathers before it judges. */
interface Pass {
  /** Files that flows import. */
  readonly imported: Set<string>;
  readonly mistaken: {
    readonly entry: Entry;
    readonly closure: Closure;
    readonly mistake: string;
  }[];
}

/** Lets the registry follow what lies in PLUGINS_DIR. */
export class FolderSync {
  readonly debounce = new Debounce(() => this.#pass());
  readonly #options: FolderSyncOptions;
  readonly #openedAt = now();
  #paths: FlowPaths;
  #nextScan: NodeJS.Timeout | undefined;
  #isStopped = false;

  private constructor(options: FolderSyncOptions, paths: FlowPaths) {
    this.#options = options;
    this.#paths = paths;
  }

  static async open(options: FolderSyncOptions): Promise<FolderSync> {
    return new FolderSync(options, await findPaths(options.plugins_dir, options.dataDir));
  }

  /** Where PLUGINS_DIR was at the last pass. */
  get paths(): FlowPaths {
    return this.#paths;
  }

  /** Remembers on disk what serves, for the next start. */
  remember(flow: string, version: string | null): void {
    const work = this.#options.versions.serve(flow, version).catch((error: unknown) => {
      this.#options.log.warn({ flow, version, err: error }, "Cannot record which version serves");
    });
    this.debounce.during(work);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#nextScan);
    this.#options.loader.stop();
    await this.debounce.stop();
  }

  async #pass(): Promise<void> {
    const start = now();
    await this.#scan().catch((error: unknown) => {
      this.#options.log.error({ err: error }, `Cannot scan PLUGINS_DIR: ${messageOf(error)}`);
    });
    if (!this.#isStopped) this.#scanAgain(now() - start);
  }

  async #scan(): Promise<void> {
    const { plugins_dir, dataDir, registry, versions, sources, log } = this.#options;
    this.#paths = await findPaths(plugins_dir, dataDir);
    const found = await scan(this.#paths);
    registry.setBundles(await readBundles(this.#paths.root, found.bundles, log));
    const pass: Pass = { imported: new Set(), mistaken: [] };
    for (const [name, files] of found.flows)
      await this.#consider(registry.entry(name), files, pass);
    const misplaced = await this.#takeMisplaced(found, pass);
    for (const name of new Set([...registry.names(), ...versions.names()])) {
      if (!found.flows.has(name) && !misplaced.has(name)) this.#remove(registry.entry(name));
    }
    sources.sweep();
  }

  /**
   * What was meant as a flow and is none, unless a flow imports it, is listed as broken.
   * @returns the names of those with another extension
   */
  async #takeMisplaced(found: Scan, { imported, mistaken }: Pass): Promise<Set<string>> {
    const { registry } = this.#options;
    for (const { entry, closure, mistake } of mistaken) {
      if (imported.has(entry.file)) this.#settled(entry, closure);
      else await this.#wrong(entry, mistake);
    }
    const others = [...found.misplaced].filter(
      ([name, file]) => !found.flows.has(name) && !imported.has(file),
    );
    for (const [name, file] of others) {
      const entry = registry.entry(name);
      entry.file = file;
      await this.#wrong(entry, nameError(name) ?? describeExtension(file));
    }
    return new Set(others.map(([name]) => name));
  }

  /**
   * Events get lost: on network file systems, beyond the system's limit of watches, or where a
   * folder is swapped twice at once. What was broken for a passing reason gets its next try here.
   */
  #scanAgain(scanTook: number): void {
    clearTimeout(this.#nextScan);
    const wait = Math.max(this.#options.pollMs ?? POLL_MS, scanTook * SCAN_SHARE);
    this.#nextScan = setTimeout(() => this.debounce.immediately(), wait).unref();
  }

  async #consider(entry: Entry, files: readonly string[], pass: Pass): Promise<void> {
    entry.file = files[0] ?? entry.file;
    const wrong = nameError(entry.name) ?? sharedName(entry.name, files);
    if (wrong !== null) return this.#wrong(entry, wrong);
    try {
      const closure = await closureOf(this.#options.sources, this.#paths, entry.file);
      // A link to nothing, or deleted since the scan.
      if (closure === null) return this.#remove(entry);
      if (closure.isBlank && this.#wasFlow(entry)) {
        return this.#wrong(
          entry,
          `The file '${entry.file}' is empty; delete it to remove the flow`,
        );
      }
      for (const { path } of closure.files) if (path !== entry.file) pass.imported.add(path);
      const { mistake } = closure;
      if (mistake === null) this.#settled(entry, closure);
      else pass.mistaken.push({ entry, closure, mistake });
    } catch (error) {
      if (error instanceof SourceMovedError) return this.debounce.after(QUIET_MS);
      return this.#wrong(entry, messageOf(error));
    }
  }

  #wasFlow(entry: Entry): boolean {
    return entry.served !== null || this.#options.versions.serving(entry.name) !== undefined;
  }

  /** Takes a closure up once it has come to rest, unless it has been seen before. */
  #settled(entry: Entry, closure: Closure): void {
    const seen = JSON.stringify([this.#paths.root, closure.entry, closure.version]);
    const isDue = entry.retryAt !== null && now() >= entry.retryAt;
    if (entry.seen === seen && !isDue) {
      entry.restless = null;
      return;
    }
    if (entry.seen !== seen) entry.pause = 2 * (this.#options.pollMs ?? POLL_MS);
    const rest = closure.since + QUIET_MS - now();
    entry.restless ??= now();
    if (rest > 0 && now() - entry.restless < RESTLESS_MAX_MS) return this.debounce.after(rest);
    entry.restless = null;
    entry.retryAt = null;
    entry.seen = seen;
    const take = this.#take(entry, closure).catch((error: unknown) => {
      this.#options.log.error({ flow: entry.name, err: error }, "Cannot take up a flow");
    });
    this.debounce.during(take);
  }

  async #take(entry: Entry, closure: Closure): Promise<void> {
    const { registry, loader } = this.#options;
    const attempt = ++entry.attempt;
    const taken = await loader.take(entry.name, this.#paths, closure);
    if (attempt !== entry.attempt || this.#isStopped) return;
    if (taken.kind === "broken") return this.#break(entry, taken.error);
    if (taken.kind === "moved") {
      entry.seen = null;
      return this.debounce.after(QUIET_MS);
    }
    if (taken.kind === "flow") registry.serve(entry, taken.served, this.#tookSince(closure.since));
    else registry.clear(entry);
    this.remember(entry.name, entry.served?.spec.version ?? null);
  }

  #tookSince(since: number): number | null {
    return since < this.#openedAt ? null : now() - since;
  }

  /** A fault that shows without a look into the file. */
  async #wrong(entry: Entry, message: string): Promise<void> {
    if (entry.seen === message) return;
    entry.seen = message;
    entry.attempt++;
    await this.#break(entry, { message, stack: null });
  }

  async #break(entry: Entry, error: FlowError): Promise<void> {
    if (error.retry === "soon") entry.seen = null;
    if (error.retry === "later") {
      entry.retryAt = now() + entry.pause;
      entry.pause = Math.min(entry.pause * 6, PAUSE_MAX_MS);
    }
    const { attempt } = entry;
    const lastGood = entry.served ?? (await this.#servedBefore(entry.name));
    if (attempt === entry.attempt) this.#options.registry.break(entry, error, lastGood);
  }

  /** The version that served before a restart, where it is whole and today's limits allow it. */
  async #servedBefore(flow: string): Promise<Served | null> {
    const kept = this.#options.versions.serving(flow);
    if (kept === undefined || !(await isWhole(kept.directory, kept.entry, kept.version)))
      return null;
    try {
      return this.#options.loader.serve(flow, this.#paths, kept);
    } catch {
      return null;
    }
  }

  #remove(entry: Entry): void {
    entry.attempt++;
    this.#options.registry.remove(entry);
    if (this.#options.versions.serving(entry.name) !== undefined) this.remember(entry.name, null);
  }
}

function sharedName(name: string, files: readonly string[]): string | null {
  if (files.length < 2) return null;
  const all = files.map((file) => `'${file}'`).join(" and ");
  return `The files ${all} have the same flow name '${name}'; rename all but one`;
}
