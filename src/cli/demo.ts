import { createHmac } from "node:crypto";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { generateKey } from "../server/access/api-key.ts";
import { listAssets, readAsset } from "../assets/read.ts";
import type { Service } from "../server/service.ts";
import { findWebhook } from "../server/store/webhooks.ts";
import { makeFolder } from "../shared/make-folder.ts";
import { putEnabledWebhook } from "./enabled-webhook.ts";

/** One example flow, and how to call it. */
interface Example {
  readonly flow: string;
  readonly what: string;
  /** Whether its webhook requires the key. */
  readonly hasKey: boolean;
  curl(url: string, key: string): string;
}

/** Not `--json`, which came with curl 7.82. */
const JSON_BODY = "-H 'Content-Type: application/json' -d";
const PUSH = '{"ref":"refs/heads/main","commits":[],"repository":{"full_name":"me/shop"}}';
/** The one that plugins/github-push.ts uses until its own is set. */
const PUSH_SECRET = "flowhook-demo";

const EXAMPLES: readonly Example[] = [
  {
    flow: "hello",
    what: "A first answer",
    hasKey: false,
    curl: (url) => `curl -L '${url}' ${JSON_BODY} '{"name": "Ada"}'`,
  },
  {
    flow: "slow",
    what: "Waits; the client follows redirects until it is done",
    hasKey: false,
    curl: (url) => `curl -L '${url}?seconds=3'`,
  },
  {
    flow: "failing",
    what: "What a caller sees of a failure",
    hasKey: false,
    curl: (url) => `curl -L '${url}?item=lamp'`,
  },
  {
    flow: "github-push",
    what: "Started by a third-party system, which follows no redirects",
    hasKey: false,
    curl: (url) =>
      `curl '${url}?async' ${JSON_BODY} '${PUSH}' -H 'X-GitHub-Event: push' ` +
      `-H 'X-Hub-Signature-256: sha256=${signPush()}'`,
  },
  {
    flow: "notification",
    what: "Receives a notification; the key is in a header",
    hasKey: true,
    curl: (url, key) =>
      `curl -L -i '${url}' -H 'Authorization: Bearer ${key}' ` +
      `${JSON_BODY} '{"severity": "warning", "text": "Disk is 91 % full"}'`,
  },
  {
    flow: "callback",
    what: "Receives the callback of a job at a sub-path; the key is in the query",
    hasKey: true,
    curl: (url, key) =>
      `curl -L '${url}/job-7?key=${key}' ${JSON_BODY} '{"state": "done", "result": {"pages": 12}}'`,
  },
  {
    flow: "status-page",
    what: "A page for people: open it in a browser",
    hasKey: false,
    curl: (url) => `curl -L '${url}'`,
  },
  {
    flow: "public-form",
    what: "A function for callers without an account",
    hasKey: false,
    curl: (url) =>
      `curl -L '${url}' ${JSON_BODY} '{"item": "lamp", "quantity": 2, "email": "ada@example.com"}'`,
  },
  {
    flow: "fetch-handler",
    what: "A web-standard handler",
    hasKey: false,
    curl: (url) => `curl -L '${url}/items/7?colour=red'`,
  },
];

function signPush(): string {
  return createHmac("sha256", PUSH_SECRET).update(PUSH).digest("hex");
}

/**
 * Writes the example flows where the folder has nothing yet.
 *
 * @returns whether it has
 */
export function writeExamples(plugins_dir: string): boolean {
  makeFolder(plugins_dir);
  if (readdirSync(plugins_dir).length > 0) return false;
  for (const name of listAssets("demo/"))
    writeFileSync(join(plugins_dir, name.slice("demo/".length)), readAsset(name));
  return true;
}

/** A webhook of the demo, with its key where it was made just now. */
export interface DemoWebhook {
  readonly example: Example;
  readonly name: string;
  readonly key: string | null;
}

/** Creates and enables a webhook for each example whose flow is there; existing ones stay. */
export async function fillDemo(service: Service): Promise<readonly DemoWebhook[]> {
  const { store, catalog } = service;
  const webhooks: DemoWebhook[] = [];
  for (const example of EXAMPLES) {
    if (catalog.find(example.flow) === undefined) continue;
    const found = await findWebhook(store, example.flow);
    if (found !== undefined) webhooks.push({ example, name: found.name, key: null });
    else webhooks.push(await createDemoWebhook(service, example));
  }
  return webhooks;
}

async function createDemoWebhook({ store }: Service, example: Example): Promise<DemoWebhook> {
  const key = example.hasKey ? generateKey() : null;
  const { flow, what: description } = example;
  await putEnabledWebhook(store, { flow, description, key });
  return { example, name: flow, key };
}

/** A `curl` line for each; a key is shown at the first start only. */
export function describeDemo(url: string, webhooks: readonly DemoWebhook[]): string {
  const lines = webhooks.map(({ example, name, key }) => {
    const call = `${url}/api/latest/webhook/${encodeURIComponent(name)}/call`;
    const hint = example.hasKey && key === null ? " (put in the key of the first start)" : "";
    return `# ${example.what}${hint}\n${example.curl(call, key ?? "KEY")}\n`;
  });
  return lines.length === 0 ? "" : `\nTry the example flows:\n\n${lines.join("\n")}\n`;
}

/** Of a folder that nothing was written into; empty where it has every example already. */
export function describeUnwritten(plugins_dir: string, webhooks: readonly DemoWebhook[]): string {
  if (webhooks.length === EXAMPLES.length) return "";
  return (
    `\nNo example flows were written: "${plugins_dir}" is not empty, and what is there stays.\n` +
    "Run flowhook serve --demo in an empty folder, or set PLUGINS_DIR to one\n"
  );
}
