/** Answers of flows that try to run a script as the service. */

/** The origin with which the page's script ran; null where none did. */
export const RAN = "document.documentElement?.dataset?.ran ?? null";

const SCRIPT = `
  document.documentElement.dataset.ran = self.origin;
  fetch("/api/latest/auth/me").then(
    (response) => { document.documentElement.dataset.got = "answer " + response.status; },
    () => { document.documentElement.dataset.got = "refused"; },
  );`;

const PAGE = `<!doctype html><html><body><script>${SCRIPT}</script></body></html>`;
const XHTML = `<html xmlns="http://www.w3.org/1999/xhtml"><script><![CDATA[${SCRIPT}]]></script></html>`;
const SVG = `<svg xmlns="http://www.w3.org/2000/svg"><script><![CDATA[${SCRIPT}]]></script></svg>`;
const PARTS = `--x\r\nContent-Type: text/html\r\n\r\n${PAGE}\r\n--x--\r\n`;

/** Types that browsers show as pages, or guess to be pages, and those that they must not. */
export const UNTRUSTED: readonly (readonly [type: string | null, body: string])[] = [
  [null, PAGE],
  ...[
    "",
    " ",
    "*/*",
    "unknown/unknown",
    "application/unknown",
    "foo",
    "text",
    ";charset=x",
    "text/html",
    "text/plain",
    "application/json",
    "application/octet-stream",
    "text/javascript",
    "image/png",
  ].map((type) => [type, PAGE] as const),
  ["text/xsl", XHTML],
  ["text/xml", XHTML],
  ["application/xml", XHTML],
  ["application/xhtml+xml", XHTML],
  ["application/rss+xml", XHTML],
  ["image/svg+xml", SVG],
  ["multipart/x-mixed-replace; boundary=x", PARTS],
  ["multipart/x-mixed-replace", PAGE],
];
