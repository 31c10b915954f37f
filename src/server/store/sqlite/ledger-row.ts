import { listReplaced, type LedgerEntry, type LedgerRecord } from "../ledger-record.ts";

/** A row of the ledger: what was written in one turn of the event loop. */
export interface LedgerRow {
  /** JSON list of pairs: a record, and the length of its text in UTF-16 units or null. */
  readonly head: string;
  /** The texts, one after the other. */
  readonly texts: string;
}

export function encodeRow(entries: readonly LedgerEntry[]): LedgerRow {
  let texts = "";
  const head = entries.map(({ record, text }) => {
    if (text !== null) texts += text;
    return [record, text === null ? null : text.length];
  });
  return { head: JSON.stringify(head), texts };
}

export function decodeRow({ head, texts }: LedgerRow): LedgerEntry[] {
  let at = 0;
  return (JSON.parse(head) as [LedgerRecord, number | null][]).flatMap(([record, length]) => {
    if (length === null) return { record, text: null };
    const entry = { record, text: texts.slice(at, (at += length)) };
    return record.kind === "begin" ? [entry, ...listReplaced(record)] : entry;
  });
}
