import type { Service } from "../blackbox/service.ts";
import { HOSTILE_NAME } from "./workshop.ts";

/** Every page of the user interface, by the name of its screenshot. */
export async function pagesOf(service: Service): Promise<Readonly<Record<string, string>>> {
  const failed = await firstExecution(service, "failing");
  const hostile = await firstExecution(service, "answer");
  return {
    overview: "/ui/",
    webhooks: "/ui/webhooks",
    "new-webhook": "/ui/new-webhook?flow=hello",
    "webhook-use": "/ui/webhooks/hello",
    "webhook-try": "/ui/webhooks/hello#try",
    "webhook-try-fields": "/ui/webhooks/typed#try",
    "webhook-calls": "/ui/webhooks/failing#calls",
    "webhook-settings": "/ui/webhooks/hello#settings",
    "webhook-refused": "/ui/webhooks/notification#refused",
    "webhook-limits": "/ui/webhooks/hello#limits",
    "webhook-answers": "/ui/webhooks/hello#answers",
    "webhook-delivery": "/ui/webhooks/hello#delivery",
    "webhook-access": "/ui/webhooks/notification#access",
    executions: "/ui/executions",
    "webhook-hostile": `/ui/webhooks/${encodeURIComponent(HOSTILE_NAME)}`,
    execution: `/ui/executions/${failed}`,
    "execution-hostile": `/ui/executions/${hostile}`,
    flows: "/ui/flows",
    flow: "/ui/flows/hello",
    "flow-broken": "/ui/flows/broken",
    "flow-version": `/ui/flows/failing/versions/${await versionOf(service, "failing")}?line=20`,
    "flow-limits": "/ui/flows/github-push#limits",
    "flow-run": "/ui/flows/hello#run",
    users: "/ui/admin/users",
    roles: "/ui/admin/roles",
    projects: "/ui/admin/projects",
    bundles: "/ui/admin/bundles",
    settings: "/ui/admin/settings",
    secrets: "/ui/admin/secrets",
    tokens: "/ui/admin/tokens",
    audit: "/ui/admin/audit",
    configuration: "/ui/admin/configuration",
    system: "/ui/admin/system",
    import: "/ui/admin/import",
    account: "/ui/account",
    docs: "/ui/docs",
    "docs-search": "/ui/docs?q=api+key",
    "docs-page": "/ui/docs/configuration",
    missing: "/ui/nothing-here",
  };
}

async function versionOf(service: Service, flow: string): Promise<string> {
  const { body } = await service.api("GET", `/flow/${flow}`);
  return (body as { version: string }).version;
}

async function firstExecution(service: Service, webhook: string): Promise<string> {
  const { body } = await service.api("GET", `/execution?webhook=${webhook}&limit=1`);
  const { items } = body as { items: { id: string }[] };
  return items[0]?.id ?? "none";
}
