import { join } from "node:path";
import * as v from "valibot";
import type { FlowSpec, Inspection } from "../../shared/wire/protocol.ts";
import { allot, type Limits } from "./grants.ts";
import { ManifestText, type Manifest } from "../../shared/manifest.ts";
import { checkSchemas, membersOf } from "./json-schema.ts";
import type { FlowPaths } from "./paths.ts";
import { messageOf, SourceMovedError } from "./sources.ts";
import { openLimit } from "./limit.ts";
import { VersionRefusedError, type Candidate, type VersionSource } from "./version-source.ts";
import type { KeptVersion, Versions } from "./versions.ts";

/** A version that can run. */
export interface Served {
  readonly spec: FlowSpec;
  readonly manifest: Manifest;
  readonly timeoutMs: number;
  /** Name of the node whose folder it is from; null: this one's own. */
  readonly node: string | null;
}

/** Why a version cannot run. */
export interface FlowError {
  readonly message: string;
  readonly stack: string | null;
  /**
   * Worth another try without a change: `soon` where the disk was at fault, `later`, in growing
   * pauses, where the import failed: a package may still come, or the machine was overloaded.
   */
  readonly retry?: "soon" | "later";
  /** The file exports nothing that was meant as a flow. */
  readonly isNoFlow?: boolean;
  /** It ended its runners: it is not tried again before it changes, or is reloaded by hand. */
  readonly isGivenUp?: boolean;
}

/** What became of a closure that was to be taken up. */
export type TakenUp =
  | { readonly kind: "flow"; readonly served: Served }
  | { readonly kind: "module" }
  | { readonly kind: "broken"; readonly error: FlowError }
  /** A file changed while it was copied: look again. */
  | { readonly kind: "moved" };

export interface LoaderOptions {
  readonly versions: Versions;
  readonly limits: Limits;
  inspect(spec: FlowSpec): Promise<Inspection>;
}

const CLOSING = "The service is closing";

/** Turns candidates into versions that can run. Each content is inspected once, also over restarts. */
export class Loader {
  readonly #options: LoaderOptions;
  // Two, so that one file that loops when imported does not hold up all others.
  readonly #inspecting = openLimit(2);
  // Each holds a file open; a thousand flows at a start must not use up all handles.
  readonly #copying = openLimit(8);
  readonly #stops = new Set<(reason: Error) => void>();
  #isStopped = false;

  constructor(options: LoaderOptions) {
    this.#options = options;
  }

  async take(flow: string, paths: FlowPaths, candidate: Candidate): Promise<TakenUp> {
    try {
      const source = await candidate.read();
      // One that served is imported first: half of a file has no default export either.
      const hasServed = this.#options.versions.serving(flow) !== undefined;
      if (source.closure.isModule && !hasServed) return { kind: "module" };
      const { version } = source.closure;
      const keep = () => this.#keep(flow, paths, source);
      const kept = await this.#options.versions.hold(flow, version, keep);
      if ("message" in kept && kept.isNoFlow === true && candidate.isImported && !hasServed)
        return { kind: "module" };
      return "message" in kept
        ? { kind: "broken", error: kept }
        : this.#toTakenUp(flow, paths, kept, candidate.node);
    } catch (error) {
      if (error instanceof SourceMovedError) return { kind: "moved" };
      if (error instanceof VersionRefusedError)
        return { kind: "broken", error: { message: error.message, stack: null, retry: "later" } };
      const message = `Cannot copy the flow's files: ${messageOf(error)}`;
      return { kind: "broken", error: { message, stack: null, retry: "soon" } };
    }
  }

  /**
   * How to run a kept version under today's limits; null for a module.
   *
   * @param node whose folder it is from; null: this one's own
   * @throws {Error} where they forbid it.
   */
  serve(flow: string, paths: FlowPaths, kept: KeptVersion, node: string | null): Served | null {
    if (kept.manifest === null) return null;
    const { grants, timeoutMs, memory_mb } = allot(kept.manifest, this.#options.limits, paths.root);
    const { isolation, schemas } = kept.manifest;
    const input_members = membersOf(schemas?.input ?? null);
    const spec = {
      ...this.#bareSpec(flow, paths, kept),
      grants,
      memory_mb,
      isolation,
      input_members,
    };
    return { spec, manifest: kept.manifest, timeoutMs, node };
  }

  /** Gives up the inspections that are under way, and those that wait. */
  stop(): void {
    this.#isStopped = true;
    for (const reject of this.#stops) reject(new Error(CLOSING));
  }

  #toTakenUp(flow: string, paths: FlowPaths, kept: KeptVersion, node: string | null): TakenUp {
    try {
      const served = this.serve(flow, paths, kept, node);
      return served === null ? { kind: "module" } : { kind: "flow", served };
    } catch (error) {
      return { kind: "broken", error: { message: messageOf(error), stack: null } };
    }
  }

  async #keep(
    flow: string,
    paths: FlowPaths,
    { closure, content }: VersionSource,
  ): Promise<KeptVersion | FlowError> {
    const { versions } = this.#options;
    const { version, entry } = closure;
    const known = versions.find(flow, version);
    if (known?.manifest === null) return known;
    const directory = await this.#copying(() => versions.make(flow, closure, content));
    const isServing = versions.serving(flow)?.version === version;
    if (known !== undefined && isDescribed(known) && isServing) return known;
    const bare = { version, entry, directory, manifest: null };
    const manifest = await this.#describe(this.#bareSpec(flow, paths, bare), known);
    if (manifest !== null && "message" in manifest) {
      await versions.discard(flow, version);
      return manifest;
    }
    await versions.keep(flow, closure, manifest);
    return { ...bare, manifest };
  }

  /** What a version declares; one that an earlier release kept is asked for its schemas as well. */
  async #describe(
    bare: BareSpec,
    known: KeptVersion | undefined,
  ): Promise<Manifest | FlowError | null> {
    const kept = known?.manifest ?? null;
    if (known !== undefined && kept !== null && isDescribed(known)) return kept;
    const found = await this.#inspect(bare);
    const isBroken = found !== null && "message" in found;
    // It has served before, and its schemas are no reason to take it away.
    return isBroken && kept !== null ? kept : found;
  }

  async #inspect(bare: BareSpec): Promise<Manifest | FlowError | null> {
    const { inspect, limits } = this.#options;
    const grants = { net: false, read: [], write: [], secrets: [] };
    const { memory_mb } = limits;
    const isolation = "flow" as const;
    const spec = { ...bare, grants, memory_mb, isolation, input_members: null };
    const found = await this.#inspecting(() => this.#untilStopped(() => inspect(spec))).catch(
      toBroken,
    );
    if (found.kind === "module") return null;
    if (found.kind === "broken") {
      const { message, stack, isNoFlow = false } = found;
      return { message, stack, retry: "later", isNoFlow };
    }
    // It was made beside code of the flow, so it is looked at again.
    const read = v.safeParse(ManifestText, found.manifest);
    return read.success
      ? { ...read.output, schemas: checkSchemas(read.output.schemas) }
      : { message: "The flow's manifest is not valid", stack: null };
  }

  #bareSpec(flow: string, paths: FlowPaths, kept: KeptVersion): BareSpec {
    const { version, entry, directory } = kept;
    const key = `${flow}@${version}`;
    const path = join(directory, entry);
    const stripped = this.#options.versions.strippedOf(directory);
    return { key, flow, version, directory, entry: path, stripped, plugins_dir: paths.root };
  }

  #untilStopped(inspect: () => Promise<Inspection>): Promise<Inspection> {
    if (this.#isStopped) return Promise.reject(new Error(CLOSING));
    const { promise, resolve, reject } = Promise.withResolvers<Inspection>();
    this.#stops.add(reject);
    const done = () => this.#stops.delete(reject);
    inspect().then(resolve, reject).then(done, done);
    return promise;
  }
}

function isDescribed({ manifest }: KeptVersion): boolean {
  return manifest === null || manifest.schemas !== null || !manifest.has_input_schema;
}

function toBroken(error: unknown) {
  const message = `Cannot inspect the flow: ${messageOf(error)}`;
  return { kind: "broken", message, stack: null, isNoFlow: false } as const;
}

type BareSpec = Omit<FlowSpec, "grants" | "memory_mb" | "isolation" | "input_members">;
