import type { Closure } from "./closure.ts";

/** The files of a version, wherever they come from: PLUGINS_DIR, or another node. */
export interface VersionSource {
  readonly closure: Closure;
  /** Gives a file's bytes, which have the hash that the closure tells. */
  content(path: string, hash: string): Promise<Buffer>;
}

/** What a flow is to become. */
export interface Candidate {
  /** Changes when there is something else to load. */
  readonly key: string;
  /** Milliseconds since the epoch since when all of it has been as it is. */
  readonly since: number;
  /** Name of the node whose folder has it; null: this one's own folder. */
  readonly node: string | null;
  /** Whether other flows import its file, which need be none itself then. */
  readonly isImported: boolean;
  /** @throws {SourceMovedError | VersionRefusedError} */
  read(): Promise<VersionSource>;
}

/** A version that is not what its node stored; the message is for people. */
export class VersionRefusedError extends Error {}
