/**
 * A rule of the linter for the files whose functions run in a thread after code of a flow was
 * loaded: they call what was captured before (src/shared/intrinsics.ts), and nothing that the flow
 * could have replaced. The names are found by a walk of the language's objects.
 */

interface Node {
  readonly type: string;
  readonly parent: Node | null;
  readonly name?: string;
  readonly id?: Node | null;
  readonly key?: Node;
  readonly callee?: Node;
  readonly property?: Node;
  readonly argument?: Node;
  readonly computed?: boolean;
  readonly importKind?: string;
}

interface Reference {
  readonly identifier: Node;
  readonly isTypeReference?: boolean;
  readonly resolved: { readonly defs: readonly Definition[] } | null;
}

interface Definition {
  readonly type: string;
  readonly node: Node;
  readonly parent: (Node & { readonly source?: { readonly value: string } }) | null;
}

interface Scope {
  readonly references: readonly Reference[];
  readonly childScopes: readonly Scope[];
}

interface Context {
  readonly options: readonly {
    readonly setup?: readonly string[];
    readonly web?: readonly string[];
  }[];
  readonly sourceCode: { readonly scopeManager: { readonly globalScope: Scope } };
  report(finding: { node: Node; message: string }): void;
}

const { methods, getters, globals } = walkLanguage();

/** Names of the methods and getters of the language, and of its globals. */
function walkLanguage() {
  const found = {
    methods: new Set<string>(),
    getters: new Set<string>(),
    globals: new Set<string>(),
  };
  const seen = new Set<unknown>();
  const visit = (value: unknown): void => {
    if ((typeof value !== "object" && typeof value !== "function") || value === null) return;
    if (seen.has(value)) return;
    seen.add(value);
    for (const [name, { value: held, get }] of Object.entries(
      Object.getOwnPropertyDescriptors(value),
    )) {
      if (get !== undefined) found.getters.add(name);
      else if (typeof held === "function" && name !== "constructor") found.methods.add(name);
      visit(held);
    }
    visit(Object.getPrototypeOf(value));
  };
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    const held: unknown = Object.getOwnPropertyDescriptor(globalThis, name)?.value;
    if (held === globalThis || !isOfLanguage(name)) continue;
    found.globals.add(name);
    visit(held);
  }
  for (const made of [
    function* () {},
    async () => {},
    async function* () {},
    [].values(),
    new Map().values(),
  ])
    visit(made);
  // Members of plain objects of our own, and of lists, which are no getters there.
  for (const name of ["length", "message", "name", "prototype"]) found.getters.delete(name);
  return found;
}

/** Not the classes of the web, and not what the runtime adds. */
function isOfLanguage(name: string): boolean {
  return /^(?:Object|Function|Array|Number|Boolean|String|Symbol|BigInt|Math|JSON|Reflect|Proxy|Promise|Map|Set|WeakMap|WeakSet|WeakRef|RegExp|Date|Intl|Atomics|Iterator|ArrayBuffer|SharedArrayBuffer|DataView|FinalizationRegistry|\w*Error|\w+Array|is\w+|parse\w+|(?:en|de)codeURI\w*)$/.test(
    name,
  );
}

/** Of the runtime: a flow can replace them all the same. */
const OF_RUNTIME = [
  "Buffer",
  "console",
  "globalThis",
  "performance",
  "process",
  "queueMicrotask",
  "setImmediate",
  "setInterval",
  "setTimeout",
  "structuredClone",
];

const FUNCTIONS = ["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"];

/** Whether a node runs when the file is loaded, or in a function that runs before any flow. */
function runsBefore(node: Node, setup: readonly string[]): boolean {
  let from: Node | null = node;
  while (from !== null && !FUNCTIONS.includes(from.type)) from = from.parent;
  return from === null || setup.includes(nameOf(from));
}

function nameOf(node: Node): string {
  const { parent } = node;
  if (node.id?.name !== undefined) return node.id.name;
  if (parent?.type === "VariableDeclarator") return parent.id?.name ?? "";
  return parent?.type === "MethodDefinition" ? (parent.key?.name ?? "") : "";
}

function create(context: Context) {
  const { setup = [], web = [] } = context.options[0] ?? {};
  const refuse = (node: Node, message: string): void => {
    if (!runsBefore(node, setup)) context.report({ node, message });
  };
  const iterates = (node: Node): void =>
    refuse(node, "A flow can replace how this is iterated: use an index");
  return {
    CallExpression(node: Node): void {
      const { callee } = node;
      const method =
        callee?.type === "MemberExpression" && !callee.computed ? callee.property?.name : undefined;
      if (method !== undefined && methods.has(method))
        refuse(node, `A flow can replace the method "${method}": call the captured function`);
    },
    MemberExpression(node: Node): void {
      const member = node.computed ? undefined : node.property?.name;
      if (member !== undefined && getters.has(member))
        refuse(node, `A flow can replace the getter "${member}": call the captured function`);
    },
    ForOfStatement: iterates,
    ArrayPattern: iterates,
    YieldExpression: iterates,
    SpreadElement(node: Node): void {
      if (node.parent?.type !== "ObjectExpression") iterates(node);
    },
    "Program:exit"(): void {
      const visit = ({ references, childScopes }: Scope): void => {
        for (const reference of references) checkReference(reference, web, refuse);
        for (const scope of childScopes) visit(scope);
      };
      visit(context.sourceCode.scopeManager.globalScope);
    },
  };
}

function checkReference(
  { identifier, isTypeReference, resolved }: Reference,
  web: readonly string[],
  refuse: (node: Node, message: string) => void,
): void {
  if (isTypeReference === true) return;
  const name = identifier.name ?? "";
  const [definition] = resolved?.defs ?? [];
  if (definition === undefined) {
    if ((globals.has(name) || OF_RUNTIME.includes(name)) && !web.includes(name))
      refuse(identifier, `A flow can replace the global "${name}": import the captured one`);
    return;
  }
  if (definition.type !== "ImportBinding") return;
  if (definition.parent?.source?.value.startsWith("node:"))
    refuse(
      identifier,
      `A flow can replace what "${name}" is bound to: keep it in a constant of the file`,
    );
}

const names = { type: "array", items: { type: "string" } };
const schema = [{ type: "object", properties: { setup: names, web: names } }];

export default { meta: { name: "flowhook" }, rules: { captured: { meta: { schema }, create } } };
