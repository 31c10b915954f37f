import type { Log } from "../../shared/log.ts";
import type { FlowSpec, Inspection } from "../../shared/wire/protocol.ts";
import type { Bundle } from "./bundles.ts";
import type { Debounce } from "./debounce.ts";
import type { Flow } from "./flow.ts";
import type { FlowPaths } from "./paths.ts";
import { FolderSync } from "./sync.ts";
import type { Limits } from "./grants.ts";
import { FlowRegistry } from "./registry.ts";
import { messageOf, Sources } from "./sources.ts";
import { Loader } from "./loader.ts";
import type { Offers } from "./offers.ts";
import { listOwnFlows } from "./own-flows.ts";
import { PinnedVersions } from "./pinned-versions.ts";
import { UnknownFlows } from "./unknown-flows.ts";
import type { Stripper } from "./stripper.ts";
import type { VersionFile } from "./version-file.ts";
import { isOutOfFiles } from "./version-folder.ts";
import { Versions, type IsPinned } from "./versions.ts";
import { openWatch } from "./watch.ts";

export type { Flow } from "./flow.ts";

export interface CatalogOptions extends Limits {
  /** PLUGINS_DIR; need not exist yet. */
  readonly plugins_dir: string;
  /** DATA_DIR; versions are kept in its folder `versions`. */
  readonly dataDir: string;
  /** Imports a version without grants and tells what it is; has a time limit of its own. */
  inspect(spec: FlowSpec): Promise<Inspection>;
  /** The version does not serve any longer: its idle threads can go. */
  retire(key: string): void;
  /** Packages may be others now: threads that have loaded them can go. */
  retireAll(): void;
  readonly log: Log;
  /** Where it was prepared already. */
  readonly stripper?: Stripper;
  /** Until `pin`; none unless told. */
  readonly isPinned?: IsPinned;
  /** What other nodes have, and are told of this one; alone without it. */
  readonly offers?: Offers;
  /** Between two looks at PLUGINS_DIR without an event, in milliseconds; 5000 unless told. */
  readonly pollMs?: number;
  /** A flow was taken up, broke, or is gone (then `find` does not know it any longer). */
  onChange?(flow: Flow): void;
}

/** The flows of PLUGINS_DIR, kept up to date (contract, section 5). */
export interface Catalog {
  find(name: string): Flow | undefined;
  /** As `find`; one that is not known is asked for: another node may just have got it. */
  findOrAsk(name: string): Promise<Flow | undefined>;
  /** Sorted by name. */
  list(): readonly Flow[];
  bundles(): readonly Bundle[];
  /** What is wrong with PLUGINS_DIR itself, and may keep flows from being found; for people. */
  faults(): readonly string[];
  /**
   * A version that an execution names, also of a flow whose file is gone: one that is kept, or is
   * fetched because another node has taken it up. Undefined where it is neither, or cannot run here.
   *
   * @throws {StoreError} where it cannot be asked for
   */
  findVersion(name: string, version: string): Promise<FlowSpec | undefined>;
  /** Versions of a flow that were tried of late, and cannot run here. */
  listBroken(name: string): string[];
  /**
   * Makes sure that the files of a version are those that were taken up; for the first thread of
   * it in a runner. It takes less than a millisecond while nobody has touched them.
   *
   * @throws Error where they were changed; where their content is still in PLUGINS_DIR they are
   *   copied again at once
   */
  verify(spec: FlowSpec): void;
  /**
   * A file of a version, the flow's own unless told; also of a flow whose file is gone. Null where
   * the version is not kept any more.
   */
  versionFile(name: string, version: string, path?: string): Promise<VersionFile | null>;
  /** Text of the flow's file as it is in PLUGINS_DIR; null where it is gone. */
  source(name: string): Promise<string | null>;
  /**
   * Looks again now, also at broken flows that did not change, and loads packages anew. Resolves
   * when everything that changed has been taken up, and is offered to other nodes.
   */
  reload(): Promise<void>;
  /** The runner gave a version up: it does not serve until its flow changes or is reloaded. */
  markBroken(key: string, message: string): void;
  /** Versions that executions wait for are kept from now on, whatever is edited meanwhile. */
  pin(isPinned: IsPinned): void;
  /** Resolves when no load is in progress. */
  idle(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Opens the catalog. Resolves when the first scan has been taken up, whatever changes meanwhile. */
export async function openCatalog(options: CatalogOptions): Promise<Catalog> {
  const { plugins_dir, dataDir, log, offers = null } = options;
  const registry = openRegistry(options);
  const sources = new Sources();
  const versions = await Versions.open(dataDir, options.stripper, options.isPinned);
  const loader = new Loader({ versions, limits: options, inspect: options.inspect });
  const parts = { registry, sources, loader, versions, offers };
  const sync = await FolderSync.open({ ...options, ...parts });
  const watch = await openWatch(plugins_dir, sync.paths, () => sync.debounce.changed(), log);
  sync.onMove = (root) => watch.follow(root);
  sync.debounce.immediately();
  await sync.debounce.settled();
  offers?.offer({
    list: () => listOwnFlows(registry),
    othersChanged: () => sync.offersChanged(),
  });
  const unknown = openUnknown(offers, sync.debounce);
  const pinned = new PinnedVersions({ ...parts, paths: () => sync.paths, log });

  return {
    find: (name) => registry.find(name),
    async findOrAsk(name) {
      if (registry.find(name) === undefined) await unknown?.ask(name);
      return registry.find(name);
    },
    list: () => registry.list(),
    bundles: () => registry.bundles(),
    faults: () => sync.faults(),
    findVersion: (name, version) => pinned.find(name, version),
    listBroken: (name) => registry.listBroken(name),
    verify(spec) {
      try {
        versions.verify(spec);
      } catch (error) {
        // That too many files are open says nothing of a version.
        const entry = isOutOfFiles(error) ? null : registry.giveUp(spec.key, messageOf(error));
        if (entry !== null) entry.seen = null;
        sync.debounce.immediately();
        throw error;
      }
    },
    versionFile: (name, version, path) => pinned.file(name, version, path),
    source: async (name) => readSource(registry.find(name), sources, sync.paths, versions),
    async reload() {
      sync.reload();
      await sync.debounce.settled();
      await offers?.renew();
      await sync.debounce.settled();
    },
    markBroken(key, message) {
      const entry = registry.giveUp(key, message);
      if (entry !== null) sync.remember(entry.name, null);
    },
    pin: (isPinned) => versions.pin(isPinned),
    idle: () => sync.debounce.idle(),
    async [Symbol.asyncDispose]() {
      await offers?.[Symbol.asyncDispose]();
      await watch[Symbol.asyncDispose]();
      await sync.stop();
    },
  };
}

async function readSource(
  flow: Flow | undefined,
  sources: Sources,
  paths: FlowPaths,
  versions: Versions,
): Promise<string | null> {
  if (flow === undefined) return null;
  if (flow.node === null) return sources.text(paths, flow.file);
  return (await versions.file(flow.name, flow.version ?? ""))?.text ?? null;
}

/** null: there are no others that could know one. */
function openUnknown(offers: Offers | null, debounce: Debounce): UnknownFlows | null {
  if (offers === null) return null;
  return new UnknownFlows(async () => {
    await offers.ask();
    await debounce.settled();
  });
}

/** What changes in the own folder is offered at once. */
function openRegistry(options: CatalogOptions): FlowRegistry {
  return new FlowRegistry({
    ...options,
    onChange(flow) {
      options.onChange?.(flow);
      if (flow.node === null) options.offers?.changed();
    },
  });
}
