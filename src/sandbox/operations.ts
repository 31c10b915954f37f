import {
  MAX_NAME,
  MAX_SETTING_BYTES,
  MAX_WAITING_BYTES,
  type OperationAnswer,
  type OperationRequest,
} from "../shared/wire/protocol.ts";
import * as js from "../shared/intrinsics.ts";
import { parseExactly } from "../shared/parse-exactly.ts";
import type { FlowLog } from "./flow-log.ts";
import { shown } from "./text.ts";
import { toValueText } from "./value-text.ts";

/** The operations that the server answers, as the flow sees them. */

/** Operations of one thread that wait for their answer at the same time. */
const MAX_WAITING = 100;

interface Waiter {
  succeed(value: unknown): void;
  fail(error: Error): void;
  settled(failure: string | null): void;
  /** Of the value that it sent. */
  readonly bytes: number;
}

/** Asks the server over the wall; answers arrive by number. */
export class OperationClient {
  readonly #send: (number: number, request: OperationRequest) => void;
  readonly #waiting = new js.Map<number, Waiter>();
  #last = 0;
  #waitingBytes = 0;

  /** @param send hands a numbered request to the runner */
  constructor(send: (number: number, request: OperationRequest) => void) {
    this.#send = send;
  }

  /** Whether an answer is still to come. */
  get isWaiting(): boolean {
    return js.mapSize(this.#waiting) > 0;
  }

  /** @param settled is told whether it failed, and why, before whoever asked */
  ask(request: OperationRequest, settled: (failure: string | null) => void): Promise<unknown> {
    if (js.mapSize(this.#waiting) >= MAX_WAITING)
      throw new js.Error(
        `More than ${MAX_WAITING} operations wait for an answer: await some of them before the next`,
      );
    if (this.#waitingBytes > MAX_WAITING_BYTES)
      throw new js.Error(
        `Operations with more than ${MAX_WAITING_BYTES} bytes wait for an answer: await them before the next`,
      );
    const bytes = request.value === null ? 0 : js.byteLength(request.value);
    return new js.Promise((succeed, fail) => {
      js.mapSet(this.#waiting, (this.#last += 1), { succeed, fail, settled, bytes });
      this.#waitingBytes += bytes;
      this.#send(this.#last, request);
    });
  }

  answer(number: number, answer: OperationAnswer): void {
    const waiter = js.mapGet(this.#waiting, number);
    if (waiter === undefined) return;
    js.mapDelete(this.#waiting, number);
    this.#waitingBytes -= waiter.bytes;
    waiter.settled(answer.ok ? null : answer.message);
    if (answer.ok) waiter.succeed(parseExactly(answer.value));
    else waiter.fail(new js.Error(answer.message));
  }
}

/** What operations know of the execution that asks. */
export interface Asking {
  readonly job: { readonly id: string };
  readonly pending: Pending;
  readonly log: Pick<FlowLog, "write">;
  readonly ended: boolean;
}

/** The operations of one execution that have no answer yet. */
export interface Pending {
  count: number;
  /** Told of their ends once the flow itself has ended. */
  waiter: { failed(message: string): void; drained(): void } | null;
}

/**
 * The operations of one execution.
 * @param max_input_bytes of a child's input_value
 */
export function makeOperations(
  execution: Asking,
  client: Pick<OperationClient, "ask">,
  max_input_bytes: number,
) {
  const { job, pending, log } = execution;
  const settled = (failure: string | null): void => {
    pending.count -= 1;
    if (failure !== null) pending.waiter?.failed(failure);
    if (pending.count === 0) pending.waiter?.drained();
  };
  const ask = (
    operation: OperationRequest["operation"],
    name: unknown,
    value: string | null,
    wait = false,
  ): Promise<unknown> => {
    const request = { id: job.id, operation, name: toName(operation, name), value, wait };
    if (execution.ended)
      throw new js.Error(`Cannot ask for ${operation} "${request.name}": the execution has ended`);
    const answer = client.ask(request, settled);
    pending.count += 1;
    return answer;
  };
  return {
    start_execution: async (flow: unknown, input_value?: unknown, options?: unknown) =>
      await ask(
        "start_execution",
        flow,
        input_value === undefined
          ? null
          : toText("start_execution", input_value, max_input_bytes, log),
        toWait(options),
      ),
    setting: async (name: unknown) => await ask("setting", name, null),
    set_setting: async (name: unknown, value: unknown) => {
      await ask("set_setting", name, toText("set_setting", value ?? null, MAX_SETTING_BYTES, log));
    },
    secret: async (name: unknown) => {
      const value = await ask("secret", name, null);
      if (value === null) log.write("info", [toUnsetMessage(js.String(name))]);
      return value;
    },
  };
}

/** For who forgot it: what comes of a secret that is null is seen elsewhere. */
function toUnsetMessage(name: string): string {
  return `There is no secret "${name}", so it is null. Set it with: flowhook secret set ${name}; a test gives it in options.secrets`;
}

function toWait(options: unknown): boolean {
  if (options === undefined) return false;
  const wait = js.own(options, "wait");
  if (typeof wait === "boolean") return wait;
  throw new js.TypeError(
    `start_execution takes { wait: true } as its options, not ${shown(options)}`,
  );
}

function toName(operation: string, name: unknown): string {
  if (typeof name !== "string" || name === "")
    throw new js.TypeError(`${operation} takes a name, not ${shown(name)}`);
  if (name.length > MAX_NAME)
    throw new js.TypeError(`${operation} takes a name of at most ${MAX_NAME} characters`);
  return name;
}

/** @throws {TypeError} where JSON cannot say it, or it is larger or deeper than what is taken */
function toText(
  operation: keyof typeof VALUES,
  value: unknown,
  maxBytes: number,
  log: Pick<FlowLog, "write">,
): string {
  const text = toValueText(value, VALUES[operation], log);
  const bytes = js.byteLength(text);
  if (bytes > maxBytes)
    throw new js.TypeError(`${operation} takes a value of at most ${maxBytes} bytes, not ${bytes}`);
  return text;
}

const VALUES = {
  start_execution: "input_value of start_execution",
  set_setting: "value of set_setting",
} as const;
