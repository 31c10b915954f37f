import type { IncomingMessage } from "node:http";
import ipaddr from "ipaddr.js";

/** Who really sent a request, where proxies stand in between. */
export interface ClientAddress {
  readonly address: string;
  readonly is_secure: boolean;
}

export type AddressReader = (incoming: IncomingMessage) => ClientAddress;

/**
 * Believes X-Forwarded-For and -Proto only from the CIDRs of TRUSTED_PROXIES: the client is the
 * last address that no trusted proxy has.
 */
export function openAddressReader(trusted_proxies: readonly string[]): AddressReader {
  const ranges = trusted_proxies.map((cidr) => ipaddr.parseCIDR(toCidr(cidr)));
  const isTrusted = (address: string): boolean => {
    if (!ipaddr.isValid(address)) return false;
    const parsed = ipaddr.process(address);
    return ranges.some(
      ([range, bits]) => parsed.kind() === range.kind() && parsed.match(range, bits),
    );
  };
  return (incoming) => {
    const socket = incoming.socket;
    const raw = socket.remoteAddress ?? "";
    const peer = raw.startsWith("::ffff:") ? raw.slice("::ffff:".length) : raw;
    const is_secure = "encrypted" in socket && socket.encrypted === true;
    if (ranges.length === 0 || !isTrusted(peer)) return { address: peer, is_secure };
    const proto = last(incoming.headers["x-forwarded-proto"]);
    return {
      address: findClient(incoming.headers["x-forwarded-for"], isTrusted) ?? peer,
      is_secure: proto === undefined ? is_secure : proto === "https",
    };
  };
}

function findClient(
  forwarded: string | string[] | undefined,
  isTrusted: (address: string) => boolean,
): string | undefined {
  const chain = String(forwarded ?? "")
    .split(",")
    .map((part) => part.trim())
    .filter((part) => ipaddr.isValid(part));
  return chain.findLast((address) => !isTrusted(address)) ?? chain[0];
}

function last(header: string | string[] | undefined): string | undefined {
  return header === undefined ? undefined : String(header).split(",").at(-1)?.trim();
}

function toCidr(text: string): string {
  return text.includes("/") ? text : `${text}/${text.includes(":") ? 128 : 32}`;
}
