import { X509Certificate } from "node:crypto";
import { statSync } from "node:fs";
import { isIP } from "node:net";
import { readCertificate } from "../../server/config/certificate.ts";
import { ConfigError } from "../../server/config/config-error.ts";
import type { Loaded } from "../../server/config/load.ts";
import { isWide } from "../../server/config/modes.ts";
import { HAS_MODES } from "../../server/config/owner.ts";
import { quotePath } from "../../server/config/unwritable.ts";
import { now } from "../../shared/clock.ts";
import { reportOn, type Finding } from "./finding.ts";

const certificate = reportOn("certificate");

const RENEW = "Renew it; the service takes the new files up while it runs";

/** Whether the files of TLS fit each other, the time and the name of BASE_URL. */
export function examineCertificate(loaded: Loaded): Finding[] {
  const { TLS_CERT_FILE: file, TLS_KEY_FILE: keyFile, BASE_URL } = loaded.config;
  if (file === null || keyFile === null)
    return [certificate.skipped("TLS_CERT_FILE is not set: the service speaks HTTP")];
  try {
    const { cert, warnings } = readCertificate(loaded.config, loaded.placeOf)!;
    const own = new X509Certificate(cert);
    const found = [
      ...warnings.map((sentence) => toFinding(sentence, own)),
      ...examineName(own, BASE_URL),
      ...examineKey(keyFile),
    ];
    const until = own.validToDate.toISOString();
    return found.length > 0 ? found : [certificate.ok(`"${file}" fits its key, until ${until}`)];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.errors.map(({ place, message }) =>
      certificate.error(message, `Mend the file, or what ${place} says`),
    );
  }
}

/** Of the chain any certificate that is not valid now is refused by clients. */
function toFinding(sentence: string, { validToDate }: X509Certificate): Finding {
  const isRefused = sentence.endsWith("clients refuse it") || validToDate.getTime() < now();
  return isRefused ? certificate.error(sentence, RENEW) : certificate.warning(sentence, RENEW);
}

function examineName(own: X509Certificate, baseUrl: string | null): Finding[] {
  const host = baseUrl === null ? null : new URL(baseUrl).hostname.replace(/^\[|\]$/g, "");
  if (host === null || (isIP(host) === 0 ? own.checkHost(host) : own.checkIP(host))) return [];
  const names = own.subjectAltName ?? own.subject;
  return [
    certificate.error(
      `BASE_URL names "${host}", and the certificate is for ${names.replaceAll("\n", ", ")}`,
      `Get one for "${host}", or set BASE_URL to a name that it has`,
    ),
  ];
}

function examineKey(file: string): Finding[] {
  const stats = statSync(file);
  // A group of its own is how several services share one key.
  if (!HAS_MODES || !isWide({ mode: stats.mode & 0o007 })) return [];
  return [
    certificate.error(
      `Every user of this machine can read the key "${file}"`,
      `Run: sudo chmod o= ${quotePath(file)}`,
    ),
  ];
}
