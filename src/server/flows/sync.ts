import { now } from "../../shared/clock.ts";
import type { Log } from "../../shared/log.ts";
import { readBundles, type Bundle } from "./bundles.ts";
import { closureOf, type Closure } from "./closure.ts";
import { Debounce } from "./debounce.ts";
import { EntryUpdater } from "./entry-updater.ts";
import type { Entry } from "./flow.ts";
import type { Loader } from "./loader.ts";
import { describeExtension } from "./misplaced.ts";
import { nameError } from "./names.ts";
import type { Offer, Offers } from "./offers.ts";
import { findPaths, type FlowPaths } from "./paths.ts";
import type { FlowRegistry } from "./registry.ts";
import { scan, type Scan } from "./scan.ts";
import { messageOf, QUIET_MS, SourceMovedError, type Sources } from "./sources.ts";
import { VersionRefusedError, type Candidate } from "./version-source.ts";
import type { Versions } from "./versions.ts";

/** Between two scans without an event, in milliseconds. */
const POLL_MS = 5000;
/** Scanning takes at most one part in so many of the time. */
const SCAN_SHARE = 100;

export interface FolderSyncOptions {
  readonly plugins_dir: string;
  readonly dataDir: string;
  readonly registry: FlowRegistry;
  readonly sources: Sources;
  readonly loader: Loader;
  readonly versions: Versions;
  /** Of other nodes; null without any. */
  readonly offers: Offers | null;
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

/** Lets the registry follow what lies in PLUGINS_DIR, and what other nodes offer beside it. */
export class FolderSync {
  readonly debounce = new Debounce(() => this.#pass());
  readonly #options: FolderSyncOptions;
  readonly #updater: EntryUpdater;
  #paths: FlowPaths;
  #nextScan: NodeJS.Timeout | undefined;
  #isStopped = false;

  private constructor(options: FolderSyncOptions, paths: FlowPaths) {
    this.#options = options;
    this.#paths = paths;
    this.#updater = new EntryUpdater({
      ...options,
      debounce: this.debounce,
      paths: () => this.#paths,
      pauseMs: 2 * (options.pollMs ?? POLL_MS),
    });
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
    this.#updater.remember(flow, version);
  }

  /** Other nodes offer something else, which may be what could not be borrowed before. */
  offersChanged(): void {
    for (const entry of this.#options.registry.entries())
      if (entry.node !== null && entry.error !== null) entry.seen = null;
    this.debounce.immediately();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#nextScan);
    this.#updater.stop();
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
    const { plugins_dir, dataDir, registry, versions, sources, offers, log } = this.#options;
    this.#paths = await findPaths(plugins_dir, dataDir);
    const found = await scan(this.#paths);
    const offered = offers?.list() ?? new Map<string, Offer>();
    const bundles = await readBundles(this.#paths.root, found.bundles, log);
    registry.setBundles(withBorrowed(bundles, offered));
    const pass: Pass = { imported: new Set(), mistaken: [] };
    for (const [name, files] of found.flows)
      await this.#consider(registry.entry(name), files, pass);
    const own = new Set([...found.flows.keys(), ...(await this.#takeMisplaced(found, pass))]);
    for (const [name, offer] of offered) if (!own.has(name)) this.#borrow(name, offer);
    for (const name of new Set([...registry.names(), ...versions.names()])) {
      if (!own.has(name) && !offered.has(name)) this.#updater.remove(registry.entry(name));
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
      if (imported.has(entry.file)) this.#updater.update(entry, this.#toCandidate(closure));
      else await this.#updater.refuse(entry, mistake);
    }
    const others = [...found.misplaced].filter(
      ([name, file]) => !found.flows.has(name) && !imported.has(file),
    );
    for (const [name, file] of others) {
      const entry = ownEntry(registry.entry(name), file);
      await this.#updater.refuse(entry, nameError(name) ?? describeExtension(file));
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
    ownEntry(entry, files[0] ?? entry.file);
    const wrong = nameError(entry.name) ?? sharedName(entry.name, files);
    if (wrong !== null) return this.#updater.refuse(entry, wrong);
    try {
      const closure = await closureOf(this.#options.sources, this.#paths, entry.file);
      // A link to nothing, or deleted since the scan.
      if (closure === null) return this.#updater.remove(entry);
      if (closure.isBlank && this.#wasFlow(entry)) {
        return this.#updater.refuse(
          entry,
          `The file '${entry.file}' is empty; delete it to remove the flow`,
        );
      }
      for (const { path } of closure.files) if (path !== entry.file) pass.imported.add(path);
      const { mistake } = closure;
      if (mistake === null) this.#updater.update(entry, this.#toCandidate(closure));
      else pass.mistaken.push({ entry, closure, mistake });
    } catch (error) {
      if (error instanceof SourceMovedError) return this.debounce.after(QUIET_MS);
      return this.#updater.refuse(entry, messageOf(error));
    }
  }

  #wasFlow(entry: Entry): boolean {
    return entry.served !== null || this.#options.versions.serving(entry.name) !== undefined;
  }

  #toCandidate(closure: Closure): Candidate {
    const { entry, version, since } = closure;
    const paths = this.#paths;
    const content = (path: string, hash: string) =>
      this.#options.sources.content(paths, path, hash);
    return {
      key: JSON.stringify([paths.root, entry, version]),
      since,
      node: null,
      read: async () => ({ closure, content }),
    };
  }

  #borrow(name: string, { version, node, file, isSealed }: Offer): void {
    const { registry, offers } = this.#options;
    const read = async () =>
      isSealed
        ? ((await offers?.find(name, version)) ?? refuseMissing(name, version, node))
        : refuseUnsealed(name, node);
    const entry = registry.entry(name);
    entry.file = file;
    entry.node = node;
    this.#updater.update(entry, {
      key: JSON.stringify([this.#paths.root, "borrowed", node, version, isSealed]),
      since: 0,
      node,
      read,
    });
  }
}

function ownEntry(entry: Entry, file: string): Entry {
  entry.file = file;
  entry.node = null;
  return entry;
}

function refuseMissing(name: string, version: string, node: string): never {
  throw new VersionRefusedError(
    `Version ${version} of '${name}', which node '${node}' offers, is not in the database any more`,
  );
}

function refuseUnsealed(name: string, node: string): never {
  throw new VersionRefusedError(
    `What node '${node}' offers of '${name}' in the database is not sealed with this data key: ` +
      `somebody changed it there. POST /flow/reload on the node that has its file stores it once more`,
  );
}

/** The own folder decides over its folders and names. */
function withBorrowed(own: readonly Bundle[], offered: ReadonlyMap<string, Offer>): Bundle[] {
  const bundles = [...own];
  for (const { bundle } of offered.values()) {
    if (bundle === null) continue;
    const { name, directory } = bundle;
    const isKnown = bundles.some((known) => known.name === name || known.directory === directory);
    if (!isKnown) bundles.push(bundle);
  }
  return bundles;
}

function sharedName(name: string, files: readonly string[]): string | null {
  if (files.length < 2) return null;
  const all = files.map((file) => `'${file}'`).join(" and ");
  return `The files ${all} have the same flow name '${name}'; rename all but one`;
}
