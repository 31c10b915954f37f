import type {
  Ending,
  FlowSpec,
  Job,
  LogLine,
  OperationAnswer,
  OperationRequest,
} from "../../shared/wire/protocol.ts";
import type { Run, RunLink } from "../workers/worker.ts";
import type { ActiveExecution } from "./active.ts";

/** What becomes of a run, for who has its execution. */
export interface RunEvents {
  returned(execution: ActiveExecution): void;
  ended(execution: ActiveExecution, ending: Ending): void;
  expired(execution: ActiveExecution): void;
  log(execution: ActiveExecution, lines: readonly LogLine[]): void;
  operate(execution: ActiveExecution, request: OperationRequest): Promise<OperationAnswer>;
}

/** The run of an execution. */
export class ExecutionRun implements Run {
  readonly id: string;
  readonly flow: string;
  readonly spec: FlowSpec;
  readonly timeoutMs: number;
  readonly execution: ActiveExecution;
  readonly #events: RunEvents;
  job: Job | null;
  abortReason: string | null = null;
  link: RunLink | null = null;

  /** @param job null: made of the record when its turn comes, so that a long queue costs little */
  constructor(execution: ActiveExecution, spec: FlowSpec, events: RunEvents, job: Job | null) {
    this.id = execution.id;
    this.flow = execution.flow;
    this.spec = spec;
    this.timeoutMs = execution.timeoutMs;
    this.execution = execution;
    this.#events = events;
    this.job = job;
  }

  returned(): void {
    this.#events.returned(this.execution);
  }

  ended(ending: Ending): void {
    this.#events.ended(this.execution, ending);
  }

  expired(): void {
    this.#events.expired(this.execution);
  }

  log(lines: readonly LogLine[]): void {
    this.#events.log(this.execution, lines);
  }

  operate(request: OperationRequest): Promise<OperationAnswer> {
    return this.#events.operate(this.execution, request);
  }
}
