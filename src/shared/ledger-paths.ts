/**
 * The two files of the ledger beside a database: while one is written, what the other held becomes
 * rows of the database.
 *
 * @param path of the database
 */
export function ledgerPaths(path: string): readonly [string, string] {
  return [`${path}-ledger-0`, `${path}-ledger-1`];
}
