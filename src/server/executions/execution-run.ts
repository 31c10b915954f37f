import type {
  Ending,
  FlowSpec,
  Job,
  LogLine,
  OperationAnswer,
  OperationRequest,
} from "../../shared/wire/protocol.ts";
import { findPlace } from "../../shared/error-place.ts";
import type { Run, RunLink } from "../workers/worker.ts";
import type { ActiveExecution } from "./active.ts";
import type { Endings } from "./endings.ts";
import type { Journal } from "./journal.ts";
import type { Onlooker } from "./onlooker.ts";
import type { Removals } from "./removals.ts";

/** What the run of an execution changes. */
export interface RunDeps {
  readonly journal: Journal;
  readonly removals: Removals;
  readonly endings: Endings;
  readonly onlooker: Onlooker | null;
  /** Answers an operation that a flow asked for. Never rejects. */
  operate(execution: ActiveExecution, request: OperationRequest): Promise<OperationAnswer>;
  /** It waits again. */
  onQueued(): void;
}

/** The run of an execution. */
export class ExecutionRun implements Run {
  readonly id: string;
  readonly flow: string;
  readonly spec: FlowSpec;
  readonly timeoutMs: number;
  readonly execution: ActiveExecution;
  readonly #deps: RunDeps;
  job: Job | null;
  abortReason: string | null = null;
  link: RunLink | null = null;
  turn = Infinity;

  /** @param job null: made of the record when its turn comes, so that a long queue costs little */
  constructor(execution: ActiveExecution, spec: FlowSpec, deps: RunDeps, job: Job | null) {
    this.id = execution.id;
    this.flow = execution.flow;
    this.spec = spec;
    this.timeoutMs = execution.timeoutMs;
    this.execution = execution;
    this.#deps = deps;
    this.job = job;
  }

  returned(): void {
    const { execution } = this;
    execution.givenAt = null;
    execution.queue?.returned(execution);
    const isWaiting = (): boolean => (execution.run?.link ?? null) !== null;
    this.#deps.journal.wait(execution, isWaiting);
    this.#deps.onQueued();
  }

  ended(ending: Ending): void {
    const { journal, removals, endings } = this.#deps;
    // Lost with the service itself: the next start ends it as interrupted.
    if (journal.isStopped) return;
    removals.leaveRun(this.execution);
    endings.conclude(this.execution, ending);
  }

  expired(): void {
    const message = `It ran longer than its limit of ${this.timeoutMs / 1000} s`;
    this.#deps.removals.cutShort(this.execution, "ENDED_TIMEOUT", message);
  }

  log(lines: readonly LogLine[]): void {
    const { execution } = this;
    if (execution.isElsewhere) return;
    execution.place = findPlace(lines) ?? execution.place;
    this.#deps.journal.addLog(this.id, lines);
    this.#deps.onlooker?.logged(execution, lines);
  }

  operate(request: OperationRequest): Promise<OperationAnswer> {
    return this.#deps.operate(this.execution, request);
  }
}
