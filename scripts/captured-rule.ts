import { isBuiltin } from "node:module";

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
  readonly tag?: Node;
  readonly source?: Node;
  readonly object?: Node;
  readonly local?: Node;
  readonly property?: Node;
  readonly computed?: boolean;
  readonly static?: boolean;
  readonly kind?: string;
  readonly value?: unknown;
  /** The texts of a template, between its holes. */
  readonly quasis?: readonly { readonly value: { readonly cooked: string } }[];
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

const { methods, getters } = walkLanguage();

/** Names of the methods and getters of the language. */
function walkLanguage() {
  const found = { methods: new Set<string>(), getters: new Set<string>() };
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

/** The only globals that nobody can replace. */
const FIXED = ["undefined", "NaN", "Infinity"];

const FUNCTIONS = ["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"];

/** Whether a node runs when the file is loaded, or in a function that runs before any flow. */
function runsBefore(node: Node, setup: readonly string[]): boolean {
  let from: Node | null = node;
  while (from !== null && !runsLater(from)) from = from.parent;
  return from === null || setup.includes(nameOf(from));
}

const MEMBERS = ["PropertyDefinition", "AccessorProperty"];

/** Functions, and members of a class that each instance gets. */
function runsLater({ type, static: isStatic }: Node): boolean {
  return FUNCTIONS.includes(type) || (MEMBERS.includes(type) && isStatic !== true);
}

function nameOf(node: Node): string {
  const { parent } = node;
  if (node.id?.name !== undefined) return node.id.name;
  if (parent?.type === "VariableDeclarator") return parent.id?.name ?? "";
  return parent?.type === "MethodDefinition" ? (parent.key?.name ?? "") : "";
}

type Refuse = (node: Node, message: string) => void;

function create(context: Context) {
  const { setup = [], web = [] } = context.options[0] ?? {};
  const refuse: Refuse = (node, message) => {
    if (!runsBefore(node, setup)) context.report({ node, message });
  };
  const reads = (node: Node, getter: string): void =>
    refuse(node, `A flow can replace the getter "${getter}": call the captured function`);
  const iterates = (node: Node): void =>
    refuse(node, "A flow can replace how this is iterated: use an index");
  /** Names by which the file has all captured functions. */
  const namespaces = new Set<string>();
  return {
    ImportNamespaceSpecifier({ local, parent }: Node): void {
      if (textOf(parent?.source).endsWith("/intrinsics.ts")) namespaces.add(local?.name ?? "");
    },
    MemberExpression(node: Node): void {
      if (namespaces.has(node.object?.name ?? "")) return;
      const member = memberOf(node.property, node.computed);
      if (isCalled(node) && methods.has(member))
        refuse(node, `A flow can replace the method "${member}": call the captured function`);
      if (getters.has(member)) reads(node, member);
    },
    "ObjectPattern > Property"(node: Node): void {
      const member = memberOf(node.key, node.computed);
      if (getters.has(member)) reads(node, member);
    },
    VariableDeclaration(node: Node): void {
      if (node.kind?.endsWith("using") === true)
        refuse(node, "A flow can replace how this is disposed of: use try and finally");
    },
    ImportExpression(node: Node): void {
      if (isBuiltin(textOf(node.source)))
        refuse(node, "A flow can replace what is imported here: import it at the top of the file");
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
        for (const { identifier, resolved } of references)
          if (namespaces.has(identifier.name ?? "") && resolved?.defs[0]?.type !== "ImportBinding")
            refuse(identifier, `Here "${identifier.name}" is not what was captured: rename it`);
        for (const scope of childScopes) visit(scope);
      };
      visit(context.sourceCode.scopeManager.globalScope);
    },
  };
}

/** The name of a member, where the text has it. */
function memberOf(key: Node | undefined, computed: boolean | undefined): string {
  return (computed === true ? undefined : key?.name) ?? textOf(key);
}

/** Of a text in quotes, or of a template without a hole. */
function textOf(node: Node | undefined): string {
  if (typeof node?.value === "string") return node.value;
  const [first, hole] = node?.quasis ?? [];
  return hole === undefined ? (first?.value.cooked ?? "") : "";
}

/** Also as `a.method!()`, `(a.method as Type)()`, `(a?.method)()` and `` a.method`text` ``. */
function isCalled(node: Node): boolean {
  const { parent } = node;
  if (parent?.type === "ChainExpression" || parent?.type.startsWith("TS")) return isCalled(parent);
  return parent?.callee === node || parent?.tag === node;
}

function checkReference(
  { identifier, isTypeReference, resolved }: Reference,
  web: readonly string[],
  refuse: Refuse,
): void {
  if (isTypeReference === true) return;
  const name = identifier.name ?? "";
  const [definition] = resolved?.defs ?? [];
  if (definition === undefined) {
    if (!FIXED.includes(name) && !web.includes(name))
      refuse(identifier, `A flow can replace the global "${name}": import the captured one`);
    return;
  }
  if (definition.type !== "ImportBinding") return;
  if (isBuiltin(definition.parent?.source?.value ?? ""))
    refuse(
      identifier,
      `A flow can replace what "${name}" is bound to: keep it in a constant of the file`,
    );
}

const names = { type: "array", items: { type: "string" } };
const schema = [{ type: "object", properties: { setup: names, web: names } }];

export default { meta: { name: "flowhook" }, rules: { captured: { meta: { schema }, create } } };
