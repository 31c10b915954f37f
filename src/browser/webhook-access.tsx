import type { Child } from "hono/jsx/dom";
import { call } from "./api.ts";
import { Button } from "./button.tsx";
import { openDialog, PasswordField } from "./dialog.tsx";
import { Field } from "./field.tsx";
import { textOf } from "./form-values.ts";
import { keyBesideSignature } from "./key-beside-signature.ts";
import { KeyShown } from "./key-shown.tsx";
import { notify } from "./notice.tsx";
import { may } from "./page.ts";
import type { Webhook } from "./resources.ts";
import { Badge } from "./status.tsx";
import { whoMayCallThen } from "./webhook-callers.tsx";
import type { WebhookPart } from "./webhook-members.tsx";
import { describeSignature, SignatureFields, toSignatureBody } from "./webhook-signature.tsx";

/** Where the key is, for those who lead to it. */
export const KEY_ROW = "access-key";

/** Who may call: what is changed only with the password. */
export function WebhookAccess({ shown, changed }: WebhookPart) {
  const webhook = shown.body;
  const path = ["webhook", webhook.name];
  const change = async ({ title, fields, toBody }: Act): Promise<void> => {
    // Somebody else may have changed it since it was shown; what they do from here on is told.
    const { body: now, etag } = await call<Webhook>("GET", path);
    let newKey: Child | null = null;
    return openDialog({
      title,
      submit: title,
      content: [fields?.(now), <PasswordField />],
      act: async (values) => {
        const body = { password: textOf(values, "password"), ...toBody(values) };
        const done = await call<Webhook>("PUT", [...path, "authentication"], { body, etag });
        const { key: value } = done.body;
        newKey = value === undefined ? null : <KeyShown webhook={done.body} value={value} />;
        changed(done);
        notify("Changed");
      },
      result: () => newKey,
    });
  };
  return (
    <>
      <p class="soft">A change here needs your password again.</p>
      {may("webhook.authenticate") ? null : <p>Your roles do not allow changes here.</p>}
      {[enabled, login, key, signature, addresses].map((describe) => (
        <Row of={describe(webhook)} change={change} />
      ))}
    </>
  );
}

/** What a button asks for, beside the password, and changes. */
interface Act {
  readonly title: string;
  /** Made of the webhook as it is when it is asked for. */
  readonly fields?: (webhook: Webhook) => Child;
  readonly toBody: (values: FormData) => Record<string, unknown>;
  /** Offered as what is to be done next. */
  readonly isNext?: boolean;
}

interface Access {
  readonly title: string;
  readonly state: string;
  readonly text: string;
  /** What is wrong with it as it is. */
  readonly trouble?: string | null;
  readonly id?: string;
  readonly acts: readonly Act[];
}

function Row({ of, change }: { of: Access; change: (act: Act) => Promise<void> }) {
  const { title, state, text, trouble = null, id, acts } = of;
  return (
    <section class="setting" id={id}>
      <h2>
        {title}
        <Badge label={state} state={title === "Enabled" && state === "Yes" ? "good" : "idle"} />
      </h2>
      <p class="soft">{text}</p>
      {trouble === null ? null : <p class="trouble">{trouble}</p>}
      {may("webhook.authenticate") ? (
        <div class="buttons">
          {acts.map((act) => (
            <Button style={act.isNext === true ? "" : "quiet"} act={() => change(act)}>
              {act.title}
            </Button>
          ))}
        </div>
      ) : null}
    </section>
  );
}

function enabled({ is_enabled }: Webhook): Access {
  return {
    title: "Enabled",
    state: is_enabled ? "Yes" : "No",
    text: is_enabled ? "The URL answers calls." : "The URL answers 404 to everybody.",
    acts: [
      {
        title: is_enabled ? "Disable" : "Enable",
        isNext: !is_enabled,
        toBody: () => ({ is_enabled: !is_enabled }),
      },
    ],
  };
}

function login({ require_login }: Webhook): Access {
  return {
    title: "Require login token cookie",
    state: require_login ? "Yes" : "No",
    text: require_login
      ? "Callers send a login token (header x-service-token, or the cookie). The flow gets auth: who they are."
      : "Callers need no account.",
    acts: [
      {
        title: require_login ? "Do not require a login" : "Require a login",
        ...(require_login ? { fields: leaving({ require_login: false }) } : {}),
        toBody: () => ({ require_login: !require_login }),
      },
    ],
  };
}

/** Says what is left to tell who calls, of the webhook as it is then. */
const leaving = (without: Partial<Webhook>) => (now: Webhook) => (
  <p>{whoMayCallThen({ ...now, ...without })}</p>
);

const REMOVE_KEY: Act = {
  title: "Remove the key",
  fields: leaving({ is_key_required: false }),
  toBody: () => ({ key: null }),
};

function key(webhook: Webhook): Access {
  const { is_key_required } = webhook;
  const set: Act = {
    title: is_key_required ? "Replace the key" : "Set a key",
    fields: (now) => <KeyFields hasKey={now.is_key_required} />,
    toBody: toKeyBody,
  };
  return {
    title: "Key",
    id: KEY_ROW,
    state: is_key_required ? "Set" : "None",
    text: is_key_required
      ? "Callers send it as Authorization: Bearer, as the query parameter key, or as the member key of a JSON body. It cannot be read back."
      : "Callers need no key.",
    acts: is_key_required ? [set, REMOVE_KEY] : [set],
  };
}

const ENDINGS = [
  ["3600", "Works for another hour"],
  ["86400", "Works for another day"],
  ["0", "Ends now"],
] as const;

function KeyFields({ hasKey }: { hasKey: boolean }) {
  const hint = "At least 16 characters. Leave it empty, and a random one is made.";
  return (
    <>
      <Field name="key" label="Key" hint={hint} />
      {hasKey ? <Field name="keep_previous_sec" label="Previous key" choices={ENDINGS} /> : null}
    </>
  );
}

function toKeyBody(values: FormData): Record<string, unknown> {
  const own = textOf(values, "key");
  const keep_previous_sec = Number(textOf(values, "keep_previous_sec"));
  return { key: own === "" ? { generate: true } : own, keep_previous_sec };
}

function signature(webhook: Webhook): Access {
  const isSet = webhook.signature !== null;
  const state = webhook.signature?.mode === "observe" ? "Observed" : "Required";
  const set: Act = {
    title: isSet ? "Change the signature" : "Require signatures",
    fields: (now) => <SignatureFields webhook={now} />,
    toBody: toSignatureBody,
  };
  const remove: Act = {
    title: "Require no signatures",
    fields: leaving({ signature: null }),
    toBody: () => ({ signature: null }),
  };
  const trouble = keyBesideSignature(webhook);
  const isInTheWay = trouble !== null && webhook.signature?.mode === "enforce";
  const removeIt = { ...REMOVE_KEY, isNext: true };
  return {
    title: "Signature",
    state: isSet ? state : "None",
    text: describeSignature(webhook),
    trouble,
    acts: isSet ? [...(isInTheWay ? [removeIt] : []), set, remove] : [set],
  };
}

function addresses({ allowed_addresses }: Webhook): Access {
  const isAny = allowed_addresses.length === 0;
  const list = (now: Webhook) => (
    <Field
      name="allowed_addresses"
      label="Addresses and ranges"
      hint="One in each line, as 192.0.2.0/24 or 2001:db8::/32; empty: any. Others get 403. Behind a proxy they are those of clients only where TRUSTED_PROXIES names it."
      rows={5}
      value={now.allowed_addresses.join("\n")}
    />
  );
  const toBody = (values: FormData) => ({
    allowed_addresses: textOf(values, "allowed_addresses")
      .split(/[\s,]+/)
      .filter((address) => address !== ""),
  });
  return {
    title: "Addresses",
    state: isAny ? "Any" : "Listed",
    text: isAny ? "Calls may come from any address." : allowed_addresses.join(", "),
    acts: [{ title: "Change the addresses", fields: list, toBody }],
  };
}
