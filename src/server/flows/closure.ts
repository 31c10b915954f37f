import type { FlowPaths } from "./paths.ts";
import { sha256, SourceError, SourceMovedError, type Source, type Sources } from "./sources.ts";

/** Changes when the same files have to be inspected again. */
export const MANIFEST_FORMAT = 1;

const FILES_MAX = 1000;
const BYTES_MAX = 64 * 1024 * 1024;

/** A flow's file with all that it names inside PLUGINS_DIR, transitively. */
export interface Closure {
  /** Path of the flow's file, relative to PLUGINS_DIR. */
  readonly entry: string;
  /** First 16 hex digits of a SHA-256 over the paths and contents. */
  readonly version: string;
  readonly files: readonly { readonly path: string; readonly hash: string }[];
  /** Certainly no flow: its file does not even have the word `default`. */
  readonly isModule: boolean;
  /** Why its file was cut, rather than meant so, where it was a flow before; null: it was not. */
  readonly cut: string | null;
  /** Why it is no flow though it looks like one, unless others import it; null where it does not. */
  readonly mistake: string | null;
  /** Milliseconds since the epoch since when all of it has been as it is. */
  readonly since: number;
}

/**
 * Gathers a flow's closure; null where its file is gone.
 * @throws {SourceError} where a link leads out of PLUGINS_DIR, or beyond 1,000 files or 64 MB.
 * @throws {SourceMovedError} where a file changed meanwhile.
 */
export async function closureOf(
  sources: Sources,
  paths: FlowPaths,
  entry: string,
): Promise<Closure | null> {
  const start = await sources.read(paths, entry);
  if (start === null) return null;
  const found = await gather(sources, paths, entry);
  if (!found.has(entry)) throw new SourceMovedError(entry);
  const files = [...found].map(([path, source]) => ({ path, hash: source.hash }));
  const since = Math.max(...[...found.values()].map((source) => source.since));
  const { saysDefault, mistake } = start;
  const version = versionOf(entry, files);
  const cut = mistake === null ? cutOf(start) : null;
  return { entry, version, files, isModule: !saysDefault, cut, mistake, since };
}

/**
 * A file of data that is named alone is none of the flow's: with each write of it there would be a new
 * version. Where any file of the flow finds what lies beside it, what all of them name may be meant.
 */
async function gather(
  sources: Sources,
  paths: FlowPaths,
  entry: string,
): Promise<Map<string, Source>> {
  const found = new Map<string, Source>();
  const waiting = [entry];
  const data: string[] = [];
  let bytes = 0;
  let findsBeside = false;
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const source = found.has(path) ? null : await sources.readNamed(paths, path);
    if (source === null) continue;
    found.set(path, source);
    bytes += source.bytes;
    if (found.size > FILES_MAX || bytes > BYTES_MAX) throw new SourceError(TOO_LARGE);
    waiting.push(...source.names);
    data.push(...source.data);
    findsBeside ||= source.findsBeside;
    if (findsBeside) waiting.push(...data.splice(0));
  }
  return found;
}

function cutOf({ isBlank, saysExport }: Source): string | null {
  if (isBlank) return "is empty";
  return saysExport ? null : "exports nothing";
}

const TOO_LARGE = "The flow and what it imports are more than 1000 files or 64 MB";

/** The name of a version: of what it is made, not of when. */
export function versionOf(entry: string, files: Closure["files"]): string {
  const lines = files.toSorted(byPath).map((file) => `${file.hash} ${JSON.stringify(file.path)}`);
  const head = `flowhook ${MANIFEST_FORMAT} ${JSON.stringify(entry)}`;
  return sha256([head, ...lines].join("\n")).slice(0, 16);
}

function byPath(a: { readonly path: string }, b: { readonly path: string }): number {
  return a.path < b.path ? -1 : 1;
}
