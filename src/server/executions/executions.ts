import { setTimeout as wait } from "node:timers/promises";
import { now } from "../../shared/clock.ts";
import { RequestError } from "../../shared/errors.ts";
import { SlotList } from "./slot-list.ts";
import type { FlowSpec } from "../../shared/wire/protocol.ts";
import type { Lease } from "../nodes/lease.ts";
import type { ExecutionRow } from "../store/execution-row.ts";
import { ActiveExecution, ActiveExecutions } from "./active.ts";
import type { Allowance } from "./allowance.ts";
import type { Changes } from "./changes.ts";
import { DuplicateLog } from "./duplicate-log.ts";
import { openRareLine } from "../../shared/rare-line.ts";
import { ExecutionRun, type RunDeps } from "./execution-run.ts";
import { requireCarried, toJob, type Input } from "./input.ts";
import { Elsewhere } from "./elsewhere.ts";
import { Endings, type EndingsOptions } from "./endings.ts";
import { ForOthers } from "./for-others.ts";
import { Handover } from "./handover.ts";
import { HeldBack } from "./held-back.ts";
import { Journal } from "./journal.ts";
import { KeptInputs } from "./kept-inputs.ts";
import { NodeShare } from "./node-share.ts";
import { decide, type Outcome } from "./outcome.ts";
import { Overflow } from "./overflow.ts";
import { QueueRoom } from "./queue-room.ts";
import { Removals } from "./removals.ts";
import { firstTurnOf, Replacements } from "./replacements.ts";
import { Scheduler, type SchedulerOptions } from "./scheduler.ts";
import { toRow, type RunnableFlow, type StartRequest } from "./start-request.ts";
import { Watchers } from "./watchers.ts";
import { WebhookQueues } from "./webhook-queues.ts";
import { refuseBusy, type LimitedWebhook } from "./webhook-queue.ts";
import { isBusy } from "../store/store-error.ts";

export interface ExecutionsOptions
  extends
    Omit<SchedulerOptions, "defer" | "record" | "onCrowded">,
    EndingsOptions,
    Pick<RunDeps, "operate" | "onlooker"> {
  /** null: there are no other nodes. */
  readonly lease: Pick<Lease, "renewal"> | null;
  readonly maxQueued: number;
  readonly allowance: Allowance;
  readonly baseUrl: string;
}

/** How long a stop waits for what the store or a thread cannot do just now. */
const WAIT_MS = 1000;

/** How often it is said that calls wait for starts of threads, in milliseconds. */
const CROWDED_MS = 600_000;

/** Until when `start` waits: for a caller who sees nothing before the ending, the disk may come later. */
export type Recorded = "written" | "synced";

/** The life of executions: recorded, run, ended; see shared/contract/status.ts for the states. */
export class Executions {
  readonly #options: ExecutionsOptions;
  readonly #journal: Journal;
  readonly #scheduler: Scheduler;
  readonly #active = new ActiveExecutions();
  readonly #stopListeners = new SlotList<() => void>();
  readonly #endings: Endings;
  readonly #elsewhere: Elsewhere;
  readonly #overflow: Overflow;
  /** Of calls that were answered with an execution of an earlier one. */
  readonly duplicates: DuplicateLog;
  /** Who waits on executions. */
  readonly watchers: Watchers;
  /** What happens to executions, for whoever looks on. */
  readonly changes: Changes;
  /** Of webhooks that limit how many run or wait. */
  readonly queues: WebhookQueues;
  /** What other nodes have to do with them. */
  readonly share: NodeShare;
  readonly #kept = new KeptInputs();
  readonly #room: QueueRoom;
  readonly #replacements: Replacements;
  readonly #removals: Removals;
  readonly #runDeps: RunDeps;
  /** null: there are no other nodes. */
  readonly #heldBack: HeldBack | null;
  /** null: there are no other nodes. */
  readonly #forOthers: ForOthers | null;
  /** The service stops soon, and takes nothing that others can have. */
  isDraining = false;

  constructor(options: ExecutionsOptions) {
    this.#options = options;
    const { store, log } = options;
    const { node } = store;
    const active = this.#active;
    const tellCrowded = openRareLine(log, "warn", CROWDED_MS);
    const journal = new Journal(store, log);
    this.#journal = journal;
    this.changes = journal.changes;
    this.duplicates = new DuplicateLog(journal);
    this.watchers = new Watchers(node);
    this.#elsewhere = new Elsewhere(store, log);
    this.#endings = new Endings({
      ...options,
      journal,
      active,
      overtaken: (execution) => this.#removals.leaveCancelled(execution),
    });
    this.#scheduler = new Scheduler({
      ...options,
      onCrowded: () => tellCrowded({}, toCrowdedMessage(options.warmThreads)),
      defer: (act) => store.ledger.beforeWrite(act),
      record: (runs, handOver) => handover.record(runs, handOver),
    });
    this.queues = new WebhookQueues((run) => this.#scheduler.enqueue(run), active, node !== null);
    this.#room = new QueueRoom(this.#scheduler, this.queues, options.maxQueued);
    const parts = {
      ...options,
      journal,
      active,
      scheduler: this.#scheduler,
      queues: this.queues,
      room: this.#room,
      endings: this.#endings,
      elsewhere: this.#elsewhere,
      kept: this.#kept,
    };
    this.#removals = new Removals(parts);
    const withRemovals = { ...parts, removals: this.#removals };
    this.#replacements = new Replacements(withRemovals);
    this.share = new NodeShare(withRemovals);
    this.#overflow = new Overflow(node, this.share);
    this.#runDeps = { ...withRemovals, onQueued: () => this.#overflow.queued() };
    this.#heldBack = node === null ? null : new HeldBack({ ...parts, node });
    this.#forOthers = node === null ? null : new ForOthers({ ...withRemovals, node });
    const handover = new Handover({ ...withRemovals, heldBack: this.#heldBack });
  }

  /** Whether an execution of a version waits here, or runs. @param key of its FlowSpec */
  hasVersion(key: string): boolean {
    return this.#active.hasVersion(key);
  }

  /** Starts a thread of a version before there is an execution for it. */
  warm(spec: FlowSpec): void {
    this.#scheduler.warm(spec);
  }

  /**
   * Refuses where one of this flow, and webhook, would have to wait and the queue has no room for
   * it, as `start` does.
   *
   * @throws RequestError queue_full, webhook_busy, shutting_down
   */
  requireRoom(flow: string, webhook: LimitedWebhook | null): void {
    if (this.#journal.isClosing) throw shuttingDown();
    this.#room.require(flow, webhook);
  }

  /**
   * Resolves when the record is written, or is on disk too; a later failure is a value of `ended`.
   *
   * @throws RequestError queue_full, webhook_busy, shutting_down, allowance_used, store_unavailable,
   *   body_too_large
   */
  async start(request: StartRequest, until: Recorded = "synced"): Promise<ActiveExecution> {
    const { flow, flowName, input } = request;
    requireCarried(input);
    await this.#journal.requireRoom();
    const others = this.#forOthers;
    const version = flow?.spec === null && others ? await others.findVersion(request) : null;
    const host = this.#admit(request);
    const row = toRow(request, this.#options.store.node?.name ?? null, version);
    const { allowance } = this.#options;
    const month = request.isConnection ? allowance.take(row.created_at) : null;
    const execution = new ActiveExecution(row, flow, request.trace ?? null);
    if (host !== null) host.guest = execution;
    const { promise, resolve, reject } = Promise.withResolvers<ActiveExecution>();
    const { claim = null } = request;
    const replaced = this.#replacements.decide(execution);
    const limited = this.queues.find(row.webhook_id)?.limitBegin(this.#scheduler.isFree(flowName));
    const more = {
      month,
      ...(claim !== null && { claims: claim.rows }),
      ...(replaced.length > 0 && { replaces: replaced.map(({ id }) => id) }),
      ...(limited !== undefined && { limited }),
    };
    execution.recordedIn = this.#journal.begin(row, input, more, {
      written: () => {
        execution.isRecorded = true;
        if (version !== null) others?.leave(execution);
        else if (!execution.isElsewhere) this.#kept.keep(execution);
        if (until === "written") resolve(execution);
      },
      ...((until === "synced" || replaced.length > 0) && {
        synced: () => {
          this.#replacements.synced(replaced, row.created_at);
          resolve(execution);
        },
      }),
      ...((claim !== null || replaced.length > 0) && {
        applied: () => {
          claim?.applied();
          this.#replacements.applied(replaced);
        },
      }),
      overtaken: (ids) => {
        for (const one of [execution, ...replaced])
          if (ids.includes(one.id)) this.#removals.leave(one);
      },
      refused: (refused) => {
        this.#removals.refuse(execution);
        this.#replacements.restore(replaced);
        const error = isBusy(refused)
          ? refuseBusy(refused.message, this.#scheduler.meanOf(flowName))
          : refused;
        reject(month === null ? error : allowance.giveBack(month, error));
      },
    });
    if (version === null) this.#enqueue(execution, flow, input, firstTurnOf(replaced));
    else this.#active.add(execution);
    return promise;
  }

  /**
   * What runs goes on while the service stops, and so does what it starts.
   *
   * @returns what waits for it, whose slot it has; null: there is room for it
   */
  #admit({ flowName, webhook, parent_id, isAwaited }: StartRequest): ActiveExecution | null {
    if (parent_id === null) this.requireRoom(flowName, webhook);
    else if (this.#journal.isStopped) throw shuttingDown();
    else {
      const parent = isAwaited === true ? this.#active.find(parent_id) : undefined;
      if (parent !== undefined && this.#mayLend(parent, flowName)) return parent;
      this.#room.require(flowName, null);
    }
    return null;
  }

  /** To one at a time: what was let in before may not stand at the scheduler yet. */
  #mayLend({ run, guest }: ActiveExecution, flow: string): boolean {
    const isLent = guest !== null && guest.decided === null && !guest.isRefused;
    return run !== null && !isLent && this.#scheduler.mayLend(run, flow);
  }

  /**
   * From now on executions run. Before, they are recorded and wait: a start of the service that
   * fails leaves them to the next one.
   */
  open(): void {
    this.#scheduler.open();
  }

  /** Queues an execution that was recorded before this start of the service. */
  resume(row: ExecutionRow, flow: RunnableFlow | undefined): void {
    const execution = new ActiveExecution(row, flow, null);
    execution.isRecorded = true;
    this.#enqueue(execution, flow, null);
  }

  /** An execution that has not ended, whose thread is busy, or whose ending the tables lack. */
  find(id: string): ActiveExecution | undefined {
    return this.#active.find(id);
  }

  /** Acts on what `find` finds, once it is known whether it ends with the begin of a newer one. */
  async whenKnown<T>(
    id: string,
    act: (execution: ActiveExecution | undefined) => T | Promise<T>,
  ): Promise<T> {
    const execution = this.#active.find(id);
    const known = execution && this.#replacements.whenKnown(execution);
    return known === undefined ? act(execution) : known.then(() => this.whenKnown(id, act));
  }

  /**
   * As `find`, of an execution that another node may have.
   *
   * @param row as it was read
   */
  findAnywhere(row: ExecutionRow): ActiveExecution | undefined {
    return this.#active.find(row.id) ?? this.#elsewhere.find(row);
  }

  /**
   * Ends it as ENDED_CANCELLED; false where an ending was decided before.
   *
   * @throws StoreError where another node has it, and that could not be written
   */
  cancel(id: string, reason: string): Promise<boolean> {
    return this.whenKnown(id, (execution) =>
      execution === undefined
        ? this.#elsewhere.cancel(id, reason)
        : this.#removals.cutShort(execution, "ENDED_CANCELLED", reason),
    );
  }

  /** As `cancel`, of an execution that nobody waits for any more: however long it takes. */
  cancelAlone(id: string, reason: string): void {
    const execution = this.#active.find(id);
    if (execution === undefined) return this.#elsewhere.insistCancel(id, reason);
    const known = this.#replacements.whenKnown(execution);
    if (known !== undefined) known.then(() => this.cancelAlone(id, reason)).catch(() => {});
    else this.#removals.cutShort(execution, "ENDED_CANCELLED", reason);
  }

  /** Of one that another waits for: meanwhile it may have that one's thread beside it. */
  async endingOf(child: ActiveExecution, parent: ActiveExecution): Promise<Outcome> {
    child.isAwaited = true;
    if (parent.run === null || child.run === null) return child.ended;
    const isOver = this.#scheduler.lend(parent.run, child.run);
    const outcome = await child.ended;
    isOver();
    return outcome;
  }

  /** Now in a thread, and now waiting for one. */
  counts(): { running: number; waiting: number } {
    const { running, waiting } = this.#scheduler.counts();
    return { running, waiting: waiting + this.queues.held };
  }

  /** Connections of this month (section 8). */
  connectionsUsed(): Promise<number> {
    return this.#options.allowance.usedAt(now());
  }

  /**
   * Calls back once the service stops, at once where it has: whoever waits is to be answered.
   *
   * @returns forgets the listener
   */
  onStop(listener: () => void): () => void {
    if (this.#journal.isStopped) listener();
    const slot = this.#stopListeners.add(listener);
    return () => this.#stopListeners.delete(slot);
  }

  /**
   * From now on `start` refuses all but children of what runs. Resolves when nothing runs any more, or the
   * time is over; then the listeners of `onStop` are called. What waits for a thread stays PENDING for the next start.
   */
  async drain(graceMs: number): Promise<void> {
    this.isDraining = true;
    this.#journal.isClosing = true;
    this.#heldBack?.close();
    await atMost(WAIT_MS, this.#scheduler.stop());
    const idleBy = performance.now() + graceMs;
    await atMost(graceMs, this.#scheduler.whenIdle());
    await atMost(Math.max(WAIT_MS, idleBy - performance.now()), this.#endings.decided());
    // Those that have ended are told of it, once that is written.
    const ending = [...this.#active].filter(({ decided }) => decided !== null);
    await atMost(WAIT_MS, Promise.all(ending.map(({ ended }) => ended)));
    this.#journal.isStopped = true;
    this.#scheduler.close();
    // Each forgets itself when it is called.
    const listeners = [...this.#stopListeners];
    for (const listener of listeners) listener();
  }

  /** @param turn of what it replaces */
  #enqueue(
    execution: ActiveExecution,
    flow: RunnableFlow | undefined,
    input: Input | null,
    turn = Infinity,
  ): void {
    this.#active.add(execution);
    const { spec, row } = execution;
    if (spec === null) {
      const message = toMissingMessage(execution.flow, flow, this.#options.onlooker !== null);
      return this.#endings.write(execution, decide(execution.id, "ENDED_ERROR", message));
    }
    const job = input === null ? null : toJob(row, input, this.#options.baseUrl);
    const run = new ExecutionRun(execution, spec, this.#runDeps, job);
    run.turn = turn;
    execution.run = run;
    execution.queue = this.queues.find(row.webhook_id);
    if (execution.queue === null) this.#scheduler.enqueue(run);
    else execution.queue.add(execution, run);
    this.#overflow.queued();
  }
}

function shuttingDown(): RequestError {
  return new RequestError("shutting_down", "The service is shutting down. Try again", {
    headers: { "retry-after": "5" },
  });
}

/** The error of a flow is for its author, and callers see this: where one looks on, it is who calls. */
function toMissingMessage(
  name: string,
  flow: RunnableFlow | undefined,
  isForAuthor: boolean,
): string {
  if (flow === undefined) return `Flow "${name}" is not in the plugins folder`;
  if (isForAuthor && flow.error) return `Flow "${name}" is broken: ${flow.error.message}`;
  return `Flow "${name}" is broken, and no version of it serves`;
}

function toCrowdedMessage(warmThreads: number): string {
  return (
    `More flows are in use at once than WARM_THREADS (${warmThreads}) keeps threads for: calls wait ` +
    "until a thread of their flow has started. Set it to as many as are in use"
  );
}

/** What is resolved within a time; undefined where that is over. */
function atMost<Value>(ms: number, value: Promise<Value>): Promise<Value | undefined> {
  return Promise.race([value, wait(ms, undefined, { ref: false })]);
}
