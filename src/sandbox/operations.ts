import type { OperationAnswer, OperationRequest } from "../runner/protocol.ts";
import { shown } from "./text.ts";

/** The operations that the server answers, as the flow sees them. */

const { stringify, parse } = JSON;

/** Operations of one execution that wait for their answer at the same time. */
const MAX_WAITING = 100;

export interface Operations {
  start_execution(flow: unknown, input_value?: unknown): Promise<unknown>;
  setting(name: unknown): Promise<unknown>;
  set_setting(name: unknown, value: unknown): Promise<void>;
  secret(name: unknown): Promise<unknown>;
}

/** Asks the server over the wall; answers arrive by number. */
export interface Desk {
  ask(request: OperationRequest): Promise<unknown>;
  answer(number: number, answer: OperationAnswer): void;
}

/** @param send hands a numbered request to the runner */
export function openDesk(send: (number: number, request: OperationRequest) => void): Desk {
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  let last = 0;
  return {
    ask(request) {
      if (waiting.size >= MAX_WAITING) {
        throw new Error(`More than ${MAX_WAITING} operations wait for an answer: await them`);
      }
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      waiting.set((last += 1), { resolve, reject });
      send(last, request);
      return promise;
    },
    answer(number, answer) {
      const waiter = waiting.get(number);
      waiting.delete(number);
      if (answer.ok) waiter?.resolve(parse(answer.value));
      else waiter?.reject(new Error(answer.message));
    },
  };
}

/**
 * The operations of one execution.
 * @param pending holds those that wait for their answer
 */
export function makeOperations(id: string, desk: Desk, pending: Set<Promise<unknown>>): Operations {
  const ask = (name: OperationRequest["name"], args: unknown[]): Promise<unknown> => {
    const answer = desk.ask({ id, name, args: toText(name, args) });
    const done = (): void => void pending.delete(answer);
    pending.add(answer);
    answer.then(done, done);
    return answer;
  };
  return {
    start_execution: async (flow, input_value) =>
      ask("start_execution", [toName("start_execution", flow), input_value ?? null]),
    setting: async (name) => ask("setting", [toName("setting", name)]),
    set_setting: async (name, value) => {
      await ask("set_setting", [toName("set_setting", name), value ?? null]);
    },
    secret: async (name) => ask("secret", [toName("secret", name)]),
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
