import type { HttpBindings } from "@hono/node-server";
import { Hono } from "hono";
import type { HtmlEscapedString } from "hono/utils/html";
import { findPage } from "../../assets/manual.ts";
import { ADMIN_SECTIONS } from "../../shared/admin-sections.ts";
import { openBrowserFiles, type BrowserFiles } from "./browser-files.ts";
import { addLogin } from "./login.ts";
import { respondPage } from "./page-answer.ts";
import { DocPage, DocsPage } from "./pages/docs.tsx";
import { MissingPage } from "./pages/missing.tsx";
import { toFrame, toVisit, type Ui, type UiContext } from "./session.ts";
import { Shell, type Visit } from "./shell.tsx";

type Show = (props: { visit: Visit }) => HtmlEscapedString | Promise<HtmlEscapedString>;

/** Another section is a page that is not there. */
const SECTIONS = ADMIN_SECTIONS.map(({ id }) => id).join("|");

/**
 * The table of contents of the user interface: each page is a module below src/browser/pages/. The
 * title is that of the document, unless the path names what is shown.
 */
const PAGES: readonly (readonly [path: string, module: string, title: string])[] = [
  ["/ui/", "overview", "Overview"],
  ["/ui/webhooks", "webhooks", "Webhooks"],
  ["/ui/new-webhook", "new-webhook", "New webhook"],
  ["/ui/webhooks/:name", "webhook", "Webhook"],
  ["/ui/executions", "executions", "Executions"],
  ["/ui/executions/:id", "execution", "Execution"],
  ["/ui/flows", "flows", "Flows"],
  ["/ui/flows/:name", "flow", "Flow"],
  ["/ui/flows/:name/versions/:version", "flow-version", "Version"],
  ["/ui/admin", "admin", "Administration"],
  [`/ui/admin/:section{${SECTIONS}}`, "admin", "Administration"],
  ["/ui/account", "account", "Account"],
];

/** The user interface: pages below `/ui/`, which are clients of the management API. */
export function createUi(ui: Ui): Hono<{ Bindings: HttpBindings }> {
  const app = new Hono<{ Bindings: HttpBindings }>();
  let opening: Promise<BrowserFiles> | undefined;
  const files = () => (opening ??= openBrowserFiles());
  const frameOf = async (c: UiContext) => toFrame(c, ui, await files());
  const show = async (c: UiContext, page: Show, status: 200 | 404): Promise<Response> => {
    const frame = await frameOf(c);
    const visit = await toVisit(c, ui, frame);
    if ("login" in visit) return c.redirect(visit.login);
    return respondPage(c, frame, page({ visit }), status);
  };
  for (const path of ["/", "/ui"]) app.get(path, (c) => c.redirect(`${ui.prefix}/ui/`));
  addLogin(app, ui, frameOf);
  app.get("/ui/files/:digest/:name", async (c) => respondFile(c, await files()));
  for (const [path, module, title] of PAGES)
    app.get(path, (c) => show(c, ({ visit }) => toShell(visit, module, title), 200));
  app.get("/ui/docs", (c) => show(c, DocsPage, 200));
  app.get("/ui/docs/:topic", (c) => show(c, DocPage, findPage(c.req.param("topic")) ? 200 : 404));
  app.get("/ui/*", (c) => show(c, MissingPage, 404));
  return app;
}

function toShell(visit: Visit, module: string, title: string) {
  return Shell({ visit, module, title: visit.params["name"] ?? title });
}

function respondFile(c: UiContext, files: BrowserFiles): Response {
  const file = files.find(c.req.param("name") ?? "");
  if (file === undefined) return c.text("There is no such file", 404);
  const isGzipped = /\bgzip\b/.test(c.req.header("accept-encoding") ?? "");
  const is_current = c.req.param("digest") === files.digest;
  return new Response(isGzipped ? file.gzipped : file.bytes, {
    headers: {
      "content-type": file.type,
      "cache-control": is_current ? "public, max-age=31536000, immutable" : "no-store",
      "x-content-type-options": "nosniff",
      vary: "accept-encoding",
      ...(isGzipped ? { "content-encoding": "gzip" } : {}),
    },
  });
}
