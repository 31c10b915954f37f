import type { HttpBindings } from "@hono/node-server";
import type { Context } from "hono";
import type { AddressReader } from "../access/client-address.ts";
import { findToken, type SiteCheck } from "../access/credentials.ts";
import type { Logins } from "../access/login.ts";
import { PERMISSIONS } from "../../shared/contract/permission.ts";
import { isAllowed } from "../access/permission.ts";
import type { Bodies } from "../request/body.ts";
import type { BrowserFiles } from "./browser-files.ts";
import type { PageFrame, Visit } from "./shell.tsx";

/** What the user interface needs of the service: it knows no data but through the API. */
export interface Ui {
  readonly logins: Logins;
  readonly addressOf: AddressReader;
  readonly isCrossSite: SiteCheck;
  readonly bodies: Bodies;
  /** Writes a login into the audit. @param result `200`, or the code of the refusal */
  readonly auditLogin: (made: {
    readonly user_name: string;
    readonly address: string;
    readonly result: string;
  }) => Promise<void>;
  /** Path prefix of the service; empty without one. */
  readonly prefix: string;
  /** What is started without a webhook belongs to it. */
  readonly defaultProjectId: string;
  readonly responseMatrix: "current" | "earlier";
}

export type UiContext = Context<{ Bindings: HttpBindings }>;

export function toFrame(c: UiContext, ui: Ui, files: BrowserFiles): PageFrame {
  const theme = /(?:^|;\s*)flowhook-theme=(light|dark)/.exec(c.req.header("cookie") ?? "")?.[1];
  return {
    prefix: ui.prefix,
    nonce: Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString("base64"),
    files: `${ui.prefix}/ui/files/${files.digest}`,
    theme: theme === "light" || theme === "dark" ? theme : null,
  };
}

/** The visit of somebody who has logged in; otherwise the way to the login screen. */
export async function toVisit(
  c: UiContext,
  ui: Ui,
  frame: PageFrame,
): Promise<Visit | { readonly login: string }> {
  const sent = findToken(c.env.incoming.headers);
  const { address } = ui.addressOf(c.env.incoming);
  const principal = sent === null ? null : await ui.logins.authenticate(sent.token, address);
  if (principal === null) {
    const next = encodeURIComponent(c.env.incoming.url ?? "");
    const ended = sent === null ? "" : "&ended=1";
    return { login: `${ui.prefix}/ui/login?next=${next}${ended}` };
  }
  return {
    ...frame,
    user_id: principal.user_id,
    user_name: principal.user_name,
    allowed: PERMISSIONS.filter((permission) => isAllowed(principal.grants, permission)),
    startsByHand: isAllowed(principal.grants, "execution.start", ui.defaultProjectId),
    isEarlier: ui.responseMatrix === "earlier",
    path: c.req.path,
    params: c.req.param() as Record<string, string>,
    query: c.req.query(),
  };
}
