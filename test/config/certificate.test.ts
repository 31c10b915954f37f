import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { readCertificate } from "../../src/server/config/certificate.ts";
import { ConfigError } from "../../src/server/config/config-error.ts";
import { makeCertificate, toPem } from "./certificate-maker.ts";

const folder = mkdtempSync(join(tmpdir(), "flowhook certificate-"));
after(() => rmSync(folder, { recursive: true }));

const certFile = join(folder, "cert.pem");
const keyFile = join(folder, "key.pem");

function read(cert: string | Uint8Array, key: string | Uint8Array) {
  writeFileSync(certFile, cert);
  writeFileSync(keyFile, key);
  const config = { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile };
  return readCertificate(config, (name) => (name === "TLS_CERT_FILE" ? "f.yaml:2" : "f.yaml:3"));
}

const own = makeCertificate();
const other = makeCertificate({ name: "other.example" });
const authority = makeCertificate({ name: "Some Authority" });
const issued = makeCertificate({ name: "shop.example", by: authority });

function derOf(pem: string): Buffer {
  return Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ""), "base64");
}

describe("10: certificate and key that are taken", () => {
  const rows: Record<string, [string, string]> = {
    "an elliptic curve": [own.cert, own.key],
    RSA: [makeCertificate({ type: "rsa" }).cert, ""],
    "a chain, the own one first": [issued.cert + authority.cert, issued.key],
    "text around the blocks": [`Subject: x\n\n${own.cert}\nend`, `\ufeff${own.key}`],
    "both in each file": [own.key + own.cert, own.cert + own.key],
    "lines that end as on Windows": [own.cert.replaceAll("\n", "\r\n"), own.key],
    "the older form of a key": [
      own.cert,
      own.private_key.export({ type: "sec1", format: "pem" }).toString(),
    ],
  };
  const rsa = makeCertificate({ type: "rsa" });
  rows["RSA"] = [rsa.cert, rsa.private_key.export({ type: "pkcs1", format: "pem" }).toString()];
  for (const [name, [cert, key]] of Object.entries(rows))
    test(`10: ${name}`, () => {
      assert.deepEqual(read(cert, key)?.warnings, []);
    });

  test("10: none without the keys of the configuration", () => {
    assert.equal(readCertificate({ TLS_CERT_FILE: null, TLS_KEY_FILE: null }), null);
  });
});

describe("10: certificate and key that are refused", () => {
  const encrypted = own.private_key.export({
    type: "pkcs8",
    format: "pem",
    cipher: "aes-256-cbc",
    passphrase: "secret",
  });
  const damaged = (label: string) => toPem(label, Buffer.from("no certificate at all"));
  const rows: Record<string, { pair: [string | Uint8Array, string | Uint8Array]; says: RegExp[] }> =
    {
      "an empty certificate": {
        pair: ["", own.key],
        says: [
          /^Configuration refused: f\.yaml:2: Found nothing in ".+cert\.pem" for TLS_CERT_FILE/,
        ],
      },
      "a text": {
        pair: ["hello", own.key],
        says: [/Found no PEM in/, /expected a certificate chain/],
      },
      DER: { pair: [derOf(own.cert), own.key], says: [/f\.yaml:2: Found binary \(DER\)/] },
      "the files swapped": {
        pair: [own.key, own.cert],
        says: [
          /Found "-----BEGIN PRIVATE KEY-----" in ".+cert/,
          /Found "-----BEGIN CERT.+key\.pem"/,
        ],
      },
      "a damaged certificate": {
        pair: [damaged("CERTIFICATE"), own.key],
        says: [/f\.yaml:2: Found a damaged certificate in ".+" for TLS_CERT_FILE \(.+\), expected/],
      },
      "a damaged key": {
        pair: [own.cert, damaged("PRIVATE KEY")],
        says: [/f\.yaml:3: Found a damaged key in ".+" for TLS_KEY_FILE \(.+\), expected/],
      },
      "a key with a passphrase": {
        pair: [own.cert, encrypted],
        says: [
          /f\.yaml:3: Found a key with a passphrase in ".+key\.pem" for TLS_KEY_FILE, expected/,
          // Its folder has a blank in its name.
          /openssl pkey -in '.+key\.pem' -out KEY$/,
        ],
      },
      "the key of another certificate": {
        pair: [own.cert, other.key],
        says: [
          /f\.yaml:3: Found a key in ".+key\.pem" for TLS_KEY_FILE/,
          /\(CN=localhost\), expected/,
        ],
      },
      "a chain in the wrong order": {
        pair: [authority.cert + issued.cert, issued.key],
        says: [
          /the first certificate in .+CN=Some Authority/,
          /It fits a later one: put that first/,
        ],
      },
      "a public key": {
        pair: [own.cert, toPem("PUBLIC KEY", Buffer.from("x"))],
        says: [/Found "-----BEGIN PUBLIC KEY-----"/],
      },
      "both wrong": {
        pair: ["", ""],
        says: [/\n  f\.yaml:2: Found nothing/, /\n  f\.yaml:3: Found/],
      },
    };
  for (const [name, { pair, says }] of Object.entries(rows))
    test(`10: ${name}`, () => {
      assert.throws(
        () => read(...pair),
        (error) => {
          assert.ok(error instanceof ConfigError, String(error));
          for (const word of says) assert.match(error.message, word);
          assert.doesNotMatch(error.message, /MII|MHc/, "nothing of a key is shown");
          return true;
        },
      );
    });

  test("10: files that are not there, and folders", () => {
    const config = { TLS_CERT_FILE: join(folder, "none.pem"), TLS_KEY_FILE: folder };
    assert.throws(
      () => readCertificate(config),
      /Found no file at .+none\.pem[^]+Found a folder at/,
    );
  });
});

describe("10: certificates that are warned of", () => {
  const expired = makeCertificate({ from: -30, until: -1 });
  const coming = makeCertificate({ from: 2 });
  const soon = makeCertificate({ until: 5 });
  const rows: Record<string, [{ cert: string; key: string }, RegExp]> = {
    expired: [expired, /^TLS_CERT_FILE ".+": the certificate of CN=localhost expired at \S+Z: cli/],
    "not yet valid": [coming, /is not valid before \S+Z: clients refuse it$/],
    "nearly expired": [soon, /expires at \S+Z$/],
    "an expired link of the chain": [
      { cert: own.cert + makeCertificate({ name: "Old", until: -1 }).cert, key: own.key },
      /CN=Old expired at/,
    ],
  };
  for (const [name, [{ cert, key }, says]] of Object.entries(rows))
    test(`10: ${name}`, () => {
      const [warning, ...more] = read(cert, key)?.warnings ?? [];
      assert.match(warning ?? "", says);
      assert.deepEqual(more, []);
    });
});
