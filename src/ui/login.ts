import type { HttpBindings } from "@hono/node-server";
import { Hono, type Context } from "hono";
import { bodyLimit } from "hono/body-limit";
import { html } from "hono/html";
import type { AddressReader } from "../access/client-address.ts";
import { isCrossSite, toTokenCookie } from "../access/credentials.ts";
import type { Logins } from "../access/login.ts";
import { now } from "../lib/clock.ts";
import { Refusal } from "../lib/errors.ts";

export interface Ui {
  readonly logins: Logins;
  readonly addressOf: AddressReader;
  /** Path prefix of the service; empty without one. */
  readonly prefix: string;
}

type UiContext = Context<{ Bindings: HttpBindings }>;

const PAGE_HEADERS = {
  "cache-control": "no-store",
  "content-security-policy":
    "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; " +
    "frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "same-origin",
};

/** The login screen: the browser's way to a webhook that requires a login (section 5.1). */
export function createUi(ui: Ui): Hono<{ Bindings: HttpBindings }> {
  const app = new Hono<{ Bindings: HttpBindings }>();
  app.get("/login", (c) => page(c, ui, { next: c.req.query("next"), fault: null, name: "" }, 200));
  app.post("/login", bodyLimit({ maxSize: 64 * 1024 }), (c) => submit(c, ui));
  return app;
}

async function submit(c: UiContext, ui: Ui): Promise<Response> {
  const { headers } = c.env.incoming;
  if (isCrossSite(headers, { host: headers.host ?? "" }))
    throw new Refusal("cross_site", "A page of another site cannot log in here");
  const form = new URLSearchParams(await c.req.text());
  const name = form.get("user_name") ?? "";
  const next = form.get("next") ?? undefined;
  const { address, is_secure } = ui.addressOf(c.env.incoming);
  const login = await attempt(ui, name, form.get("password") ?? "", address);
  if ("fault" in login) return page(c, ui, { next, fault: login.fault, name }, login.status);
  const max_age_sec = Math.floor((login.expires_at - now()) / 1000);
  const path = `${ui.prefix}/`;
  return new Response(null, {
    status: 303,
    headers: {
      ...PAGE_HEADERS,
      location: toSafeNext(next, ui.prefix),
      "set-cookie": toTokenCookie(login.token, { path, max_age_sec, is_secure }),
    },
  });
}

async function attempt(
  { logins }: Ui,
  name: string,
  password: string,
  address: string,
): Promise<{ token: string; expires_at: number } | { fault: string; status: 401 | 429 }> {
  try {
    const login = await logins.login(name, password, address);
    return login ?? { fault: "The user name or the password is wrong.", status: 401 };
  } catch (fault) {
    if (fault instanceof Refusal && fault.code === "too_many_attempts")
      return { fault: `${fault.message}.`, status: 429 };
    throw fault;
  }
}

/** Only a path of this service: anything else would make the login an open redirect. */
export function toSafeNext(next: string | undefined, prefix: string): string {
  const home = `${prefix}/ui/`;
  if (next === undefined || !next.startsWith(`${prefix}/`)) return home;
  // Browsers read `//host` and `/\host` as another host, and drop tabs and line ends before.
  if (/^[/\\]{2}|[\p{Cc}\\]/u.test(next)) return home;
  return next;
}

interface LoginPage {
  readonly next: string | undefined;
  readonly fault: string | null;
  readonly name: string;
}

function page(c: UiContext, ui: Ui, { next, fault, name }: LoginPage, status: 200 | 401 | 429) {
  return c.html(
    html`<!doctype html>
      <html lang="en">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <title>Log in · Flowhook</title>
          <link rel="stylesheet" href="${ui.prefix}/default-styling.css" />
        </head>
        <body>
          <main>
            <h1>Log in to Flowhook</h1>
            ${fault === null ? "" : html`<p role="alert">${fault}</p>`}
            <form method="post" action="${ui.prefix}/ui/login">
              <input type="hidden" name="next" value="${next ?? ""}" />
              <p>
                <label>
                  User name
                  <input
                    name="user_name"
                    value="${name}"
                    autocomplete="username"
                    required
                    autofocus
                  />
                </label>
              </p>
              <p>
                <label>
                  Password
                  <input name="password" type="password" autocomplete="current-password" required />
                </label>
              </p>
              <p><button type="submit">Log in</button></p>
            </form>
          </main>
        </body>
      </html>`,
    status,
    PAGE_HEADERS,
  );
}
