import { randomBytes } from "node:crypto";
import { readAsset } from "../../assets/read.ts";
import { OPENAPI_DOCUMENT } from "../../shared/contract/openapi-document.ts";
import { RequestError } from "../../shared/errors.ts";
import { addWebhooks, describeApi } from "./openapi.ts";
import { describeWebhooks } from "./webhook-document.ts";
import { defineRoute, type Route } from "./route.ts";

/** Files of the reference page, by the name in its URL. */
const FILES: Readonly<Record<string, { asset: string; type: string }>> = {
  "reference.js": { asset: "reference.js", type: "text/javascript; charset=utf-8" },
  "reference.css": { asset: "reference.css", type: "text/css; charset=utf-8" },
  "mark.svg": { asset: "mark.svg", type: "image/svg+xml" },
  "swagger-ui.css": { asset: "vendor/swagger-ui.css", type: "text/css; charset=utf-8" },
  "swagger-ui-bundle.js": {
    asset: "vendor/swagger-ui-bundle.js",
    type: "text/javascript; charset=utf-8",
  },
};

/**
 * Nothing but what the service itself carries; Swagger UI has its icons as data URLs. Scripts need
 * the nonce: answers of flows share this origin.
 */
function toPolicy(nonce: string): string {
  return [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

/** The routes that describe the others. */
export function describingRoutes(routes: () => readonly Route[]): readonly Route[] {
  // Made once: it takes longer than any other answer to somebody without a login may take.
  let text: string | null = null;
  let api: ReturnType<typeof describeApi> | null = null;
  const getDocument = defineRoute({
    method: "GET",
    path: "/openapi.json",
    summary: "This description of the API, as an OpenAPI 3.1 document",
    needs: "anyone",
    knowsVisitor: true,
    answer: OPENAPI_DOCUMENT,
    async act(service, { base_url, visitor }) {
      api ??= describeApi(routes());
      text ??= JSON.stringify(api).slice(1);
      const own = visitor === null ? [] : await describeWebhooks(service, visitor);
      const members = own.length === 0 ? text : JSON.stringify(addWebhooks(api, own)).slice(1);
      const servers = JSON.stringify([{ url: `${base_url}/api/latest` }]);
      return { status: 200, text: `{"servers":${servers},${members}` };
    },
  });
  return [getDocument, getReference, getReferenceFile];
}

const getReference = defineRoute({
  method: "GET",
  path: "/reference",
  summary: "This description of the API, as a page for people",
  needs: "anyone",
  type: "text/html",
  async act() {
    const nonce = randomBytes(16).toString("base64");
    const headers = {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": toPolicy(nonce),
      "referrer-policy": "no-referrer",
    };
    const html = Buffer.from(read("reference.html")).toString();
    const text = html.replaceAll("<script ", `<script nonce="${nonce}" `);
    return { status: 200, text, headers };
  },
});

const getReferenceFile = defineRoute({
  method: "GET",
  path: "/reference/:file",
  summary: "A file of the page",
  needs: "anyone",
  type: "*/*",
  async act(_api, { params }) {
    const { file = "" } = params;
    const found = Object.hasOwn(FILES, file) ? FILES[file] : undefined;
    if (found === undefined) throw new RequestError("not_found", `There is no file "${file}"`);
    const headers = { "content-type": found.type, "cache-control": "public, max-age=3600" };
    return { status: 200, bytes: read(found.asset), headers };
  },
});

const kept = new Map<string, Uint8Array<ArrayBuffer>>();

function read(asset: string): Uint8Array<ArrayBuffer> {
  const found = kept.get(asset) ?? new Uint8Array(readAsset(asset));
  kept.set(asset, found);
  return found;
}
