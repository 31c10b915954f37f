/** Of a stream that has nothing to tell: that it lives. Proxies keep it then, and readers trust it. */
export const HEARTBEAT = "heartbeat";

/** How often it is told, in milliseconds. */
export const HEARTBEAT_MS = 15_000;
