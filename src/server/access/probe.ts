import type { IncomingMessage } from "node:http";
import { now } from "../../shared/clock.ts";
import { isSame } from "./api-key.ts";
import { peerOf, type AddressReader, type ProxyTrust } from "./client-address.ts";
import { sign } from "./data-key.ts";

/**
 * What the service sees of a connection, told to nobody but a holder of the data folder's key: the
 * answer names proxies, and comes from no other service.
 */
export interface SeenConnection {
  /** The client's address, as lists and limits of addresses know it. */
  readonly address: string;
  readonly scheme: "http" | "https";
  /** Whether it came with X-Forwarded-For. */
  readonly forwarded: boolean;
  /** Whether the other end of the connection is in TRUSTED_PROXIES. */
  readonly trusted: boolean;
}

/** Reads the connection of a request; null without a valid probe. */
export type ConnectionReader = (incoming: IncomingMessage) => SeenConnection | null;

export const PROBE_HEADER = "x-flowhook-probe";

/** How old a probe may be, or how far ahead of the clock; milliseconds. */
const LIFE_MS = 60_000;

interface ProbeDeps {
  /** Derived from the data folder's key for this alone. */
  readonly key: Buffer;
  readonly isTrusted: ProxyTrust;
  readonly addressOf: AddressReader;
}

export function openConnectionReader({ key, isTrusted, addressOf }: ProbeDeps): ConnectionReader {
  return (incoming) => {
    const probe = incoming.headers[PROBE_HEADER];
    if (typeof probe !== "string" || !isValid(key, probe)) return null;
    const { address, isSecure } = addressOf(incoming);
    return {
      address,
      scheme: isSecure ? "https" : "http",
      forwarded: incoming.headers["x-forwarded-for"] !== undefined,
      trusted: isTrusted(peerOf(incoming.socket)),
    };
  };
}

/** The value of the header: the time, and its signature. */
export function makeProbe(key: Buffer): string {
  const at = String(now());
  return `${at}.${sign(key, at)}`;
}

function isValid(key: Buffer, probe: string): boolean {
  const [at = "", mac = ""] = probe.split(".");
  return isSame(mac, sign(key, at)) && Math.abs(now() - Number(at)) <= LIFE_MS;
}
