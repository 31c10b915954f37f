import { v4, v7 } from "uuid";

/** A random identifier (UUID version 4) for configured resources. */
export function newId(): string {
  return v4();
}

/** An identifier that grows with time (UUID version 7, RFC 9562), so that inserts append. */
export function newExecutionId(): string {
  return v7();
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Whether a text has the canonical form of a UUID. */
export function isId(text: string): boolean {
  return UUID.test(text);
}
