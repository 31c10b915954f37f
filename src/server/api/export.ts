import {
  FORMAT,
  MOST_DOCUMENT_BYTES,
  MOST_WEBHOOKS,
} from "../../shared/contract/webhook-document.ts";
import { dump } from "js-yaml";
import { describeUnknown } from "../../shared/nearest.ts";
import { listWebhooks, type WebhookRow, type Within } from "../store/webhooks.ts";
import type { Api } from "./api.ts";
import { readNames, toCarried, toShort, yieldTurn } from "./carried.ts";
import { invalid } from "./named.ts";
import { defineRoute } from "./route.ts";
import { requireWebhook, withinVisible } from "./webhook-record.ts";

export const getExport = defineRoute({
  method: "GET",
  path: "/export",
  summary: "Export webhooks as YAML: those named by webhook=, or all",
  needs: "webhook.read",
  type: "application/yaml",
  async act(api, { principal, search }) {
    const names = [...new Set(search.getAll("webhook"))];
    const unknown = [...search.keys()].filter((name) => name !== "webhook");
    const [name] = unknown;
    if (name !== undefined) throw invalid(name, describeUnknown(name, ["webhook"]));
    const rows =
      names.length > 0
        ? await Promise.all(names.map((name) => requireWebhook(api, principal, name)))
        : await listAll(api, withinVisible(api, principal));
    return {
      status: 200,
      text: await write(api, rows),
      headers: {
        "content-type": "application/yaml; charset=utf-8",
        "content-disposition": 'attachment; filename="webhooks.yaml"',
      },
    };
  },
});

async function listAll(api: Api, within: Within | null): Promise<WebhookRow[]> {
  const rows: WebhookRow[] = [];
  for (;;) {
    const page = await listWebhooks(api.store, { within, after: rows.at(-1)?.name, limit: 500 });
    rows.push(...page);
    if (page.length < 500) return rows;
  }
}

/** Of what no import takes at once: else that would be found out when it is needed. */
const TOO_MUCH =
  `# An import takes ${MOST_WEBHOOKS} webhooks and ${MOST_DOCUMENT_BYTES} bytes at most, and this is ` +
  "more: import it in parts.\n";

/** Webhooks that are written in one turn of the loop: a few milliseconds. */
const SLICE = 20;

const LIST = "webhooks:\n";

/** The document, as it would be written at once. */
async function write(api: Api, rows: readonly WebhookRow[]): Promise<string> {
  if (rows.length === 0) return dump({ format: FORMAT, webhooks: [] });
  const names = await readNames(api.store);
  const parts = [dump({ format: FORMAT }) + LIST];
  let bytes = 0;
  for (let at = 0; at < rows.length; at += SLICE) {
    const webhooks = rows.slice(at, at + SLICE).map((row) => toShort(toCarried(names, row)));
    const part = dump({ webhooks }, { noRefs: true }).slice(LIST.length);
    bytes += Buffer.byteLength(part);
    parts.push(part);
    await yieldTurn();
  }
  const isTooMuch = rows.length > MOST_WEBHOOKS || bytes > MOST_DOCUMENT_BYTES;
  return (isTooMuch ? TOO_MUCH : "") + parts.join("");
}
