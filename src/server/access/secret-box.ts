import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

/** Seals secrets at rest: AES-256-GCM, bound to the secret's name. */
export interface SecretBox {
  /** Base64 of nonce, tag and ciphertext. */
  seal(name: string, value: string): string;
  /** @throws Error where it was sealed with another key, for another name, or was changed */
  open(name: string, sealed: string): string;
}

/** Names of the secrets that the key does not open. */
export function listUnreadable(
  box: SecretBox,
  secrets: readonly { name: string; sealed: string }[],
): string[] {
  const isReadable = ({ name, sealed }: { name: string; sealed: string }): boolean => {
    try {
      return box.open(name, sealed) !== null;
    } catch {
      return false;
    }
  };
  return secrets.filter((secret) => !isReadable(secret)).map(({ name }) => name);
}

/** @param key 32 bytes, derived from the data folder's key */
export function openSecretBox(key: Buffer): SecretBox {
  return {
    seal(name, value) {
      const nonce = randomBytes(12);
      const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(name));
      const text = Buffer.concat([cipher.update(value, "utf8"), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), text]).toString("base64");
    },
    open(name, sealed) {
      try {
        return decrypt(key, name, Buffer.from(sealed, "base64"));
      } catch (error) {
        throw new Error(
          `Cannot read secret "${name}": it was encrypted with another key. Put secret.key back`,
          { cause: error },
        );
      }
    },
  };
}

function decrypt(key: Buffer, name: string, bytes: Buffer): string {
  const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, 12))
    .setAAD(Buffer.from(name))
    .setAuthTag(bytes.subarray(12, 28));
  return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString("utf8");
}
