import { join } from "node:path";
import * as v from "valibot";
import type { FlowSpec, Inspection, Manifest } from "../../shared/wire/protocol.ts";
import type { Closure } from "./closure.ts";
import { allot, type Limits } from "./grants.ts";
import { ManifestText } from "../../shared/manifest.ts";
import type { Place } from "./place.ts";
import { messageOf, SourceMoved, type Sources } from "./sources.ts";
import { openTurns } from "./turns.ts";
import type { KeptVersion, Versions } from "./versions.ts";

/** A version that can run. */
export interface Served {
  readonly spec: FlowSpec;
  readonly manifest: Manifest;
  readonly timeout_ms: number;
}

/** Why a version cannot run. */
export interface Fault {
  readonly message: string;
  readonly stack: string | null;
  /**
   * Worth another try without a change: `soon` where the disk was at fault, `later`, in growing
   * pauses, where the import failed: a package may still come, or the machine was overloaded.
   */
  readonly retry?: "soon" | "later";
}

/** What became of a closure that was to be taken up. */
export type TakenUp =
  | { readonly kind: "flow"; readonly served: Served }
  | { readonly kind: "module" }
  | { readonly kind: "broken"; readonly fault: Fault }
  /** A file changed while it was copied: look again. */
  | { readonly kind: "moved" };

export interface TakeUpOptions {
  readonly sources: Sources;
  readonly versions: Versions;
  readonly limits: Limits;
  inspect(spec: FlowSpec): Promise<Inspection>;
}

/** Turns closures into versions that can run. Each content is inspected once, also over restarts. */
export class TakeUp {
  readonly #options: TakeUpOptions;
  // Two, so that one file that loops when imported does not hold up all others.
  readonly #inspecting = openTurns(2);
  // Each holds a file open; a thousand flows at a start must not use up all handles.
  readonly #copying = openTurns(8);
  readonly #stops = new Set<(reason: Error) => void>();

  constructor(options: TakeUpOptions) {
    this.#options = options;
  }

  async take(flow: string, place: Place, closure: Closure): Promise<TakenUp> {
    if (closure.isModule) return { kind: "module" };
    try {
      const kept = await this.#keep(flow, place, closure);
      return "message" in kept
        ? { kind: "broken", fault: kept }
        : this.#toTakenUp(flow, place, kept);
    } catch (error) {
      if (error instanceof SourceMoved) return { kind: "moved" };
      const message = `Cannot copy the flow's files: ${messageOf(error)}`;
      return { kind: "broken", fault: { message, stack: null, retry: "soon" } };
    }
  }

  /**
   * How to run a kept version under today's limits; null for a module.
   * @throws {Error} where they forbid it.
   */
  serve(flow: string, place: Place, kept: KeptVersion): Served | null {
    if (kept.manifest === null) return null;
    const { grants, timeout_ms, memory_mb } = allot(
      kept.manifest,
      this.#options.limits,
      place.root,
    );
    const { isolation } = kept.manifest;
    const spec = { ...bareSpec(flow, place, kept), grants, memory_mb, isolation };
    return { spec, manifest: kept.manifest, timeout_ms };
  }

  /** Gives up the inspections that are under way. */
  stop(): void {
    for (const reject of this.#stops) reject(new Error("The service is closing"));
  }

  #toTakenUp(flow: string, place: Place, kept: KeptVersion): TakenUp {
    try {
      const served = this.serve(flow, place, kept);
      return served === null ? { kind: "module" } : { kind: "flow", served };
    } catch (error) {
      return { kind: "broken", fault: { message: messageOf(error), stack: null } };
    }
  }

  async #keep(flow: string, place: Place, closure: Closure): Promise<KeptVersion | Fault> {
    const { sources, versions } = this.#options;
    const { version, entry } = closure;
    const known = versions.find(flow, version);
    if (known?.manifest === null) return known;
    const content = (path: string, hash: string) => sources.content(place, path, hash);
    const directory = await this.#copying(() => versions.make(flow, closure, content));
    if (known !== undefined && versions.serving(flow)?.version === version) return known;
    const bare = { version, entry, directory, manifest: null };
    const manifest = known?.manifest ?? (await this.#inspect(bareSpec(flow, place, bare)));
    if (manifest !== null && "message" in manifest) {
      await versions.discard(flow, version);
      return manifest;
    }
    await versions.keep(flow, closure, manifest);
    return { ...bare, manifest };
  }

  async #inspect(bare: BareSpec): Promise<Manifest | Fault | null> {
    const { inspect, limits } = this.#options;
    const grants = { net: false, read: [], write: [], secrets: [] };
    const spec = { ...bare, grants, memory_mb: limits.memory_mb, isolation: "flow" } as const;
    const found = await this.#inspecting(() => this.#untilStopped(inspect(spec))).catch(toBroken);
    if (found.kind === "module") return null;
    if (found.kind === "broken") {
      return { message: found.message, stack: found.stack, retry: "later" };
    }
    // It was made beside code of the flow, so it is looked at again.
    const read = v.safeParse(ManifestText, found.manifest);
    return read.success
      ? read.output
      : { message: "The flow's manifest is not valid", stack: null };
  }

  #untilStopped(inspection: Promise<Inspection>): Promise<Inspection> {
    const { promise, resolve, reject } = Promise.withResolvers<Inspection>();
    this.#stops.add(reject);
    const done = () => this.#stops.delete(reject);
    inspection.then(resolve, reject).then(done, done);
    return promise;
  }
}

function toBroken(error: unknown) {
  const message = `Cannot inspect the flow: ${messageOf(error)}`;
  return { kind: "broken", message, stack: null } as const;
}

type BareSpec = Omit<FlowSpec, "grants" | "memory_mb" | "isolation">;

function bareSpec(flow: string, place: Place, kept: KeptVersion): BareSpec {
  const { version, entry, directory } = kept;
  const key = `${flow}@${version}`;
  const path = join(directory, entry);
  return { key, flow, version, directory, entry: path, plugins_dir: place.root };
}
