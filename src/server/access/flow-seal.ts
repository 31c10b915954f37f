import { isSame } from "./api-key.ts";
import { sign } from "./data-key.ts";

/** Shows that whoever wrote a text has the data key. */
export interface FlowSeal {
  of(text: string): string;
  /** Compared in constant time. */
  isOf(seal: string, text: string): boolean;
}

/** @param key derived from the data key */
export function openFlowSeal(key: Buffer): FlowSeal {
  return {
    of: (text) => sign(key, text),
    isOf: (seal, text) => isSame(seal, sign(key, text)),
  };
}
