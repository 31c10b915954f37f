import { VERSION } from "../../assets/read.ts";
import { OPENAPI_DOCUMENT } from "../../shared/contract/openapi-document.ts";
import type { Principal } from "../access/login.ts";
import { listWebhooks } from "../store/webhooks.ts";
import type { Api } from "./api.ts";
import { yieldTurn } from "./carried.ts";
import { describeErrors, describeProblem } from "./openapi.ts";
import { defineRoute } from "./route.ts";
import { describeWebhook, type WebhookDescription } from "./webhook-openapi.ts";
import { requireWebhook, withinVisible } from "./webhook-record.ts";

type Json = Readonly<Record<string, unknown>>;

export const getWebhookDocument = defineRoute({
  method: "GET",
  path: "/webhook/:name/openapi.json",
  summary: "Describe the calls of one webhook, as an OpenAPI 3.1 document to hand over",
  needs: "webhook.read",
  answer: OPENAPI_DOCUMENT,
  async act(api, { principal, params, base_url }) {
    const row = await requireWebhook(api, principal, params["name"] ?? "");
    const flow = api.catalog.find(row.flow);
    const described = describeWebhook(row, flow, { id: "webhook", prefix: "Call" });
    const document = {
      openapi: "3.1.0",
      info: {
        title: row.name,
        version: flow?.version ?? VERSION,
        ...(flow?.description ? { description: flow.description } : {}),
      },
      servers: [{ url: `${base_url}/api/latest` }],
      tags: [{ name: "call", description: "Each call starts an execution" }],
      paths: described.paths,
      components: {
        securitySchemes: described.securitySchemes,
        schemas: { ...described.schemas, Problem: describeProblem() },
        responses: usedResponses(described.paths),
      },
    };
    return { status: 200, text: JSON.stringify(document) };
  },
});

/** Of the statuses of refusals, those that the paths refer to. */
function usedResponses(paths: Json): Json {
  const text = JSON.stringify(paths);
  const used = Object.entries(describeErrors()).filter(([status]) =>
    text.includes(`"#/components/responses/${status}"`),
  );
  return Object.fromEntries(used);
}

/** Webhooks that are described in one turn of the loop. */
const SLICE = 50;

/** The enabled webhooks that somebody may read, as parts of a document. */
export async function describeWebhooks(
  api: Api,
  visitor: Principal,
): Promise<readonly WebhookDescription[]> {
  const within = withinVisible(api, visitor);
  const idOf = openNames();
  const prefixOf = openNames();
  const described: WebhookDescription[] = [];
  for (let after: string | undefined; ;) {
    const rows = await listWebhooks(api.store, { within, is_enabled: 1, after, limit: SLICE });
    for (const row of rows) {
      const names = { id: `webhook_${idOf(row.name)}`, prefix: prefixOf(row.flow) };
      described.push(describeWebhook(row, api.catalog.find(row.flow), names));
    }
    if (rows.length < SLICE) return described;
    after = rows.at(-1)?.name;
    await yieldTurn();
  }
}

/** Names of letters, digits, `.`, `-` and `_`, of which no two are one. */
function openNames(): (name: string) => string {
  const given = new Map<string, string>();
  const taken = new Set<string>();
  return (name) => {
    const found = given.get(name);
    if (found !== undefined) return found;
    const plain = name.replaceAll(/[^\w.-]/g, "_");
    let free = plain;
    // A number may be the end of another's name.
    for (let number = given.size; taken.has(free); number += 1) free = `${plain}_${number}`;
    given.set(name, free);
    taken.add(free);
    return free;
  };
}
