/**
 * How long a batch of records is tried again where the connection was lost, in milliseconds. Somebody
 * is told of begins and endings then; lines of logs are tried on, and who reads waits no longer.
 */
export const PATIENCE_MS = 5000;
