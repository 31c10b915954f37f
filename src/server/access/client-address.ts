import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import ipaddr from "ipaddr.js";
import { toPlain } from "./address-list.ts";
import { networkOf } from "./network.ts";

/** Who really sent a request, where proxies stand in between. */
export interface ClientAddress {
  readonly address: string;
  readonly isSecure: boolean;
}

export type AddressReader = (incoming: IncomingMessage) => ClientAddress;

/** Whether an address is that of a proxy which is believed. */
export type ProxyTrust = (address: string) => boolean;

/** @param trusted_proxies addresses or CIDRs */
export function openProxyTrust(trustedProxies: readonly string[]): ProxyTrust {
  if (trustedProxies.length === 0) return () => false;
  const ranges = trustedProxies.map((cidr) => toPlain(...ipaddr.parseCIDR(toCidr(cidr))));
  return (address) => {
    if (!ipaddr.isValid(address)) return false;
    const parsed = ipaddr.process(address);
    return ranges.some(
      ([range, bits]) => parsed.kind() === range.kind() && parsed.match(range, bits),
    );
  };
}

/** Address of the other end of a connection. */
export function peerOf({ remoteAddress = "" }: Pick<Socket, "remoteAddress">): string {
  return remoteAddress.startsWith("::ffff:")
    ? remoteAddress.slice("::ffff:".length)
    : remoteAddress;
}

/**
 * Believes X-Forwarded-For and -Proto only from the proxies of TRUSTED_PROXIES: the client is the
 * last address that no trusted proxy has.
 *
 * @param onUntrusted is told a peer that forwards for others and is not believed
 */
export function openAddressReader(
  isTrusted: ProxyTrust,
  onUntrusted: (peer: string) => void = () => {},
): AddressReader {
  return ({ socket, headers }) => {
    const peer = peerOf(socket);
    const isSecure = "encrypted" in socket && socket.encrypted === true;
    const forwarded = headers["x-forwarded-for"];
    if (!isTrusted(peer)) {
      if (forwarded !== undefined) onUntrusted(peer);
      return { address: peer, isSecure };
    }
    const proto = last(headers["x-forwarded-proto"]);
    return {
      address: findClient(peer, forwarded, isTrusted),
      isSecure: proto === undefined ? isSecure : proto === "https",
    };
  };
}

/** From the nearest hop on: what cannot be read, and all before it, is nobody's word. */
function findClient(
  peer: string,
  forwarded: string | string[] | undefined,
  isTrusted: ProxyTrust,
): string {
  let client = peer;
  for (const part of String(forwarded ?? "")
    .split(",")
    .toReversed()) {
    const hop = readHop(part.trim());
    if (hop === null) return client;
    client = hop;
    if (!isTrusted(hop)) return client;
  }
  return client;
}

/** Some proxies write the port as well. */
const WITH_PORT = /^(?:\[([\da-f:.]+(?:%[\w.~-]+)?)\]|(\d+\.\d+\.\d+\.\d+))(?::\d{1,5})?$/i;

const ZONE = /%[\w.~-]+$/;

/** An address in its usual form, without a zone, which only its host knows; null where it is none. */
function readHop(part: string): string | null {
  const [, ipv6, ipv4] = WITH_PORT.exec(part) ?? [];
  const address = ipv6 ?? ipv4 ?? part;
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) return address;
  const plain = address.replace(ZONE, "");
  const isIpv6 = ipaddr.IPv6.isValid(plain) && !plain.includes("%");
  return isIpv6 ? ipaddr.process(plain).toString() : null;
}

/** Peers that are told of, by ranges of addresses. */
const MOST_RANGES = 100;

/** Tells of each range of addresses once, so that whoever sends the header fills no log. */
export function onceForRange(tell: (peer: string) => void): (peer: string) => void {
  const told = new Set<string>();
  return (peer) => {
    const range = peer.includes(":") ? networkOf(peer) : peer.slice(0, peer.lastIndexOf("."));
    if (told.has(range) || told.size >= MOST_RANGES) return;
    told.add(range);
    tell(peer);
  };
}

function last(header: string | string[] | undefined): string | undefined {
  return header === undefined ? undefined : String(header).split(",").at(-1)?.trim();
}

function toCidr(text: string): string {
  return text.includes("/") ? text : `${text}/${text.includes(":") ? 128 : 32}`;
}
