import { readFile } from "node:fs/promises";
import { join, posix } from "node:path";
import * as v from "valibot";
import {
  deleteOldFiles,
  deleteOldVersions,
  findFlowFile,
  findFlowVersion,
  listWholeFiles,
  putFlowFile,
  putFlowVersion,
  touchFlowFiles,
  type FlowVersionRow,
} from "../store/flow-offers.ts";
import type { Statement } from "../store/statement.ts";
import type { Store } from "../store/store.ts";
import { versionOf, type Closure } from "./closure.ts";
import { flowName } from "./names.ts";
import { FILE_BYTES_MAX, sha256 } from "./sources.ts";
import { filesOf } from "./version-folder.ts";
import { VersionRefusedError, type VersionSource } from "./version-source.ts";
import { KEPT_VERSIONS } from "./versions.ts";

/** Shows that a node wrote a text, and nobody else who can write the database. */
export interface Seal {
  of(text: string): string;
  isOf(seal: string, text: string): boolean;
}

/** A version in a folder of this node. */
export interface VersionFolderOf {
  readonly flow: string;
  readonly version: string;
  /** Absolute. */
  readonly directory: string;
  /** Path of the flow's file in it. */
  readonly entry: string;
}

const Files = v.array(
  v.strictObject({
    path: v.pipe(v.string(), v.check(isInner)),
    hash: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)),
  }),
);

const AGAIN = "It is not used. POST /flow/reload on the node that has its file stores it once more";

/** Versions of flows in the database, from where every node can take them. */
export class StoredVersions {
  readonly #store: Store;
  readonly #seal: Seal;

  constructor(store: Store, seal: Seal) {
    this.#store = store;
    this.#seal = seal;
  }

  /**
   * A version as its node stored it; null where it is not stored, or not any more.
   *
   * @throws {VersionRefusedError} where it was changed; also from `content`
   * @throws {StoreError}
   */
  async find(flow: string, version: string): Promise<VersionSource | null> {
    const row = await findFlowVersion(this.#store, flow, version);
    if (row === undefined) return null;
    const closure = this.#check(row);
    return { closure, content: (path, hash) => this.#content(row, path, hash) };
  }

  /**
   * Stores the files of a version.
   *
   * @returns what stores the version itself; null where its folder is not whole
   */
  async put(folder: VersionFolderOf): Promise<Statement | null> {
    const { flow, version, entry, directory } = folder;
    const files = await hashFiles(directory);
    if (files === null || versionOf(entry, files) !== version) return null;
    await this.#putFiles(directory, files);
    const bare = { flow, version, entry, files: JSON.stringify(files) };
    return putFlowVersion(this.#store, { ...bare, seal: this.#seal.of(textOf(bare)) });
  }

  /** Forgets versions and files that nobody needs. */
  async prune(): Promise<void> {
    await this.#store.commit([deleteOldVersions(this.#store, KEPT_VERSIONS + 1)]);
    await this.#store.commit([deleteOldFiles(this.#store)]);
  }

  #check(row: FlowVersionRow): Closure {
    const { flow, version, entry } = row;
    const what = `Version ${version} of '${flow}' in the database`;
    if (!this.#seal.isOf(row.seal, textOf(row)))
      throw new VersionRefusedError(
        `${what} is not sealed with this data key: somebody changed it there. ${AGAIN}`,
      );
    const files = readFiles(row.files);
    if (files === null || flowName(entry) !== flow || versionOf(entry, files) !== version)
      throw new VersionRefusedError(`${what} is of another release. ${AGAIN}`);
    const plain = { isModule: false, cut: null, mistake: null, since: 0 };
    return { entry, version, files, ...plain };
  }

  async #content({ flow, version }: FlowVersionRow, path: string, hash: string): Promise<Buffer> {
    const bytes = await findFlowFile(this.#store, hash, FILE_BYTES_MAX);
    if (bytes !== null && sha256(bytes) === hash) return bytes;
    const found =
      bytes === null ? "is not in the database any more" : "was changed in the database";
    throw new VersionRefusedError(
      `The file '${path}' of version ${version} of '${flow}' ${found}. ${AGAIN}`,
    );
  }

  /** Those that others stored already, and nobody changed, stay as they are. */
  async #putFiles(directory: string, files: Closure["files"]): Promise<void> {
    const hashes = files.map(({ hash }) => hash);
    await this.#store.commit([touchFlowFiles(this.#store, hashes)]);
    const whole = new Set(await listWholeFiles(this.#store, hashes));
    for (const { path, hash } of files) {
      if (whole.has(hash)) continue;
      const bytes = await readFile(join(directory, path));
      await this.#store.commit([putFlowFile(this.#store, hash, bytes)]);
    }
  }
}

async function hashFiles(directory: string): Promise<Closure["files"] | null> {
  const paths = await filesOf(directory);
  if (paths === null) return null;
  const files: { path: string; hash: string }[] = [];
  for (const path of paths.toSorted())
    files.push({ path, hash: sha256(await readFile(join(directory, path))) });
  return files;
}

/** What the seal is of. */
function textOf({ flow, version, entry, files }: Omit<FlowVersionRow, "seal">): string {
  return JSON.stringify([flow, version, entry, files]);
}

function readFiles(text: string): Closure["files"] | null {
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), Files), text);
  return parsed.success ? parsed.output : null;
}

/** Whether a path leads to a place inside of its folder, on every system. */
function isInner(path: string): boolean {
  const isPlain = posix.normalize(path) === path && !/[\\\0]|^[A-Za-z]:/.test(path);
  return isPlain && path !== "." && !path.startsWith("/") && !/^\.\.(\/|$)/.test(path);
}
