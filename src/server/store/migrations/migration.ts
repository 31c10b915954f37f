import type { Kysely } from "kysely";

/** Brings the tables up by one step, in the transaction that it is given. */
export type Migration = (db: Kysely<unknown>, progress: Progress) => Promise<void>;

/** Told of how many rows of how many are done. */
export type Progress = (done: number, total: number) => void;
