import { endingOf, type Run, type WorkerEvents } from "../server/workers/worker.ts";
import type { Supervisor } from "../server/workers/supervisor.ts";
import type {
  Ending,
  FlowSpec,
  Job,
  LogLine,
  OperationAnswer,
  OperationRequest,
} from "../shared/wire/protocol.ts";

/** One run in a thread that is started for it. */
export interface ThreadRun {
  readonly job: Job;
  readonly timeoutMs: number;
  /** Between the signal and the end of the thread. */
  readonly graceMs: number;
  log(lines: readonly LogLine[]): void;
  operate(request: OperationRequest): Promise<OperationAnswer>;
}

export interface ThreadEnding {
  readonly ending: Ending;
  /** Its limit, where it ran longer. */
  readonly expiredMs: number | null;
}

/** @throws Error where no runner can be started */
export function runInThread(
  runners: Supervisor,
  spec: FlowSpec,
  given: ThreadRun,
): Promise<ThreadEnding> {
  const { promise, resolve } = Promise.withResolvers<ThreadEnding>();
  const { timeoutMs, graceMs } = given;
  const timers: NodeJS.Timeout[] = [];
  const run = toRun(spec, given);
  const settle = (ending: Ending): void => {
    for (const timer of timers) clearTimeout(timer);
    const expiredMs = run.abortReason === null ? null : timeoutMs;
    resolve({ ending: endingOf(run, ending), expiredMs });
  };
  const expire = (): void => {
    run.abortReason = "The time is over";
    worker.abort(run.abortReason);
    timers.push(setTimeout(() => worker.end(), graceMs));
  };
  const events: WorkerEvents = {
    onReady: (ready) => {
      timers.push(setTimeout(expire, timeoutMs));
      ready.assign([run]);
    },
    onEnded: (_worker, _run, ending) => settle(ending),
    onStray: () => {},
    onRecalled: () => {},
    onCrashed: (_worker, _runs, ending) => settle(ending),
    onFailed: (_worker, ending) => settle(ending),
  };
  const worker = runners.startWorker(spec, events);
  return promise;
}

function toRun(spec: FlowSpec, { job, timeoutMs, log, operate }: ThreadRun): Run {
  return {
    id: job.id,
    flow: spec.flow,
    spec,
    timeoutMs,
    job,
    abortReason: null,
    link: null,
    turn: Infinity,
    returned: () => {},
    ended: () => {},
    expired: () => {},
    log,
    operate,
  };
}
