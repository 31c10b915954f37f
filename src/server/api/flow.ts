import { STARTED } from "../../shared/contract/execution.ts";
import {
  FLOW,
  FLOW_START,
  FLOW_WITH_SOURCE,
  type Flow,
  type FlowSchemaMembers,
} from "../../shared/contract/flow.ts";
import { listOf, type List } from "../../shared/contract/list.ts";
import * as v from "valibot";
import type { Principal } from "../access/login.ts";
import { isAllowed } from "../access/permission.ts";
import { toInput } from "../executions/input.ts";
import type { Flow as CatalogFlow } from "../flows/catalog.ts";
import type { SchemaText } from "../../shared/manifest.ts";
import { readTrace } from "../request/trace.ts";
import { requireIn } from "./access.ts";
import type { Api } from "./api.ts";
import { toJsonText } from "./json-body.ts";
import { listDiffering } from "../store/flow-offers.ts";
import { missing } from "./missing.ts";
import { defineRoute } from "./route.ts";

/** By flow: what nodes have in their folders, where that differs. */
type Differing = ReadonlyMap<string, Flow["versions"]>;

/** Nothing while the store cannot be asked: flows are known without it. */
async function findDiffering({ store }: Api): Promise<Differing> {
  if (store.node === null) return new Map();
  const differing = await listDiffering(store).catch(() => []);
  return new Map(differing.map(({ flow, versions }) => [flow, [...versions]]));
}

/** A flow as the API shows it, with what it declares and what it was granted. */
function toFlow(flow: CatalogFlow, differing: Differing): Flow {
  return {
    name: flow.name,
    description: flow.description,
    version: flow.version,
    bundle: flow.bundle,
    state: flow.state,
    error: flow.error,
    file: flow.file,
    node: flow.node,
    versions: differing.get(flow.name) ?? [],
    permissions: flow.manifest?.permissions ?? null,
    granted: flow.spec?.grants ?? null,
    timeout_sec: flow.timeoutMs / 1000,
    memory_mb: flow.spec?.memory_mb ?? null,
    isolation: flow.manifest?.isolation ?? null,
    has_input_schema: flow.manifest?.has_input_schema ?? null,
  };
}

async function toList(api: Api, flows: readonly CatalogFlow[]): Promise<List<Flow>> {
  const differing = await findDiffering(api);
  return { items: flows.map((flow) => toFlow(flow, differing)), next_cursor: null };
}

/** Its schemas, or why there is none where it has a schema. */
function toSchemas({ manifest }: CatalogFlow): FlowSchemaMembers {
  const { input = null, output = null } = manifest?.schemas ?? {};
  return {
    input_schema: toSchema(input),
    input_schema_reason: input?.reason ?? null,
    output_schema: toSchema(output),
    output_schema_reason: output?.reason ?? null,
  };
}

function toSchema(told: SchemaText | null): FlowSchemaMembers["input_schema"] {
  if (told === null || told.json === null) return null;
  return JSON.parse(told.json) as FlowSchemaMembers["input_schema"];
}

function requireFlow({ catalog }: Api, { grants }: Principal, name: string): CatalogFlow {
  const flow = catalog.find(name);
  if (flow !== undefined) return flow;
  const known = isAllowed(grants, "flow.read") ? catalog.list() : [];
  throw missing(
    "flow",
    name,
    known.map((one) => one.name),
  );
}

export const getFlows = defineRoute({
  method: "GET",
  path: "/flow",
  summary: "List flows by name, with their state",
  needs: "flow.read",
  query: v.strictObject({
    state: v.optional(
      v.pipe(v.picklist(["ready", "broken"]), v.description("Whether its newest version can run")),
    ),
  }),
  answer: listOf(FLOW),
  async act(api, { query }) {
    const flows = api.catalog.list();
    const shown = flows.filter(({ state }) => query.state === undefined || state === query.state);
    return { status: 200, body: await toList(api, shown) };
  },
});

export const getFlow = defineRoute({
  method: "GET",
  path: "/flow/:name",
  summary: "Read one flow, with its source",
  needs: "flow.read",
  answer: FLOW_WITH_SOURCE,
  async act(api, { principal, params }) {
    const flow = requireFlow(api, principal, params["name"] ?? "");
    const source = await api.catalog.source(flow.name);
    const shown = toFlow(flow, await findDiffering(api));
    return { status: 200, body: { ...shown, ...toSchemas(flow), source } };
  },
});

export const startFlow = defineRoute({
  method: "POST",
  path: "/flow/:name/execution",
  summary: "Start a flow without a webhook; the execution has the starter's permissions",
  needs: "execution.start",
  action: "execution.start",
  body: FLOW_START,
  example: { input_value: { json: { name: "Ada" } } },
  status: 201,
  answer: STARTED,
  async act(api, { principal, params, body, incoming, outgoing }) {
    requireIn(principal, "execution.start", api.defaultProjectId);
    const flow = requireFlow(api, principal, params["name"] ?? "");
    const live = await api.executions.start({
      flowName: flow.name,
      flow,
      webhook: null,
      input: toInput(body.input_value === undefined ? undefined : toJsonText(body.input_value)),
      is_productive: true,
      is_async: true,
      project_id: api.defaultProjectId,
      role_id: null,
      acts_for: principal.user_id,
      created_by: principal.user_id,
      parent_id: null,
      replay_of: null,
      isConnection: false,
      trace: readTrace(incoming, outgoing),
    });
    return { status: 201, body: { id: live.id } };
  },
});

export const reloadFlows = defineRoute({
  method: "POST",
  path: "/flow/reload",
  summary: "Look into the plugins folder now, also at broken flows",
  needs: "flow.reload",
  action: "flow.reload",
  answer: listOf(FLOW),
  async act(api) {
    await api.catalog.reload();
    return { status: 200, body: await toList(api, api.catalog.list()) };
  },
});
