import * as v from "valibot";
import type { Log } from "../../shared/log.ts";
import {
  deleteLeftOffers,
  deleteOffer,
  findOfferingNode,
  findOfferRevision,
  listOffers,
  putOffer,
  raiseOfferRevision,
  type NodeFlowRow,
  type OfferRow,
} from "../store/flow-offers.ts";
import { isPassing, newUnavailable } from "../store/store-error.ts";
import type { Store } from "../store/store.ts";
import type { Bundle } from "./bundles.ts";
import { DifferingVersions } from "./differing-versions.ts";
import { isHidden, nameError } from "./names.ts";
import { messageOf } from "./sources.ts";
import { StoredVersions, type Seal, type VersionFolderOf } from "./stored-version.ts";
import type { VersionSource } from "./version-source.ts";

const POLL_MS = 1000;

export interface OffersOptions {
  readonly store: Store;
  /** Of this process among the nodes; another one after it was given up. */
  readonly nodeId: () => string;
  readonly seal: Seal;
  /** FLOWS_SHARED: whether what this node's folder lacks is borrowed. */
  readonly isBorrowing: boolean;
  readonly log: Log;
  /** Between two questions what others offer, in milliseconds; 1000 unless told. */
  readonly pollMs?: number;
}

/** What the folders of other nodes have of one flow. */
export interface Offer {
  readonly version: string;
  /** Name of the node. */
  readonly node: string;
  /** Path of its file there, relative to PLUGINS_DIR. */
  readonly file: string;
  readonly bundle: Bundle | null;
  /** Whether the node said so itself, and nobody who writes the database alone. */
  readonly isSealed: boolean;
}

/** What the own folder has of one flow. */
export interface OwnFlow extends VersionFolderOf {
  readonly bundle: Bundle | null;
}

/** The folder of this node, and who is told when others offer something else. */
export interface OwnFolder {
  /** By flow; null: there is a file, and nothing of it serves. */
  list(): ReadonlyMap<string, OwnFlow | null>;
  /** Others may offer something else, or have stored again what could not be used. */
  othersChanged(): void;
}

const NONE: ReadonlyMap<string, Offer> = new Map();

const BundleText = v.pipe(
  v.string(),
  v.parseJson(),
  v.strictObject({
    name: v.pipe(
      v.string(),
      v.check((name) => nameError(name) === null),
    ),
    directory: v.string(),
    description: v.nullable(v.string()),
  }),
);

const OfferedRow = v.object({
  flow: v.pipe(
    v.string(),
    v.check((flow) => nameError(flow) === null && !isHidden(flow)),
  ),
  version: v.pipe(v.string(), v.regex(/^[0-9a-f]{16}$/)),
  node_name: v.string(),
  entry: v.string(),
  bundle: v.nullable(BundleText),
});

/** What nodes on one database offer each other: each takes what its own folder lacks. */
export class Offers {
  readonly #options: OffersOptions;
  readonly #versions: StoredVersions;
  readonly #differing: DifferingVersions;
  /** `folder_id` is that of its DATA_DIR: the same after a restart. */
  #node = { id: "", name: "", folder_id: "" };
  #others = NONE;
  #revision = Number.NaN;
  /** Flows that the database has of this folder. */
  #stored = new Set<string>();
  /** What was stored for each flow since the start, as its seal. */
  readonly #told = new Map<string, string>();
  #folder: OwnFolder | null = null;
  #timer: NodeJS.Timeout | undefined;
  #polling: Promise<void> = Promise.resolve();
  #complaint = "";
  /** The next poll, where it was asked for and has not begun. */
  #asking: Promise<void> | null = null;
  #isClosed = false;

  private constructor(options: OffersOptions) {
    this.#options = options;
    this.#versions = new StoredVersions(options.store, options.seal);
    this.#differing = new DifferingVersions(options.store, options.log);
  }

  /** Resolves when it is known what others offer. @throws {StoreError} */
  static async open(options: OffersOptions): Promise<Offers> {
    const offers = new Offers(options);
    await offers.#read();
    return offers;
  }

  /** By flow: the version that was taken up last, wherever. */
  list(): ReadonlyMap<string, Offer> {
    return this.#options.isBorrowing ? this.#others : NONE;
  }

  /** A version that any node took up; null where it is not stored, or nothing is borrowed. */
  async find(flow: string, version: string): Promise<VersionSource | null> {
    return this.#options.isBorrowing ? this.#versions.find(flow, version) : null;
  }

  /** Offers what this folder has, from now on. */
  offer(folder: OwnFolder): void {
    this.#folder = folder;
    this.#pollNow();
  }

  /**
   * Stores once more what this folder has, because somebody may have changed it, and asks what
   * others have. Resolves when that is done, or could not be.
   */
  async renew(): Promise<void> {
    this.#told.clear();
    this.#pollNow();
    await this.#polling;
  }

  /** Asks what others have, once for all who ask meanwhile. Resolves when that is known, or could not be. */
  ask(): Promise<void> {
    if (this.#asking === null) {
      this.#pollNow();
      this.#asking = this.#polling;
    }
    return this.#asking;
  }

  /** The folder of this node has something else: it is offered at once. */
  changed(): void {
    if (this.#folder !== null) this.ask().catch(() => {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await this.#polling;
    clearTimeout(this.#timer);
  }

  /** One after the other. */
  #pollNow(): void {
    this.#polling = this.#polling.then(async () => {
      clearTimeout(this.#timer);
      this.#asking = null;
      if (this.#isClosed) return;
      await this.#poll();
      this.#timer = setTimeout(() => this.#pollNow(), this.#options.pollMs ?? POLL_MS).unref();
    });
  }

  async #poll(): Promise<void> {
    try {
      if (await this.#read()) this.#folder?.othersChanged();
      await this.#write();
      await this.#differing.check();
      this.#complaint = "";
    } catch (error) {
      this.#complain(error);
    }
  }

  /** @returns whether any node has stored or withdrawn something since the last time */
  async #read(): Promise<boolean> {
    const { store, nodeId, seal, log } = this.#options;
    if (nodeId() !== this.#node.id) await this.#readNode(nodeId());
    const revision = await findOfferRevision(store);
    if (revision === this.#revision) return false;
    const rows = await listOffers(store);
    this.#revision = revision;
    const { folder_id } = this.#node;
    this.#readOwn(rows.filter((row) => row.folder_id === folder_id));
    this.#others = toOffers(
      rows.filter((row) => row.folder_id !== folder_id),
      seal,
      (row) => log.warn({ flow: row.flow }, "What a node offers has no valid form in the database"),
    );
    return true;
  }

  /** What somebody changed is stored once more. */
  #readOwn(rows: readonly OfferRow[]): void {
    const seals = new Map(rows.map((row) => [row.flow, this.#isOf(row) ? row.seal : null]));
    this.#stored = new Set(seals.keys());
    for (const [flow, told] of this.#told) if (seals.get(flow) !== told) this.#told.delete(flow);
  }

  #isOf(row: OfferRow): boolean {
    return this.#options.seal.isOf(row.seal, textOf(row));
  }

  async #readNode(id: string): Promise<void> {
    const node = await findOfferingNode(this.#options.store, id);
    if (node === null) throw newUnavailable("This node has been given up");
    this.#node = node;
  }

  /** Stores what the folder has, and withdraws what it has no longer. */
  async #write(): Promise<void> {
    const own = this.#folder?.list() ?? new Map<string, OwnFlow | null>();
    let hasPut = false;
    for (const [flow, item] of own) {
      if (item === null || this.#isClosed) continue;
      const row = this.#toRow(item);
      if (this.#told.get(flow) === row.seal || !(await this.#put(item, row))) continue;
      this.#told.set(flow, row.seal);
      hasPut = true;
    }
    for (const flow of this.#stored) if (!own.has(flow)) await this.#withdraw(flow);
    if (hasPut) await this.#versions.prune();
  }

  #toRow({ flow, version, bundle }: OwnFlow): NodeFlowRow {
    const { id, name, folder_id } = this.#node;
    const text = bundle === null ? null : JSON.stringify(bundle);
    const row = { folder_id, flow, version, bundle: text, node_id: id, node_name: name };
    return { ...row, seal: this.#options.seal.of(textOf(row)) };
  }

  async #put(own: OwnFlow, row: NodeFlowRow): Promise<boolean> {
    const { store } = this.#options;
    const { flow } = own;
    const put = await this.#versions.put(own);
    if (put === null) return false;
    await store.commit([
      put,
      putOffer(store, row),
      deleteLeftOffers(store, flow),
      raiseOfferRevision(store),
    ]);
    this.#stored.add(flow);
    return true;
  }

  async #withdraw(flow: string): Promise<void> {
    const { store } = this.#options;
    await store.commit([
      deleteOffer(store, this.#node.folder_id, flow),
      deleteLeftOffers(store, flow),
      raiseOfferRevision(store),
    ]);
    this.#stored.delete(flow);
    this.#told.delete(flow);
  }

  /** Once for each reason: the store tells itself when it is away. */
  #complain(error: unknown): void {
    const message = messageOf(error);
    if (isPassing(error) || message === this.#complaint) return;
    this.#complaint = message;
    this.#options.log.warn({ err: error }, "Cannot share flows with other nodes; trying again");
  }
}

/** What the seal of an offer is of. */
function textOf(row: Omit<NodeFlowRow, "seal">): string {
  const { folder_id, flow, version, bundle, node_id, node_name } = row;
  return JSON.stringify(["offer", folder_id, flow, version, bundle, node_id, node_name]);
}

/** The first of each flow counts, and none without a seal where there is one with it. */
function toOffers(
  rows: readonly OfferRow[],
  seal: Seal,
  onInvalid: (row: OfferRow) => void,
): Map<string, Offer> {
  const offers = new Map<string, Offer>();
  for (const row of rows) {
    const read = v.safeParse(OfferedRow, row);
    if (!read.success) {
      onInvalid(row);
      continue;
    }
    const { flow, version, node_name: node, entry: file, bundle } = read.output;
    const isSealed = seal.isOf(row.seal, textOf(row));
    const known = offers.get(flow);
    if (known === undefined || (isSealed && !known.isSealed))
      offers.set(flow, { version, node, file, bundle, isSealed });
  }
  return offers;
}
