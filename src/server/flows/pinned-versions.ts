import type { Log } from "../../shared/log.ts";
import type { FlowSpec } from "../../shared/wire/protocol.ts";
import type { Loader } from "./loader.ts";
import type { Offers } from "./offers.ts";
import type { FlowPaths } from "./paths.ts";
import type { FlowRegistry } from "./registry.ts";
import type { VersionFile } from "./version-file.ts";
import { VersionRefusedError } from "./version-source.ts";
import type { Versions } from "./versions.ts";

export interface PinnedVersionsOptions {
  readonly registry: FlowRegistry;
  readonly versions: Versions;
  readonly loader: Loader;
  /** Of other nodes; null without any. */
  readonly offers: Offers | null;
  /** Where PLUGINS_DIR was at the last pass. */
  readonly paths: () => FlowPaths;
  readonly log: Log;
}

/** Versions that executions name, whatever serves now. */
export class PinnedVersions {
  readonly #options: PinnedVersionsOptions;
  readonly #fetching = new Map<string, Promise<FlowSpec | undefined>>();

  constructor(options: PinnedVersionsOptions) {
    this.#options = options;
  }

  /** One that is here, or that another node has taken up. @throws {StoreError} */
  async find(name: string, version: string): Promise<FlowSpec | undefined> {
    const key = `${name}@${version}`;
    const found = this.#findKept(name, version);
    const { registry } = this.#options;
    if (found !== undefined || registry.isGivenUp(key) || registry.isBroken(key)) return found;
    const fetching = this.#fetching.get(key) ?? this.#take(name, version);
    this.#fetching.set(key, fetching);
    return fetching.finally(() => this.#fetching.delete(key));
  }

  /** A file of one, the flow's own unless told. @throws {StoreError} */
  async file(name: string, version: string, path?: string): Promise<VersionFile | null> {
    const { versions } = this.#options;
    if (versions.find(name, version) === undefined) await this.find(name, version);
    return versions.file(name, version, path);
  }

  /** One that is here. */
  #findKept(name: string, version: string): FlowSpec | undefined {
    const { registry, versions } = this.#options;
    if (registry.isGivenUp(`${name}@${version}`)) return undefined;
    const serving = registry.find(name)?.spec;
    if (serving?.version === version) return serving;
    const kept = versions.find(name, version);
    if (kept === undefined) return undefined;
    try {
      return this.#options.loader.serve(name, this.#options.paths(), kept, null)?.spec;
    } catch {
      // What it asks for is not allowed any longer.
      return undefined;
    }
  }

  async #take(flow: string, version: string): Promise<FlowSpec | undefined> {
    const { registry, offers, loader, paths, log } = this.#options;
    const key = `${flow}@${version}`;
    const source = await offers?.find(flow, version).catch((error: unknown) => {
      if (!(error instanceof VersionRefusedError)) throw error;
      registry.noteBroken(key);
      log.error({ flow, version }, error.message);
      return null;
    });
    if (source === null || source === undefined) return undefined;
    const candidate = {
      key: version,
      since: 0,
      node: null,
      isImported: false,
      read: async () => source,
    };
    const taken = await loader.take(flow, paths(), candidate);
    if (taken.kind === "flow") return taken.served.spec;
    if (taken.kind === "broken") {
      // What its import throws is its own; a machine without room says nothing of it.
      if (taken.error.stack !== null) registry.noteBroken(key);
      log.error({ flow, version }, `A version cannot run here: ${taken.error.message}`);
    }
    return undefined;
  }
}
