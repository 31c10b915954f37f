/** @jsxRuntime automatic @jsxImportSource hono/jsx */
import type { Child } from "hono/jsx";
import { ADMIN_SECTIONS } from "../../shared/admin-sections.ts";
import type { Permission } from "../../shared/contract/permission.ts";
import { Brand, Favicon, Icon, type IconName } from "./icons.tsx";

/** What every page is made with. */
export interface PageFrame {
  /** Path prefix of the service; empty without one. */
  readonly prefix: string;
  /** Of the Content-Security-Policy of this answer. */
  readonly nonce: string;
  /** Path of the stylesheet and the browser modules. */
  readonly files: string;
  readonly theme: "light" | "dark" | null;
}

/** A page for somebody who has logged in. */
export interface Visit extends PageFrame {
  readonly user_id: string;
  readonly user_name: string;
  /** What the visitor may do in some project at least. */
  readonly allowed: readonly Permission[];
  /** Whether the visitor starts flows without a webhook. */
  readonly startsByHand: boolean;
  /** Whether calls are answered as in earlier releases: RESPONSE_MATRIX. */
  readonly isEarlier: boolean;
  /** Path below the prefix. */
  readonly path: string;
  /** Segments of the path that name what is shown. */
  readonly params: Readonly<Record<string, string>>;
  /** Parameters of the query, the first of each name. */
  readonly query: Readonly<Record<string, string>>;
}

interface Entry {
  readonly path: string;
  readonly label: string;
  readonly icon: IconName;
  readonly needs: readonly Permission[];
}

const ENTRIES: readonly Entry[] = [
  { path: "/ui/", label: "Overview", icon: "overview", needs: [] },
  { path: "/ui/webhooks", label: "Webhooks", icon: "webhooks", needs: ["webhook.read"] },
  { path: "/ui/executions", label: "Executions", icon: "executions", needs: ["execution.read"] },
  { path: "/ui/flows", label: "Flows", icon: "flows", needs: ["flow.read"] },
  {
    path: "/ui/admin",
    label: "Administration",
    icon: "administration",
    needs: ADMIN_SECTIONS.map(({ needs }) => needs).filter((need) => need !== null),
  },
  { path: "/ui/docs", label: "Documentation", icon: "documentation", needs: [] },
];

/** The document around every page. */
export function Document(props: {
  frame: PageFrame;
  title: string;
  module: string | null;
  body: Record<string, string>;
  children: Child;
}) {
  const { frame, title, module, body, children } = props;
  const theme = frame.theme === null ? {} : { "data-theme": frame.theme };
  return (
    <html lang="en" {...theme}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{title} · Flowhook</title>
        <Favicon />
        <link rel="stylesheet" href={`${frame.files}/ui.css`} />
        {module === null ? null : (
          <script type="module" nonce={frame.nonce} src={`${frame.files}/${module}.js`}></script>
        )}
      </head>
      <body {...body}>{children}</body>
    </html>
  );
}

/**
 * What is around every page: navigation, and the places for what the page has to say. A page that
 * shows data is made in the browser, by its module, in `#page`; one that is text is sent whole.
 */
export function Shell(props: { visit: Visit; title: string; module: string; children?: Child }) {
  const { visit, title, module, children } = props;
  const body = {
    "data-prefix": visit.prefix,
    "data-allowed": visit.allowed.join(" "),
    "data-by-hand": String(visit.startsByHand),
    "data-earlier": String(visit.isEarlier),
    "data-params": JSON.stringify(visit.params),
    "data-user": visit.user_name,
    "data-user-id": visit.user_id,
  };
  return (
    <Document frame={visit} title={title} module={module} body={body}>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <Navigation visit={visit} />
      <main id="content" tabindex={-1}>
        <div id="banner" class="banner" role="alert"></div>
        <div id="page">{children}</div>
        <noscript>This page is made by a script: allow this address to run scripts.</noscript>
      </main>
      <div id="notices" class="notices" role="status" aria-live="polite"></div>
    </Document>
  );
}

function Navigation({ visit }: { visit: Visit }) {
  const shown = ENTRIES.filter(
    ({ needs }) => needs.length === 0 || needs.some((need) => visit.allowed.includes(need)),
  );
  return (
    <header class="side">
      <a class="brand" href={`${visit.prefix}/ui/`}>
        <Brand />
      </a>
      <button
        type="button"
        id="menu-button"
        class="quiet menu"
        aria-expanded="false"
        aria-controls="menu"
      >
        Menu
      </button>
      <div id="menu">
        <nav aria-label="Main">
          <ul>
            {shown.map((entry) => (
              <li>
                <a href={visit.prefix + entry.path} {...currentOf(entry.path, visit.path)}>
                  <Icon name={entry.icon} />
                  {entry.label}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <div class="person">
          <a href={`${visit.prefix}/ui/account`} {...currentOf("/ui/account", visit.path)}>
            <Icon name="account" />
            <span>{visit.user_name}</span>
          </a>
          <button type="button" class="quiet" id="theme">
            Theme
          </button>
          <button type="button" class="quiet" id="sign-out">
            Sign out
          </button>
          <button type="button" class="quiet" id="shortcuts">
            Keyboard shortcuts
          </button>
        </div>
      </div>
    </header>
  );
}

function currentOf(entry: string, path: string): { "aria-current"?: "page" | "true" } {
  if (path === entry) return { "aria-current": "page" };
  return entry !== "/ui/" && path.startsWith(`${entry}/`) ? { "aria-current": "true" } : {};
}
