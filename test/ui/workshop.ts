import { globSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ADMIN_PASSWORD, startService, type Service } from "../blackbox/service.ts";
import { ROOT } from "../blackbox/target.ts";

const BROKEN =
  'const settings = 1;\nthrow new Error("There is no configuration");\nexport default 1;\n';

/** What callers write, in every place that a caller can write to. */
export const HOSTILE =
  "<img src=x onerror=document.title='owned'><script>document.title='owned'</script>";

/** The same in a name, which cannot have a slash. */
export const HOSTILE_NAME = "<img src=x onerror=document.title='owned'>";

/** A service with the example flows, their webhooks, some calls and one of each resource. */
export async function openWorkshop(prefix = ""): Promise<Service> {
  const config = {
    WAIT_POLL_WINDOW_SEC: 1,
    MAX_LOG_LINES: 5000,
    ...(prefix === "" ? {} : { BASE_URL: `http://127.0.0.1${prefix}` }),
  };
  const plugins = globSync(join(ROOT, "plugins/*.ts"));
  const service = await startService({ plugins, flows: ["answer", "typed"], prefix, config });
  await writeFile(join(service.directory, "plugins/broken.ts"), BROKEN);
  await service.api("POST", "/flow/reload");
  for (const flow of ["hello", "failing", "slow", "status-page", "answer", "typed"])
    await service.createWebhook(flow, flow);
  await service.api("PATCH", "/webhook/hello", { description: "Greets whoever calls" });
  await service.api("PATCH", "/webhook/failing", { description: HOSTILE });
  await service.createWebhook(HOSTILE_NAME, "hello");
  await service.createWebhook("notification", "notification", { key: "a-key-of-the-workshop" });
  await service.createWebhook("in-work", "hello", { is_productive: false, is_enabled: false });
  await fill(service);
  for (const name of ["Ada", "Grace", "Linus"]) await call(service, "hello", { name });
  await call(service, "hello", { name: HOSTILE });
  for (let count = 0; count < 3; count += 1) await call(service, "failing", {});
  const words = [{ log: HOSTILE }, { status_message: HOSTILE }, { fail: HOSTILE }];
  await call(service, "answer", { steps: words, output: HOSTILE });
  await call(service, "status-page", null);
  // Refused: it has no key.
  await call(service, "notification", { text: HOSTILE });
  return service;
}

async function fill(service: Service): Promise<void> {
  await service.api("POST", "/project", { name: "Shop", description: "What the shop calls" });
  await service.api("POST", "/project", { name: HOSTILE_NAME, description: HOSTILE });
  await service.api("POST", "/role", {
    name: HOSTILE_NAME,
    permissions: [],
    password: ADMIN_PASSWORD,
  });
  await service.api("POST", "/setting", { name: HOSTILE_NAME, value: HOSTILE });
  await service.api("POST", "/setting", {
    name: "greeting",
    value: { text: "Hello", loud: false },
  });
  await service.api("POST", "/secret", { name: "CRM_TOKEN", value: "not shown anywhere" });
  await service.api("POST", "/user", {
    name: "grace",
    email: "grace@example.com",
    password: "a password of grace",
    roles: ["operator"],
    own_password: ADMIN_PASSWORD,
  });
}

/** One synchronous call, to its end. */
export async function call(service: Service, webhook: string, json: unknown): Promise<Response> {
  const response = await fetch(`${service.url}/api/latest/webhook/${webhook}/call`, {
    method: "POST",
    headers: { "content-type": "application/json", "user-agent": HOSTILE },
    body: JSON.stringify(json),
  });
  await response.text();
  return response;
}
