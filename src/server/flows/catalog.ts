import type { Log } from "../../shared/log.ts";
import type { FlowSpec, Inspection } from "../../shared/wire/protocol.ts";
import type { Bundle } from "./bundles.ts";
import type { Flow } from "./flow.ts";
import { Follower } from "./follow.ts";
import type { Limits } from "./grants.ts";
import { Roster } from "./roster.ts";
import type { Place } from "./place.ts";
import { messageOf, Sources } from "./sources.ts";
import { TakeUp } from "./take-up.ts";
import { Versions } from "./versions.ts";
import { openWatch } from "./watch.ts";

export type { Flow } from "./flow.ts";

export interface CatalogOptions extends Limits {
  /** PLUGINS_DIR; need not exist yet. */
  readonly plugins_dir: string;
  /** DATA_DIR; versions are kept in its folder `versions`. */
  readonly data_dir: string;
  /** Imports a version without grants and tells what it is; has a time limit of its own. */
  inspect(spec: FlowSpec): Promise<Inspection>;
  /** The version does not serve any longer: its idle threads can go. */
  retire(key: string): void;
  readonly log: Log;
  /** Between two looks at PLUGINS_DIR without an event, in milliseconds; 5000 unless told. */
  readonly look_ms?: number;
  /** A flow was taken up, broke, or is gone (then `find` does not know it any longer). */
  onChange?(flow: Flow): void;
}

/** The flows of PLUGINS_DIR, kept up to date (contract, section 5). */
export interface Catalog {
  find(name: string): Flow | undefined;
  /** Sorted by name. */
  list(): readonly Flow[];
  bundles(): readonly Bundle[];
  /** A kept version, for replay and recovery; also of a flow whose file is gone. */
  findVersion(name: string, version: string): FlowSpec | undefined;
  /**
   * Makes sure that the files of a version are those that were taken up; for the first thread of
   * it in a runner. It takes less than a millisecond while nobody has touched them.
   *
   * @throws Error where they were changed; where their content is still in PLUGINS_DIR they are
   *   copied again at once
   */
  verify(spec: FlowSpec): void;
  /** Text of the flow's file as it is in PLUGINS_DIR; null where it is gone. */
  source(name: string): Promise<string | null>;
  /**
   * Looks again now, also at broken flows that did not change. Resolves when everything that
   * changed has been taken up.
   */
  reload(): Promise<void>;
  /** The runner gave a version up: it does not serve until its flow changes or is reloaded. */
  markBroken(key: string, message: string): void;
  /** Resolves when no load is in progress. */
  idle(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Opens the catalog. Resolves when the first scan has been taken up. */
export async function openCatalog(options: CatalogOptions): Promise<Catalog> {
  const { plugins_dir, data_dir, log, look_ms } = options;
  const roster = new Roster(options);
  const sources = new Sources();
  const versions = await Versions.open(data_dir);
  const takeUp = new TakeUp({ sources, versions, limits: options, inspect: options.inspect });
  const parts = { plugins_dir, data_dir, roster, sources, takeUp, versions, log, look_ms };
  const follower = await Follower.open(parts);
  const { pace } = follower;
  const watch = await openWatch(plugins_dir, follower.place.own, () => pace.changed(), log);
  pace.immediately();
  await pace.idle();

  return {
    find: (name) => roster.find(name),
    list: () => roster.list(),
    bundles: () => roster.bundles(),
    findVersion(name, version) {
      if (roster.isGivenUp(`${name}@${version}`)) return undefined;
      const serving = roster.find(name)?.spec;
      if (serving?.version === version) return serving;
      return keptSpec(versions, takeUp, follower.place, name, version);
    },
    verify(spec) {
      try {
        versions.verify(spec);
      } catch (error) {
        const entry = roster.giveUp(spec.key, messageOf(error));
        if (entry !== null) entry.seen = null;
        pace.immediately();
        throw error;
      }
    },
    async source(name) {
      const flow = roster.find(name);
      return flow === undefined ? null : sources.text(follower.place, flow.file);
    },
    async reload() {
      roster.forgive();
      pace.immediately();
      await pace.idle();
    },
    markBroken(key, message) {
      const entry = roster.giveUp(key, message);
      if (entry !== null) follower.remember(entry.name, null);
    },
    idle: () => pace.idle(),
    async [Symbol.asyncDispose]() {
      await watch[Symbol.asyncDispose]();
      await follower.stop();
    },
  };
}

function keptSpec(
  versions: Versions,
  takeUp: TakeUp,
  place: Place,
  name: string,
  version: string,
): FlowSpec | undefined {
  const kept = versions.find(name, version);
  if (kept === undefined) return undefined;
  try {
    return takeUp.serve(name, place, kept)?.spec;
  } catch {
    // What it asks for is not allowed any longer.
    return undefined;
  }
}
