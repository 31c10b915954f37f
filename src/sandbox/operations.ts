import type { OperationAnswer, OperationRequest } from "../runner/protocol.ts";
import {
  Error,
  Map,
  TypeError,
  Promise,
  mapDelete,
  mapGet,
  mapSet,
  mapSize,
  parse,
  stringify,
} from "../lib/intrinsics.ts";
import { shown } from "./text.ts";

/** The operations that the server answers, as the flow sees them. */

/** Operations of one thread that wait for their answer at the same time. */
const MAX_WAITING = 100;

export interface Operations {
  start_execution(flow: unknown, input_value?: unknown): Promise<unknown>;
  setting(name: unknown): Promise<unknown>;
  set_setting(name: unknown, value: unknown): Promise<void>;
  secret(name: unknown): Promise<unknown>;
}

/** Asks the server over the wall; answers arrive by number. */
export interface Desk {
  /** @param settled is told whether it failed, and why, before whoever asked */
  ask(request: OperationRequest, settled: (failure: string | null) => void): Promise<unknown>;
  answer(number: number, answer: OperationAnswer): void;
}

interface Waiter {
  succeed(value: unknown): void;
  fail(error: Error): void;
  settled(failure: string | null): void;
}

/** @param send hands a numbered request to the runner */
export function openDesk(send: (number: number, request: OperationRequest) => void): Desk {
  const waiting = new Map<number, Waiter>();
  let last = 0;
  return {
    ask(request, settled) {
      if (mapSize(waiting) >= MAX_WAITING) {
        throw new Error(`More than ${MAX_WAITING} operations wait for an answer: await them`);
      }
      return new Promise((succeed, fail) => {
        mapSet(waiting, (last += 1), { succeed, fail, settled });
        send(last, request);
      });
    },
    answer(number, answer) {
      const waiter = mapGet(waiting, number);
      if (waiter === undefined) return;
      mapDelete(waiting, number);
      waiter.settled(answer.ok ? null : answer.message);
      if (answer.ok) waiter.succeed(parse(answer.value));
      else waiter.fail(new Error(answer.message));
    },
  };
}

/** The operations of one execution that have no answer yet. */
export interface Pending {
  count: number;
  /** Told of their ends once the flow itself has ended. */
  waiter: { failed(message: string): void; drained(): void } | null;
}

/** The operations of one execution. */
export function makeOperations(id: string, desk: Desk, pending: Pending): Operations {
  const settled = (failure: string | null): void => {
    pending.count -= 1;
    if (failure !== null) pending.waiter?.failed(failure);
    if (pending.count === 0) pending.waiter?.drained();
  };
  const ask = (name: OperationRequest["name"], args: unknown[]): Promise<unknown> => {
    const answer = desk.ask({ id, name, args: toText(name, args) }, settled);
    pending.count += 1;
    return answer;
  };
  return {
    start_execution: async (flow, input_value) =>
      await ask("start_execution", [toName("start_execution", flow), input_value ?? null]),
    setting: async (name) => await ask("setting", [toName("setting", name)]),
    set_setting: async (name, value) => {
      await ask("set_setting", [toName("set_setting", name), value ?? null]);
    },
    secret: async (name) => await ask("secret", [toName("secret", name)]),
  };
}

function toName(operation: string, name: unknown): string {
  if (typeof name === "string" && name !== "") return name;
  throw new TypeError(`${operation} takes a name, not ${shown(name)}`);
}

function toText(operation: string, args: unknown[]): string {
  try {
    return stringify(args);
  } catch (error) {
    throw new TypeError(`${operation} takes what JSON can say`, { cause: error });
  }
}
