import { mkdir, readdir, realpath, rm } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { now } from "../../shared/clock.ts";
import { signFolder } from "../../shared/folder-signature.ts";
import type { Manifest } from "../../shared/manifest.ts";
import type { FlowSpec } from "../../shared/wire/protocol.ts";
import { MANIFEST_FORMAT, type Closure } from "./closure.ts";
import { flowOf, folderName, nameFolder } from "./flow-folder.ts";
import { openKeptVersions, type KeptVersions } from "./kept-versions.ts";
import { openLimit } from "./limit.ts";
import { Stripper } from "./stripper.ts";
import { readVersionFile, type VersionFile } from "./version-file.ts";
import { isWhole, isWholeNow, makeFolder } from "./version-folder.ts";
import { writeWhole } from "./version-record.ts";

/** How many versions of a flow are kept beside the one that serves, and those that are pinned. */
export const KEPT_VERSIONS = 10;

/** A version that was taken up before. */
export interface KeptVersion {
  readonly version: string;
  /** Absolute path of its folder. */
  readonly directory: string;
  readonly entry: string;
  readonly manifest: Manifest | null;
}

/** A version's folder and the absolute path of its flow's file, as a FlowSpec has them. */
export interface VersionFolder {
  readonly flow: string;
  readonly version: string;
  readonly directory: string;
  readonly entry: string;
}

/** Whether an execution that has not ended is of a version. @param key of its FlowSpec */
export type IsPinned = (key: string) => boolean;

type Content = (path: string, hash: string) => Promise<Buffer>;

/** The version folders under DATA_DIR/versions: one folder and one record for each. */
export class Versions {
  readonly #root: string;
  readonly #stripper: Stripper;
  readonly #kept = new Map<string, KeptVersions>();
  /** Of the folders whose contents were compared, by their path. */
  readonly #signatures = new Map<string, string | null>();
  /** How many take a version up at this moment, by the path of its folder. */
  readonly #holders = new Map<string, number>();
  /** Under way, by the same. */
  readonly #discards = new Map<string, Promise<void>>();
  #lastServe: Promise<void> = Promise.resolve();
  #isPinned: IsPinned;

  private constructor(root: string, stripper: Stripper, isPinned: IsPinned) {
    this.#root = root;
    this.#stripper = stripper;
    this.#isPinned = isPinned;
  }

  /** Opens the versions of a data folder, and removes what a crash left behind. */
  static async open(
    dataDir: string,
    stripper = new Stripper(),
    isPinned: IsPinned = () => false,
  ): Promise<Versions> {
    await mkdir(join(dataDir, "versions"), { recursive: true, mode: 0o700 });
    const versions = new Versions(await realpath(join(dataDir, "versions")), stripper, isPinned);
    await versions.#load();
    return versions;
  }

  /** From now on these are kept, however many newer ones there are. */
  pin(isPinned: IsPinned): void {
    this.#isPinned = isPinned;
  }

  find(flow: string, version: string): KeptVersion | undefined {
    const record = this.#kept.get(flow)?.records.get(version);
    if (record === undefined) return undefined;
    const { entry, manifest } = record;
    return { version, directory: this.#folder(flow, version), entry, manifest };
  }

  /** The version that served last and was not retired since, also before a restart. */
  serving(flow: string): KeptVersion | undefined {
    const version = this.#kept.get(flow)?.serving ?? null;
    return version === null ? undefined : this.find(flow, version);
  }

  /** Names of the flows that have a serving version. */
  names(): readonly string[] {
    return [...this.#kept].filter(([, kept]) => kept.serving !== null).map(([name]) => name);
  }

  /** While a version is taken up its files stay, whatever is served meanwhile. */
  async hold<T>(flow: string, version: string, act: () => Promise<T>): Promise<T> {
    const folder = this.#folder(flow, version);
    this.#holders.set(folder, this.#holdersOf(folder) + 1);
    try {
      await this.#discards.get(folder);
      return await act();
    } finally {
      const left = this.#holdersOf(folder) - 1;
      if (left === 0) this.#holders.delete(folder);
      else this.#holders.set(folder, left);
    }
  }

  /** Makes the folder of a version and gives its absolute path. */
  async make(flow: string, closure: Closure, content: Content): Promise<string> {
    const folder = this.#folder(flow, closure.version);
    await makeFolder(folder, closure, content);
    await this.#stripper.strip(folder, closure);
    return folder;
  }

  /** Of a version's folder that was made since the start; nothing of others. */
  strippedOf(directory: string): FlowSpec["stripped"] {
    return this.#stripper.of(directory);
  }

  /**
   * Makes sure that a version's folder holds what its name says, before code of it is loaded. It
   * costs a look at each file while nobody has touched them.
   *
   * @throws Error where they were changed
   */
  verify({ flow, version, directory, entry }: VersionFolder): void {
    const signature = signFolder(directory);
    if (signature !== null && this.#signatures.get(directory) === signature) return;
    const path = relative(directory, entry).split(sep).join("/");
    if (!isWholeNow(directory, path, version)) {
      this.#signatures.delete(directory);
      throw new Error(
        `The files of "${flow}", version ${version}, in DATA_DIR were changed by somebody since ` +
          `they were copied from PLUGINS_DIR`,
      );
    }
    this.#signatures.set(directory, signFolder(directory));
  }

  /**
   * A file of a kept version as it was taken up, the flow's own unless told; null where the version
   * is not kept, or was changed by somebody. Its files are compared once while nobody touches them.
   */
  async file(flow: string, version: string, path?: string): Promise<VersionFile | null> {
    const kept = this.find(flow, version);
    if (kept === undefined) return null;
    const { directory, entry } = kept;
    const signature = signFolder(directory);
    if (signature === null) return null;
    if (this.#signatures.get(directory) !== signature) {
      if (!(await isWhole(directory, entry, version))) return null;
      this.#signatures.set(directory, signature);
    }
    return readVersionFile(directory, path ?? entry);
  }

  /** Keeps what the inspection told. A version without a flow keeps no folder. */
  async keep(flow: string, closure: Closure, manifest: Manifest | null): Promise<void> {
    const { version, entry } = closure;
    const record = { format: MANIFEST_FORMAT, entry, taken_at: now(), manifest } as const;
    if (manifest === null) await this.#remove(flow, version);
    await nameFolder(this.#root, flow);
    await writeWhole(`${this.#folder(flow, version)}.json`, JSON.stringify(record));
    const { records } = this.#keptOf(flow);
    // The last in the map is the newest.
    records.delete(version);
    records.set(version, record);
  }

  /** Removes a version that turned out to be broken, unless another who takes it up still holds it. */
  async discard(flow: string, version: string): Promise<void> {
    if (this.#holdersOf(this.#folder(flow, version)) < 2) await this.#discard(flow, version);
  }

  async #discard(flow: string, version: string): Promise<void> {
    const folder = this.#folder(flow, version);
    this.#kept.get(flow)?.records.delete(version);
    this.#signatures.delete(folder);
    const removed = rm(`${folder}.json`, { force: true }).then(() => this.#remove(flow, version));
    this.#discards.set(folder, removed);
    await removed.finally(() => this.#discards.delete(folder));
  }

  #holdersOf(folder: string): number {
    return this.#holders.get(folder) ?? 0;
  }

  /** Makes a kept version the serving one, or none, and removes what is no longer used. */
  serve(flow: string, version: string | null): Promise<void> {
    // One after the other, so that the last one asked for is the one that stays.
    const turn = this.#lastServe.then(() => this.#serve(flow, version));
    this.#lastServe = turn.catch(() => undefined);
    return turn;
  }

  async #serve(flow: string, version: string | null): Promise<void> {
    const kept = this.#keptOf(flow);
    if (kept.serving !== version) {
      const pointer = join(this.#folder(flow), "serving");
      if (version === null) await rm(pointer, { force: true });
      else await writeWhole(pointer, version);
      kept.serving = version;
    }
    const others = [...kept.records.keys()].filter((other) => other !== version);
    for (const old of others.slice(0, -KEPT_VERSIONS)) {
      const isHeld = this.#holdersOf(this.#folder(flow, old)) > 0;
      if (!isHeld && !this.#isPinned(`${flow}@${old}`)) await this.#discard(flow, old);
    }
  }

  async #remove(flow: string, version: string): Promise<void> {
    const folder = this.#folder(flow, version);
    this.#stripper.forget(folder);
    await rm(folder, { recursive: true, force: true });
  }

  async #load(): Promise<void> {
    const turn = openLimit(8);
    const load = async (folder: string) => {
      const kept = await turn(() => openKeptVersions(join(this.#root, folder)));
      const flow = await flowOf(this.#root, folder);
      if (kept !== null && flow !== null) this.#kept.set(flow, kept);
    };
    await Promise.all((await readdir(this.#root)).map(load));
  }

  #keptOf(flow: string): KeptVersions {
    const kept = this.#kept.get(flow) ?? { serving: null, records: new Map() };
    this.#kept.set(flow, kept);
    return kept;
  }

  #folder(flow: string, ...version: string[]): string {
    return join(this.#root, folderName(flow), ...version);
  }
}
