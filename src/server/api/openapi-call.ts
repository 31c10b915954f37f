type Json = Readonly<Record<string, unknown>>;

/** The call endpoint (section 4), which is no route of the management API. */

export const CALL_METHODS: readonly string[] = ["get", "head", "post", "put", "patch", "delete"];
export const WITH_BODY: readonly string[] = ["post", "put", "patch", "delete"];

export function describeCall(): Json {
  return {
    "/webhook/{name}/call": describePath("call", []),
    "/webhook/{name}/call/{sub_path}": describePath("call_sub_path", [
      {
        name: "sub_path",
        in: "path",
        required: true,
        description: "Any text, slashes as well: the flow receives it as `path`",
        schema: { type: "string" },
      },
    ]),
  };
}

/** What the service reads of any call. */
export const COMMON_PARAMETERS: readonly Json[] = [
  {
    name: "async",
    in: "query",
    required: false,
    description:
      "Anything but 0, also empty: answer at once with the id of the execution. 0: wait for the " +
      "result. Without it the webhook's default_mode holds",
    allowEmptyValue: true,
    schema: { type: "string" },
  },
  {
    name: "__wait_execution_id",
    in: "query",
    required: false,
    description: "Set by the redirects of a synchronous call: wait for that execution",
    schema: { type: "string" },
  },
  {
    name: "prefer",
    in: "header",
    required: false,
    description:
      "respond-async: as the query parameter async. wait=N (1 to 300): wait N seconds for the " +
      "result before the redirect. The query parameter wins (RFC 7240)",
    schema: { type: "string" },
  },
  {
    name: "traceparent",
    in: "header",
    required: false,
    description: "W3C Trace Context: passed on to the flow, and logged",
    schema: { type: "string" },
  },
];

const NAME = { name: "name", in: "path", required: true, schema: { type: "string" } };

function describePath(name: string, more: readonly Json[]): Json {
  const operations = CALL_METHODS.map((method) => [
    method,
    {
      operationId: `${method}_webhook_${name}`,
      tags: ["call"],
      summary: `Call a webhook with ${method.toUpperCase()}: start an execution of its flow`,
      security: SECURITY,
      ...(WITH_BODY.includes(method) ? { requestBody: BODY } : {}),
      responses: RESPONSES,
    },
  ]);
  return {
    parameters: [NAME, ...COMMON_PARAMETERS, ...more],
    ...Object.fromEntries(operations),
    options: { operationId: `options_webhook_${name}`, ...PREFLIGHT },
  };
}

/** A browser's question for a page of another origin (Fetch standard, section 3.2.2). */
export const PREFLIGHT = {
  tags: ["call"],
  summary: "Ask whether a page of another origin may call a webhook: starts nothing",
  security: [{}],
  parameters: ["origin", "access-control-request-method"].map((name) => ({
    name,
    in: "header",
    required: false,
    schema: { type: "string" },
  })),
  responses: {
    204: {
      description: "It may: origin, method and address are those that the webhook lists",
      headers: Object.fromEntries(
        ["Origin", "Methods", "Headers", "Credentials"].map((name) => [
          `Access-Control-Allow-${name}`,
          { schema: { type: "string" } },
        ]),
      ),
    },
    405: { $ref: "#/components/responses/405" },
  },
};

/** What a webhook requires is its own setting: nothing, a key, a login, or both. */
const SECURITY = [
  {},
  { key: [] },
  { keyInQuery: [] },
  { token: [] },
  { cookie: [] },
  { key: [], token: [] },
];

const BODY = {
  required: false,
  content: {
    "application/json": { schema: {} },
    "application/yaml": { schema: {} },
    "application/x-www-form-urlencoded": { schema: { type: "object" } },
  },
};

const EXECUTION_ID = { "Flowhook-Execution-Id": { schema: { type: "string" } } };
const LOCATION = { Location: { schema: { type: "string" } } };
const TEXT = { "text/plain": { schema: { type: "string" } } };

const RESPONSES = {
  200: {
    description: "The output_value of the execution, or the response that the flow shaped",
    headers: EXECUTION_ID,
    content: { "application/json": { schema: {} } },
  },
  201: {
    description:
      "Started: the id of the execution, whose result Location leads to. The webhook's " +
      "async_status can make it 200, 202 or 204",
    headers: { ...EXECUTION_ID, ...LOCATION },
    content: TEXT,
  },
  302: { description: "Not ended yet: wait again", headers: { ...EXECUTION_ID, ...LOCATION } },
  303: { description: "Started: wait for the result", headers: { ...EXECUTION_ID, ...LOCATION } },
  400: { $ref: "#/components/responses/400" },
  401: {
    description: "The login token or the API key is missing or wrong",
    content: { "application/json": { schema: { const: "401 Unauthorized" } } },
  },
  402: { $ref: "#/components/responses/402" },
  403: { $ref: "#/components/responses/403" },
  404: { $ref: "#/components/responses/404" },
  405: { $ref: "#/components/responses/405" },
  408: { $ref: "#/components/responses/408" },
  413: { $ref: "#/components/responses/413" },
  415: { $ref: "#/components/responses/415" },
  417: { $ref: "#/components/responses/417" },
  422: { $ref: "#/components/responses/422" },
  429: { $ref: "#/components/responses/429" },
  431: { $ref: "#/components/responses/431" },
  500: {
    description: "The execution did not succeed: its status, a colon and its status message",
    headers: EXECUTION_ID,
    content: TEXT,
  },
  503: { $ref: "#/components/responses/503" },
};
