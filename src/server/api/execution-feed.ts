import { setImmediate } from "node:timers/promises";
import { now } from "../../shared/clock.ts";
import { isEnded } from "../../shared/contract/status.ts";
import type { Logins, Principal } from "../access/login.ts";
import { allowedProjects } from "../access/permission.ts";
import type { Changes } from "../executions/changes.ts";
import { toSummary } from "../executions/record.ts";
import type { Store } from "../store/store.ts";
import {
  findExecutions,
  findSettled,
  newestStatuses,
  unendedStatuses,
} from "../store/executions.ts";
import { findRole } from "../store/people.ts";
import { renewOrClose, toEvent, type EventStream } from "./event-streams.ts";

/** Executions as they change, for all who look on: each is read and written once. */
export interface ExecutionFeed {
  /** @returns ends the subscription */
  subscribe(stream: EventStream): () => void;
}

/** Changes are gathered for so long: of several of one execution the last is told. */
const GATHER_MS = 100;

/** What other nodes do is looked for so often, in milliseconds. */
const OTHERS_MS = 1000;
/**
 * It is looked for among so many executions: the newest of the last seconds, which may be recorded
 * that late, in milliseconds; those that have not ended; and those of which that was seen.
 */
const [NEWEST, NEWEST_MS, MOST_UNENDED, MOST_LEFT] = [1000, 6000, 1000, 1000];

/** Executions that are read and sent before others have their turn in the loop. */
const SLICE = 100;

interface Told {
  readonly project_id: string;
  readonly bytes: Uint8Array;
}

export function openExecutionFeed(deps: {
  readonly store: Store;
  readonly logins: Pick<Logins, "renew">;
  readonly changes: Changes;
}): ExecutionFeed {
  const streams = new Set<EventStream>();
  const changed = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let unsubscribe = (): void => {};
  const others = new OtherNodes(deps.store, gather);

  function gather(id: string): void {
    changed.add(id);
    timer ??= setTimeout(() => void tell().catch(closeAll), GATHER_MS);
  }

  async function tell(): Promise<void> {
    const ids = [...changed];
    changed.clear();
    const listeners = new Listeners(deps.logins, streams);
    for (let at = 0; at < ids.length && streams.size > 0; at += SLICE) {
      if (at > 0) await setImmediate();
      const told = await readSome(deps.store, ids.slice(at, at + SLICE));
      sendAll(told, await listeners.renewed());
    }
    timer = undefined;
    // What has changed meanwhile has had no timer of its own.
    const next = changed.values().next().value;
    if (next !== undefined) gather(next);
  }

  function closeAll(): void {
    timer = undefined;
    for (const stream of streams) stream.close();
  }

  return {
    subscribe(stream) {
      if (streams.size === 0) {
        if (deps.store.node !== null) others.watch();
        unsubscribe = deps.changes.subscribe((id, change) => {
          if (change === "status") gather(id);
        });
      }
      streams.add(stream);
      return () => {
        streams.delete(stream);
        if (streams.size > 0) return;
        others.leave();
        unsubscribe();
      };
    },
  };
}

/** What other nodes do, of which nothing tells here. */
class OtherNodes {
  readonly #store: Store;
  readonly #gather: (id: string) => void;
  #timer: NodeJS.Timeout | undefined;
  /** As they were read last; null: they were not yet. */
  #statuses: ReadonlyMap<string, string> | null = null;

  /** @param gather takes one whose status has changed */
  constructor(store: Store, gather: (id: string) => void) {
    this.#store = store;
    this.#gather = gather;
  }

  watch(): void {
    this.#statuses = null;
    const read = (): void => void this.#read().catch(() => {});
    this.#timer = setInterval(read, OTHERS_MS);
    read();
  }

  leave(): void {
    clearInterval(this.#timer);
  }

  async #read(): Promise<void> {
    const known = this.#statuses;
    this.#statuses = await readStatuses(this.#store, known ?? new Map());
    if (known === null) return;
    for (const [id, status] of this.#statuses) if (known.get(id) !== status) this.#gather(id);
  }
}

/** @param known as it was read before */
async function readStatuses(
  store: Store,
  known: ReadonlyMap<string, string>,
): Promise<ReadonlyMap<string, string>> {
  const found = await unendedStatuses(store, MOST_UNENDED);
  for (const [id, status] of await newestStatuses(store, now() - NEWEST_MS, NEWEST))
    found.set(id, status);
  const left = [...known].filter(([id, status]) => !isEnded(status) && !found.has(id));
  const ids = left.slice(0, MOST_LEFT).map(([id]) => id);
  const rows = ids.length === 0 ? [] : await findExecutions(store, ids);
  for (const { id, status } of rows) found.set(id, status);
  return found;
}

/** In the order in which they have changed. */
async function readSome(store: Store, ids: readonly string[]): Promise<Told[]> {
  const rows = await findSettled(store, ids);
  const found = new Map(rows.map((row) => [row.id, row]));
  const roles = new Map<string, string | null>();
  const told: Told[] = [];
  for (const row of ids.flatMap((id) => found.get(id) ?? [])) {
    const { role_id, project_id } = row;
    if (role_id !== null && !roles.has(role_id))
      roles.set(role_id, (await findRole(store, role_id))?.name ?? null);
    const role = role_id === null ? null : (roles.get(role_id) ?? null);
    told.push({ project_id, bytes: toEvent("execution", toSummary(row, role)) });
  }
  return told;
}

type Renewed = readonly (readonly [EventStream, Principal])[];

/** Who looks on, with what they may see: looked at again after the time for which changes are gathered. */
class Listeners {
  readonly #logins: Pick<Logins, "renew">;
  readonly #streams: ReadonlySet<EventStream>;
  #renewed: Renewed = [];
  #at = -Infinity;

  constructor(logins: Pick<Logins, "renew">, streams: ReadonlySet<EventStream>) {
    this.#logins = logins;
    this.#streams = streams;
  }

  async renewed(): Promise<Renewed> {
    if (performance.now() - this.#at < GATHER_MS) return this.#renewed;
    this.#renewed = await renewAll(this.#logins, this.#streams);
    // As many as they may be, there is time for more than them.
    this.#at = performance.now();
    return this.#renewed;
  }
}

/** One login token is looked at once, however many streams it has opened. */
async function renewAll(
  logins: Pick<Logins, "renew">,
  streams: ReadonlySet<EventStream>,
): Promise<Renewed> {
  const renewing = new Map<string, Promise<Principal | null>>();
  const renew = (principal: Principal): Promise<Principal | null> => {
    const found = renewing.get(principal.tokenId) ?? logins.renew(principal);
    renewing.set(principal.tokenId, found);
    return found;
  };
  const listeners: [EventStream, Principal][] = [];
  const renewals = [...streams].map(async (stream) => {
    const principal = await renewOrClose({ renew }, stream);
    if (principal !== null) listeners.push([stream, principal]);
  });
  await Promise.all(renewals);
  return listeners;
}

function sendAll(told: readonly Told[], listeners: Renewed): void {
  const joined = new Map<string, Uint8Array>();
  for (const [stream, principal] of listeners) sendVisible(stream, principal, told, joined);
}

/** @param joined what was sent to those who may see the same projects */
function sendVisible(
  stream: EventStream,
  { grants }: Principal,
  told: readonly Told[],
  joined: Map<string, Uint8Array>,
): void {
  const projects = allowedProjects(grants, "execution.read");
  const key = projects === "all" ? "all" : [...projects].sort().join();
  let bytes = joined.get(key);
  if (bytes === undefined) {
    const seen = told.filter(({ project_id }) => projects === "all" || projects.has(project_id));
    bytes = Buffer.concat(seen.map((one) => one.bytes));
    joined.set(key, bytes);
  }
  if (bytes.length > 0) stream.send(bytes);
}
