import { generateKeyPairSync, sign, type KeyObject } from "node:crypto";

/** Certificates for tests (X.509, RFC 5280): no key of a test is ever kept in a file. */
export interface Made {
  /** PEM. */
  readonly cert: string;
  /** PEM, PKCS #8. */
  readonly key: string;
  readonly private_key: KeyObject;
  readonly name: string;
}

export interface Wish {
  readonly name?: string;
  /** Days from now. */
  readonly from?: number;
  readonly until?: number;
  readonly type?: "ec" | "rsa";
  /** Who signs it; itself unless told. */
  readonly by?: Made;
}

/** Its first byte is not 0, which DER would not write. */
let serial = 0x2000_0000;

const DAY_MS = 24 * 60 * 60 * 1000;

export function makeCertificate(wish: Wish = {}): Made {
  const { name = "localhost", from = -1, until = 365, type = "ec", by } = wish;
  const pair =
    type === "ec"
      ? generateKeyPairSync("ec", { namedCurve: "P-256" })
      : generateKeyPairSync("rsa", { modulusLength: 2048 });
  const algorithm = by === undefined && type === "rsa" ? RSA_SHA256 : ECDSA_SHA256;
  const body = sequence(
    integer(serial++),
    algorithm,
    toName(by?.name ?? name),
    sequence(time(from), time(until)),
    toName(name),
    pair.publicKey.export({ type: "spki", format: "der" }),
  );
  const signature = sign("sha256", body, by?.private_key ?? pair.privateKey);
  const whole = sequence(body, algorithm, tagged(0x03, Buffer.from([0]), signature));
  return {
    cert: toPem("CERTIFICATE", whole),
    key: pair.privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    private_key: pair.privateKey,
    name,
  };
}

export function toPem(label: string, bytes: Uint8Array): string {
  const lines =
    Buffer.from(bytes)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}

/** Distinguished Encoding Rules (ITU-T X.690). */
function tagged(tag: number, ...parts: Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content]);
  return Buffer.concat([Buffer.from([tag, 0x82, length >> 8, length & 0xff]), content]);
}

function sequence(...parts: Uint8Array[]): Buffer {
  return tagged(0x30, ...parts);
}

function integer(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return tagged(0x02, bytes);
}

function time(days: number): Buffer {
  const iso = new Date(Date.now() + days * DAY_MS).toISOString();
  return tagged(0x18, Buffer.from(`${iso.slice(0, 19).replace(/\D/g, "")}Z`));
}

function toName(name: string): Buffer {
  const common_name = Buffer.from("0603550403", "hex");
  return sequence(tagged(0x31, sequence(common_name, tagged(0x0c, Buffer.from(name)))));
}

const ECDSA_SHA256 = sequence(Buffer.from("06082a8648ce3d040302", "hex"));
const RSA_SHA256 = sequence(Buffer.from("06092a864886f70d01010b0500", "hex"));
