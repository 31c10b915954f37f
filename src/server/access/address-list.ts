import ipaddr from "ipaddr.js";

/** Addresses and ranges of addresses (CIDR) of IPv4 and IPv6. */
export type AddressList = (address: string) => boolean;

type Range = readonly [address: ipaddr.IPv4 | ipaddr.IPv6, bits: number];

/** @returns whether an address is in the list; one in IPv6's clothes is the IPv4 address */
export function openAddressList(texts: readonly string[]): AddressList {
  const ranges = texts.map(readRange).filter((range) => typeof range !== "string");
  return (address) => {
    const [plain = ""] = address.split("%");
    if (!ipaddr.isValid(plain)) return false;
    const parsed = ipaddr.process(plain);
    return ranges.some(
      ([range, bits]) => parsed.kind() === range.kind() && parsed.match(range, bits),
    );
  };
}

/** @returns what is wrong with it, as a text */
export function readRange(text: string): Range | string {
  const [address = "", bits, ...more] = text.split("/");
  const isIpv4 = ipaddr.IPv4.isValidFourPartDecimal(address);
  if (!isIpv4 && !(ipaddr.IPv6.isValid(address) && !address.includes("%")))
    return "expected an address or a range like 192.0.2.0/24";
  const parsed = ipaddr.parse(address);
  const most = isIpv4 ? 32 : 128;
  if (bits === undefined) return toPlain(parsed, most);
  if (more.length > 0 || !/^\d{1,3}$/.test(bits) || Number(bits) > most)
    return `expected a number from 0 to ${most} behind the slash`;
  const network = isIpv4
    ? ipaddr.IPv4.networkAddressFromCIDR(text)
    : ipaddr.IPv6.networkAddressFromCIDR(text);
  if (network.toString() !== parsed.toString())
    return `has host bits that are not zero: expected ${network.toString()}/${bits}`;
  return toPlain(parsed, Number(bits));
}

/** Bits of an IPv6 address before the IPv4 address that it holds. */
const MAPPED_BITS = 96;

/** The range as connections show their addresses: one of IPv4 in IPv6's clothes is undressed. */
export function toPlain(address: ipaddr.IPv4 | ipaddr.IPv6, bits: number): Range {
  if (!(address instanceof ipaddr.IPv6) || !address.isIPv4MappedAddress() || bits < MAPPED_BITS)
    return [address, bits];
  return [address.toIPv4Address(), bits - MAPPED_BITS];
}
