import type { Log } from "../shared/log.ts";
import type { Config } from "../server/config/resolve.ts";
import type { Service } from "../server/service.ts";
import { isAttended } from "./attended.ts";

/** What comes so soon after another is the same one: some signal the process and then its group. */
const SAME_MS = 1000;

type Stopped = Pick<Service, "running">;
type Times = Pick<Config, "SHUTDOWN_DELAY_SEC" | "SHUTDOWN_GRACE_SEC">;

/** SIGTERM, SIGINT and a closed terminal: the first asks for a stop, one after that for a stop at once. */
export interface StopSignals {
  readonly first: Promise<void>;
  /** Aborted by the first. */
  readonly stopping: AbortSignal;
  readonly second: Promise<void>;
  /** What stops; until there is something, a second signal ends the process. */
  service: Stopped | null;
}

export function watchStopSignals(log: Log, times: Times): StopSignals {
  const first = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  const stopping = new AbortController();
  const signals: StopSignals = {
    first: first.promise,
    stopping: stopping.signal,
    second: second.promise,
    service: null,
  };
  let count = 0;
  let last = Number.NEGATIVE_INFINITY;

  function take(signal: NodeJS.Signals): void {
    const at = performance.now();
    if (at - last < SAME_MS) return;
    last = at;
    count += 1;
    if (count === 1) {
      log.info({ signal }, describeStop(signals.service, times));
      first.resolve();
      stopping.abort();
    } else if (signals.service === null) process.exit(1);
    else if (count === 2) {
      log.warn({ signal }, "Stopping at once: what runs is interrupted");
      second.resolve();
    }
  }

  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, take);
  process.on("SIGHUP", isAttended() ? take : () => log.info(HANG_UP));
  return signals;
}

const HANG_UP =
  "SIGHUP: nothing to do. Flows and certificates are taken up as they change; a change of the " +
  "configuration needs a restart";

function describeStop(service: Stopped | null, times: Times): string {
  if (service === null) return "Stopping within the start; a second signal ends it at once";
  const { SHUTDOWN_DELAY_SEC: delay, SHUTDOWN_GRACE_SEC: grace } = times;
  const stopping = delay > 0 ? `Not ready any more, stopping in ${delay} s` : "Stopping";
  const running = service.running();
  if (running === 0) return `${stopping}: nothing runs`;
  const what = running === 1 ? "1 execution runs, it has" : `${running} executions run, they have`;
  return `${stopping}: ${what} up to ${grace} s; a second signal (Ctrl-C) interrupts what runs`;
}
