/**
 * After this long, in milliseconds, what a test waits for is taken to never come: many times what a
 * busy machine needs. How quick something must be is measured and asserted where it matters, never
 * by such an end of waiting.
 */
export const HUNG_MS = 60_000;
