import type { HtmlEscapedString } from "hono/utils/html";
import type { UiContext } from "./session.ts";
import type { PageFrame } from "./shell.tsx";

/** A page as an answer, under a policy that lets in what the page itself names and no more. */
export async function respondPage(
  c: UiContext,
  frame: PageFrame,
  page: HtmlEscapedString | Promise<HtmlEscapedString>,
  status: 200 | 401 | 404 | 429,
): Promise<Response> {
  return c.html(`<!doctype html>${await page}`, status, {
    "cache-control": "no-store",
    "content-security-policy": toPolicy(frame.nonce),
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
  });
}

/**
 * Scripts only with the nonce: pages and answers of flows share this origin, so `'self'` would let
 * an answer in as a script. Frames show answers of calls, sandboxed.
 */
function toPolicy(nonce: string): string {
  return [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    "style-src 'self'",
    "img-src data:",
    "connect-src 'self'",
    "frame-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");
}
