import type { HttpBindings } from "@hono/node-server";
import type { Hono } from "hono";
import { toTokenCookie } from "../access/credentials.ts";
import { now } from "../../shared/clock.ts";
import { RequestError } from "../../shared/errors.ts";
import { readForm } from "../request/form.ts";
import { LoginPage } from "./pages/login.tsx";
import { respondPage } from "./page-answer.ts";
import type { PageFrame } from "./shell.tsx";
import type { Ui, UiContext } from "./session.ts";

/** Longest form of the login screen. */
const LIMIT = { bytes: 64 * 1024, what: "" };

type FrameOf = (c: UiContext) => Promise<PageFrame>;

/** The login screen: also the browser's way to a webhook that requires a login (section 5.1). */
export function addLogin(app: Hono<{ Bindings: HttpBindings }>, ui: Ui, frameOf: FrameOf): void {
  app.get("/ui/login", async (c) => {
    const { next, ended } = c.req.query();
    const frame = await frameOf(c);
    const error = ended === undefined ? null : "Your session has ended. Sign in again to go on.";
    return respondPage(c, frame, LoginPage({ frame, next, error, name: "" }), 200);
  });
  app.post("/ui/login", async (c) => submit(c, ui, await frameOf(c)));
}

async function submit(c: UiContext, ui: Ui, frame: PageFrame): Promise<Response> {
  if (ui.isCrossSite(c.env.incoming.headers))
    throw new RequestError("cross_site", "A page of another site cannot log in here");
  const bytes = await ui.bodies.read(c.env.incoming, LIMIT);
  const form = new Map(readForm(bytes?.toString() ?? ""));
  const name = (form.get("user_name") ?? "").normalize("NFC");
  const next = form.get("next");
  const { address, isSecure } = ui.addressOf(c.env.incoming);
  const isWanted = () => !c.env.outgoing.destroyed;
  const password = form.get("password") ?? "";
  const login = await attempt(ui, { user_name: name, password, address, isWanted });
  if ("error" in login) {
    const { error, status } = login;
    return respondPage(c, frame, LoginPage({ frame, next, error, name }), status);
  }
  const maxAgeSec = Math.floor((login.expires_at - now()) / 1000);
  const path = `${ui.prefix}/`;
  return new Response(null, {
    status: 303,
    headers: {
      "cache-control": "no-store",
      location: toSafeNext(next, ui.prefix),
      "set-cookie": toTokenCookie(login.token, { path, maxAgeSec, isSecure }),
    },
  });
}

interface Attempt {
  readonly user_name: string;
  readonly password: string;
  readonly address: string;
  readonly isWanted: () => boolean;
}

async function attempt(
  { logins, auditLogin }: Ui,
  { user_name, password, address, isWanted }: Attempt,
): Promise<{ token: string; expires_at: number } | { error: string; status: 401 | 429 }> {
  const audit = (result: string) => auditLogin({ user_name, address, result });
  try {
    const login = await logins.login(user_name, password, address, isWanted);
    await audit(login === null ? "not_authenticated" : "200");
    return login ?? { error: "The user name or the password is wrong.", status: 401 };
  } catch (error) {
    if (!(error instanceof RequestError) || error.code !== "too_many_attempts") throw error;
    await audit(error.code);
    return { error: `${error.message}.`, status: 429 };
  }
}

/** Only a path of this service: anything else would make the login an open redirect. */
export function toSafeNext(next: string | undefined, prefix: string): string {
  const home = `${prefix}/ui/`;
  if (next === undefined || !next.startsWith(`${prefix}/`)) return home;
  // Browsers read `//host` and `/\host` as another host, and drop tabs and line ends before.
  if (/^[/\\]{2}|[\p{Cc}\\]/u.test(next)) return home;
  return toAscii(next);
}

/** A header takes no other letters; a URL means the same with them encoded (RFC 3987, 3.1). */
function toAscii(text: string): string {
  return text.toWellFormed().replace(/[^\x21-\x7e]+/gu, encodeURIComponent);
}
