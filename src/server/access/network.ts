import ipaddr from "ipaddr.js";

/**
 * Within what a client changes its address at will: of IPv6 the first 64 bits, which one connection
 * usually has; an IPv4 address is one. What is no address stays as it is.
 */
export function networkOf(address: string): string {
  if (!address.includes(":") || !ipaddr.IPv6.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (!(parsed instanceof ipaddr.IPv6)) return parsed.toString();
  const parts = parsed.parts.slice(0, 4).map((part) => part.toString(16));
  return `${parts.join(":")}::/64`;
}
