import type { Child } from "hono/jsx/dom";
import { call } from "./api.ts";
import { Button } from "./button.tsx";
import { KeyStep } from "./created.tsx";
import { openDialog, PasswordField } from "./dialog.tsx";
import { Field } from "./field.tsx";
import { textOf } from "./form.tsx";
import { notify } from "./notice.tsx";
import { may } from "./page.ts";
import type { Webhook } from "./resources.ts";
import { Badge } from "./status.tsx";
import type { WebhookPart } from "./webhook-members.tsx";
import { describeSignature, SignatureFields, toSignatureBody } from "./webhook-signature.tsx";

/** What is changed only with the password: Enabled, Require login token cookie, Key. */
export function WebhookAccess({ shown, changed }: WebhookPart) {
  const webhook = shown.body;
  const change: Change = (title, content, toBody) =>
    openDialog({
      title,
      submit: title,
      content: [content, <PasswordField />],
      act: async (values) => {
        const path = ["webhook", webhook.name, "authentication"];
        const body = { password: textOf(values, "password"), ...toBody(values) };
        changed(await call<Webhook>("PUT", path, { body }));
        notify("Changed");
      },
    });
  return (
    <>
      <p class="soft">A change here needs your password again.</p>
      {may("webhook.authenticate") ? null : <p>Your roles do not allow changes here.</p>}
      <Enabled webhook={webhook} change={change} />
      <Login webhook={webhook} change={change} />
      <Key webhook={webhook} change={change} />
      <Signature webhook={webhook} change={change} />
      <Addresses webhook={webhook} change={change} />
      {webhook.key === undefined ? null : <KeyStep value={webhook.key} />}
    </>
  );
}

/** Asks for the password and what else the change needs, and changes. */
type Change = (
  title: string,
  content: Child,
  toBody: (values: FormData) => Record<string, unknown>,
) => Promise<boolean>;

interface RowProps {
  readonly webhook: Webhook;
  readonly change: Change;
}

function Row(props: { title: string; state: Child; text: string; children: Child }) {
  const { title, state, text, children } = props;
  return (
    <section class="setting">
      <h2>
        {title}
        {state}
      </h2>
      <p class="soft">{text}</p>
      <div class="buttons">{may("webhook.authenticate") ? children : null}</div>
    </section>
  );
}

function Enabled({ webhook: { is_enabled }, change }: RowProps) {
  const title = is_enabled ? "Disable" : "Enable";
  const state = is_enabled ? <Badge label="Yes" state="good" /> : <Badge label="No" state="idle" />;
  const text = is_enabled ? "The URL answers calls." : "The URL answers 404 to everybody.";
  const act = () => change(title, null, () => ({ is_enabled: !is_enabled }));
  return (
    <Row title="Enabled" state={state} text={text}>
      <Button style={is_enabled ? "quiet" : ""} act={act}>
        {title}
      </Button>
    </Row>
  );
}

function Login({ webhook: { require_login }, change }: RowProps) {
  const title = require_login ? "Do not require a login" : "Require a login";
  const text = require_login
    ? "Callers send a login token (header x-service-token, or the cookie). The flow gets auth: who they are."
    : "Callers need no account.";
  const state = <Badge label={require_login ? "Yes" : "No"} state="idle" />;
  const act = () => change(title, null, () => ({ require_login: !require_login }));
  return (
    <Row title="Require login token cookie" state={state} text={text}>
      <Button style="quiet" act={act}>
        {title}
      </Button>
    </Row>
  );
}

function Key({ webhook: { is_key_required }, change }: RowProps) {
  const fresh = is_key_required ? "Replace the key" : "Set a key";
  const text = is_key_required
    ? "Callers send it as Authorization: Bearer, as the query parameter key, or as the member key of a JSON body. It cannot be read back."
    : "Callers need no key.";
  const state = <Badge label={is_key_required ? "Set" : "None"} state="idle" />;
  const warning =
    "Without a key and without a required login, anybody who reaches the service can call it.";
  const remove = () => change("Remove the key", <p>{warning}</p>, () => ({ key: null }));
  return (
    <Row title="Key" state={state} text={text}>
      <Button
        style="quiet"
        act={() => change(fresh, <KeyFields hasKey={is_key_required} />, toKeyBody)}
      >
        {fresh}
      </Button>
      {is_key_required ? (
        <Button style="quiet" act={remove}>
          Remove the key
        </Button>
      ) : null}
    </Row>
  );
}

const ENDINGS = [
  ["0", "Ends now"],
  ["3600", "Works for another hour"],
  ["86400", "Works for another day"],
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

function Signature({ webhook, change }: RowProps) {
  const { signature } = webhook;
  const title = signature === null ? "Require signatures" : "Change the signature";
  const none = "Require no signatures";
  const state =
    signature === null ? "None" : signature.mode === "observe" ? "Observed" : "Required";
  const badge = <Badge label={state} state="idle" />;
  return (
    <Row title="Signature" state={badge} text={describeSignature(webhook)}>
      <Button
        style="quiet"
        act={() => change(title, <SignatureFields webhook={webhook} />, toSignatureBody)}
      >
        {title}
      </Button>
      {signature === null ? null : (
        <Button style="quiet" act={() => change(none, null, () => ({ signature: null }))}>
          {none}
        </Button>
      )}
    </Row>
  );
}

function Addresses({ webhook: { allowed_addresses }, change }: RowProps) {
  const title = "Change the addresses";
  const isAny = allowed_addresses.length === 0;
  const text = isAny ? "Calls may come from any address." : allowed_addresses.join(", ");
  const list = (
    <Field
      name="allowed_addresses"
      label="Addresses and ranges"
      hint="One in each line, as 192.0.2.0/24 or 2001:db8::/32; empty: any. Others get 403. Behind a proxy they are those of clients only where TRUSTED_PROXIES names it."
      rows={5}
      value={allowed_addresses.join("\n")}
    />
  );
  const toBody = (values: FormData) => ({
    allowed_addresses: textOf(values, "allowed_addresses")
      .split(/[\s,]+/)
      .filter((address) => address !== ""),
  });
  return (
    <Row
      title="Addresses"
      state={<Badge label={isAny ? "Any" : "Listed"} state="idle" />}
      text={text}
    >
      <Button style="quiet" act={() => change(title, list, toBody)}>
        {title}
      </Button>
    </Row>
  );
}
