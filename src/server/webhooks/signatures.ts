import { readKey } from "../access/signature-key.ts";
import { schemesOf, type SignatureMember } from "../access/signature-scheme.ts";
import { verifySignature, type SignatureRules, type Verdict } from "../access/signature.ts";
import type { SecretBox } from "../access/secret-box.ts";
import { now } from "../../shared/clock.ts";
import type { Log } from "../../shared/log.ts";
import type { Store } from "../store/store.ts";
import type { WebhookRow } from "../store/webhooks.ts";
import { findSecret } from "../store/workspace.ts";
import { toJobOwner, type Call } from "./call.ts";
import { verifyElsewhere, type VerifyLarge } from "./large-signature.ts";

/** What a call of a webhook with a signature has to show. */
export interface SignaturePolicy extends Pick<SignatureMember, "scheme" | "mode"> {
  /** The signature_revision of the webhook. */
  readonly revision: number;
  /** The header that holds the secret itself; null: none does. */
  readonly secretHeader: string | null;
  /** How long a signature admits one execution alone; null: it can be repeated. */
  readonly windowMs: number | null;
  /** @throws RequestError overloaded */
  verify(call: Call, body: Buffer): Promise<Verdict>;
}

export interface Signatures {
  policyOf(webhook: WebhookRow): Promise<SignaturePolicy>;
}

interface SignaturesOptions {
  readonly store: Store;
  readonly secrets: SecretBox;
  readonly log: Log;
  readonly verifyLarge: VerifyLarge;
  /** BASE_URL; null without one. */
  readonly base_url: string | null;
}

/** Rows are kept until they change, and their policies with them. */
export function openSignatures(options: SignaturesOptions): Signatures {
  const kept = new WeakMap<WebhookRow, Promise<SignaturePolicy>>();
  const origin = options.base_url === null ? null : new URL(options.base_url).origin;
  return {
    policyOf(webhook) {
      const found = kept.get(webhook);
      if (found !== undefined) return found;
      const opened = openPolicy(options, origin, webhook);
      kept.set(webhook, opened);
      opened.catch(() => kept.delete(webhook));
      return opened;
    },
  };
}

/** Of times in seconds the last one is whole. */
const UNIT_MS = 1000;

/** Bodies up to this size, in bytes, stop the HTTP loop for some milliseconds at most. */
const AT_ONCE = 64 * 1024;

async function openPolicy(
  options: SignaturesOptions,
  origin: string | null,
  webhook: WebhookRow,
): Promise<SignaturePolicy> {
  const member = JSON.parse(webhook.signature ?? "null") as SignatureMember;
  const schemes = schemesOf(member);
  const [{ algorithm, header }] = schemes;
  const keys = await readKeys(options, webhook.name, member);
  const rules: SignatureRules = { schemes, keys, toleranceMs: (member.tolerance_sec ?? 0) * 1000 };
  return {
    scheme: member.scheme,
    mode: member.mode,
    revision: webhook.signature_revision,
    windowMs: hasWindow(member) ? rules.toleranceMs * 2 + UNIT_MS : null,
    secretHeader: algorithm === "token" ? header : null,
    async verify(call, body) {
      const { headers, url = "" } = call.incoming;
      const target = origin === null ? null : origin + url;
      const job = {
        rules,
        request: { headers, method: call.method, url: target, body },
        at: now(),
      };
      if (body.length <= AT_ONCE) return verifySignature(rules, job.request, job.at);
      return verifyElsewhere(options.verifyLarge, job, toJobOwner(call));
    },
  };
}

/** One that is gone or cannot be used counts as not fitting. */
async function readKeys(
  { store, secrets, log }: SignaturesOptions,
  webhook: string,
  member: SignatureMember,
): Promise<SignatureRules["keys"]> {
  const [scheme] = schemesOf(member);
  const read = member.secrets.map(async (name) => {
    const row = await findSecret(store, name);
    try {
      if (row === undefined) throw new Error(`There is no secret "${name}"`);
      const key = readKey(name, secrets.open(name, row.sealed), scheme);
      if (typeof key === "string") throw new Error(`Secret "${name}": ${key}`);
      return [key];
    } catch (error) {
      log.error(
        { webhook, reason: (error as Error).message },
        "Cannot use a secret of a signature",
      );
      return [];
    }
  });
  return (await Promise.all(read)).flat();
}

/** Where a time and what tells calls apart are signed. */
function hasWindow({ scheme, mode, custom }: SignatureMember): boolean {
  if (mode === "observe") return false;
  if (custom === null) return WITH_WINDOW.includes(scheme);
  return custom.message.includes("{timestamp}") && custom.message.includes("{id}");
}

const WITH_WINDOW: readonly string[] = ["standard_webhooks", "stripe", "slack"];
