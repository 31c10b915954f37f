/** Why no further execution is taken now, in words: of this node's, or of all that share a store. */

export function describeUnended(count: number): string {
  const what =
    count === 1 ? "1 execution of this webhook has" : `${count} executions of this webhook have`;
  return `${what} not ended, as many as may be at once`;
}

/**
 * @param whose they are, with a blank before it
 * @param limit how many may wait, in words
 */
export function describeWaiting(count: number, whose: string, limit: string): string {
  if (count === 0) return `No execution${whose} may wait, and none can start at once`;
  const what = count === 1 ? `1 execution${whose} waits` : `${count} executions${whose} wait`;
  return `${what} already${limit}`;
}
