import type { Log } from "../../shared/log.ts";
import { toBorrowed, withBorrowed } from "./borrowed.ts";
import { readBundles } from "./bundles.ts";
import { closureOf, type Closure } from "./closure.ts";
import { Debounce } from "./debounce.ts";
import { EntryUpdater } from "./entry-updater.ts";
import type { Entry } from "./flow.ts";
import {
  describeGone,
  describeLink,
  describeUnreadable,
  FolderFaults,
  sharedName,
} from "./folder-faults.ts";
import type { Loader } from "./loader.ts";
import { describeExtension } from "./misplaced.ts";
import { nameError } from "./names.ts";
import type { Offer, Offers } from "./offers.ts";
import { PACKAGES_CHANGED, signPackages } from "./packages.ts";
import { findPaths, type FlowPaths } from "./paths.ts";
import type { FlowRegistry } from "./registry.ts";
import { scan, type Scan } from "./scan.ts";
import { messageOf, QUIET_MS, SourceMovedError, type Sources } from "./sources.ts";
import type { Candidate } from "./version-source.ts";
import { filesOf } from "./version-folder.ts";
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
  /** Packages may be others now: threads that have loaded them can go. */
  retireAll(): void;
  readonly log: Log;
  /** Between two scans without an event, in milliseconds; 5000 unless told. */
  readonly pollMs?: number | undefined;
}

/** What one look at the folder gathers before it judges. */
interface Pass {
  /** Files that flows import. */
  readonly imported: Set<string>;
  readonly found: { readonly entry: Entry; readonly closure: Closure }[];
}

/** Lets the registry follow what lies in PLUGINS_DIR, and what other nodes offer beside it. */
export class FolderSync {
  readonly debounce = new Debounce(() => this.#pass());
  /** Told of where PLUGINS_DIR leads, at each pass. */
  onMove: (root: string) => void = () => {};
  readonly #options: FolderSyncOptions;
  readonly #updater: EntryUpdater;
  readonly #faults: FolderFaults;
  #paths: FlowPaths;
  /** Of what is installed in node_modules, as `signPackages`; undefined before the first pass. */
  #packages: string | null | undefined;
  #nextScan: NodeJS.Timeout | undefined;
  #isStopped = false;

  private constructor(options: FolderSyncOptions, paths: FlowPaths) {
    this.#options = options;
    this.#paths = paths;
    this.#faults = new FolderFaults(options.log);
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

  /** What was wrong with PLUGINS_DIR itself at the last pass. */
  faults(): readonly string[] {
    return this.#faults.list();
  }

  /** Remembers on disk what serves, for the next start. */
  remember(flow: string, version: string | null): void {
    this.#updater.remember(flow, version);
  }

  /** Other nodes offer something else, which may be what could not be borrowed before. */
  offersChanged(): void {
    this.#options.registry.forgetBroken();
    for (const entry of this.#options.registry.entries())
      if (entry.node !== null && entry.error !== null && !entry.error.isGivenUp) entry.seen = null;
    this.debounce.immediately();
  }

  /** A pass at once, also over what is broken and did not change, and with packages loaded anew. */
  reload(): void {
    this.#options.registry.forgive();
    // What is edited inside a package shows in no signature.
    if (typeof this.#packages === "string") this.#options.retireAll();
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
    const start = performance.now();
    await this.#scan().catch((error: unknown) => {
      this.#faults.tell("", `Cannot scan PLUGINS_DIR: ${messageOf(error)}`, { err: error });
    });
    this.#faults.endScan();
    if (!this.#isStopped) this.#scanAgain(performance.now() - start);
  }

  async #scan(): Promise<void> {
    const { plugins_dir, dataDir, registry, versions, sources, offers, log } = this.#options;
    this.#paths = await findPaths(plugins_dir, dataDir);
    this.onMove(this.#paths.root);
    const found = await scan(this.#paths);
    await this.#readPackages();
    for (const path of found.links) this.#faults.tell(`link ${path}`, describeLink(path), { path });
    const offered = offers?.list() ?? new Map<string, Offer>();
    const bundles = await readBundles(this.#paths.root, found.bundles, this.#faults);
    registry.setBundles(withBorrowed(bundles, offered));
    const pass: Pass = { imported: new Set(), found: [] };
    for (const [name, files] of found.flows)
      await this.#consider(registry.entry(name), files, pass);
    const own = new Set([...found.flows.keys(), ...(await this.#takeFound(found, pass))]);
    for (const name of await this.#holdUnreadable(found, own, offered)) own.add(name);
    for (const [name, offer] of offered) if (!own.has(name)) this.#borrow(name, offer);
    const gone = [...new Set([...registry.names(), ...versions.names()])]
      .filter((name) => !own.has(name) && !offered.has(name))
      .filter((name) => this.#updater.remove(registry.entry(name)));
    if (found.isMissing && gone.length > 0) log.error({ flows: gone }, describeGone(plugins_dir));
    sources.sweep();
  }

  /** What could not be imported may have its packages now; what serves loads them anew. */
  async #readPackages(): Promise<void> {
    const before = this.#packages;
    this.#packages = await signPackages(this.#paths.root);
    if (this.#packages === before) return;
    if (before !== undefined) {
      this.#options.retireAll();
      this.#options.log.info(PACKAGES_CHANGED);
    }
    for (const entry of this.#options.registry.entries())
      if (entry.retryAt !== null) entry.retryAt = -Infinity;
  }

  /**
   * What served out of a folder that cannot be read now goes on serving, and says so.
   * @param seen names whose files were found
   * @param offered which another node has; one that was not known here before is left to it
   * @returns the names of the others
   */
  async #holdUnreadable(
    { unreadable }: Scan,
    seen: ReadonlySet<string>,
    offered: ReadonlyMap<string, Offer>,
  ): Promise<string[]> {
    const held: string[] = [];
    if (unreadable.size === 0) return held;
    const { registry, versions } = this.#options;
    const faults = new Map(
      [...unreadable].map(([folder, why]) => [folder, describeUnreadable(folder, why)]),
    );
    for (const [folder, fault] of faults) this.#faults.tell(`folder ${folder}`, fault, { folder });
    for (const name of new Set([...registry.names(), ...versions.names()])) {
      const before = offered.has(name) ? undefined : versions.serving(name)?.entry;
      const file = registry.ownFile(name) ?? before;
      if (seen.has(name) || file === undefined) continue;
      const folder = [...faults.keys()].find((one) => one === "" || file.startsWith(`${one}/`));
      if (folder === undefined) continue;
      await this.#updater.refuse(ownEntry(registry.entry(name), file), faults.get(folder) ?? "");
      held.push(name);
    }
    return held;
  }

  /**
   * Takes up what was found, once it is known which files are imported: what was meant as a flow
   * and is none, unless a flow imports it, is listed as broken.
   * @returns the names of those with another extension
   */
  async #takeFound(found: Scan, { imported, found: all }: Pass): Promise<Set<string>> {
    const { registry } = this.#options;
    for (const { entry, closure } of all) {
      const isImported = imported.has(entry.file);
      const mayDiffer = entry.error === null ? entry.served === null : entry.error.isNoFlow;
      if (isImported !== entry.isImported && mayDiffer === true) entry.seen = null;
      entry.isImported = isImported;
      if (closure.mistake === null || isImported)
        this.#updater.update(entry, this.#toCandidate(closure, isImported));
      else await this.#updater.refuse(entry, closure.mistake);
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
    if (wrong !== null) return this.#refuse(entry, wrong, pass);
    try {
      const closure = await closureOf(this.#options.sources, this.#paths, entry.file);
      // A link to nothing, or deleted since the scan.
      if (closure === null) return void this.#updater.remove(entry);
      if (closure.cut !== null && this.#wasFlow(entry)) {
        const fault = `The file '${entry.file}' ${closure.cut}; delete it to remove the flow`;
        return this.#refuse(entry, fault, pass);
      }
      for (const { path } of closure.files) if (path !== entry.file) pass.imported.add(path);
      pass.found.push({ entry, closure });
    } catch (error) {
      if (!(error instanceof SourceMovedError)) return this.#refuse(entry, messageOf(error), pass);
      await this.#keepImports(entry, pass);
      this.debounce.after(QUIET_MS);
    }
  }

  async #refuse(entry: Entry, message: string, pass: Pass): Promise<void> {
    await this.#keepImports(entry, pass);
    await this.#updater.refuse(entry, message);
  }

  /** While the file cannot be read as a flow, what the serving version imports are modules still. */
  async #keepImports({ name }: Entry, { imported }: Pass): Promise<void> {
    const kept = this.#options.versions.serving(name);
    const files = kept === undefined ? null : await filesOf(kept.directory);
    for (const path of files ?? []) if (path !== kept?.entry) imported.add(path);
  }

  #wasFlow(entry: Entry): boolean {
    return entry.served !== null || this.#options.versions.serving(entry.name) !== undefined;
  }

  #toCandidate(closure: Closure, isImported: boolean): Candidate {
    const { entry, version, since } = closure;
    const paths = this.#paths;
    const content = (path: string, hash: string) =>
      this.#options.sources.content(paths, path, hash);
    return {
      key: JSON.stringify([paths.root, entry, version]),
      since,
      node: null,
      isImported,
      read: async () => ({ closure, content }),
    };
  }

  #borrow(name: string, offer: Offer): void {
    const entry = this.#options.registry.entry(name);
    if (!this.#updater.isGone(entry)) return;
    entry.file = offer.file;
    entry.node = offer.node;
    this.#updater.update(entry, toBorrowed(name, offer, this.#paths.root, this.#options.offers));
  }
}

function ownEntry(entry: Entry, file: string): Entry {
  entry.file = file;
  entry.node = null;
  return entry;
}
