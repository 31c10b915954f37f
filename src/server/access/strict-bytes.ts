/** Texts as bytes, where a text that is nearly right is wrong: lenient decoders make empty keys. */

const HEX = /^(?:[0-9a-f]{2})*$/i;

/** Either alphabet (RFC 4648, sections 4 and 5), not both; padding may be left out. */
const BASE64 = /^(?:[A-Za-z0-9+/]*|[\w-]*)(={0,2})$/;

export function decodeHex(text: string): Buffer | null {
  return HEX.test(text) ? Buffer.from(text, "hex") : null;
}

/** null also where bits are set that stand for nothing: one value has one text. */
export function decodeBase64(text: string): Buffer | null {
  const padding = BASE64.exec(text)?.[1];
  if (padding === undefined) return null;
  const digits = text.slice(0, text.length - padding.length);
  if (padding !== "" && text.length % 4 !== 0) return null;
  const bytes = Buffer.from(digits, "base64");
  const plain = digits.replaceAll("-", "+").replaceAll("_", "/");
  return bytes.toString("base64").replace(/=+$/, "") === plain ? bytes : null;
}

export function decodeStrictly(text: string, encoding: "hex" | "base64"): Buffer | null {
  return encoding === "hex" ? decodeHex(text) : decodeBase64(text);
}
