/** The walls between the rooms, stated once: the linter's rules and test/layout.test.ts read them. */

/** A file imports its own room or a lower rank; rooms of one rank never import each other. */
export const RANKS: readonly (readonly string[])[] = [
  ["shared"],
  ["assets", "server/request", "server/metrics", "server/store", "server/config"],
  [
    "server/store/sqlite",
    "server/store/postgres",
    "server/workers",
    "server/flows",
    "server/access",
    "server/nodes",
  ],
  ["server/executions"],
  ["server/webhooks", "server/api", "server/ui"],
  ["server/http"],
  ["server"],
  ["cli"],
  ["main", "binary"],
];

/** Programs of their own: they see what is shared, and nobody imports from them. */
export const APART: readonly string[] = ["runner", "sandbox", "browser", "testing"];

/** Rooms that only these see: to the rest, a store is what its interface says. */
const SEEN_BY: Readonly<Record<string, readonly string[]>> = {
  "server/store/sqlite": ["server", "cli"],
  "server/store/postgres": ["server", "cli"],
};

/** Who may import a package: rooms, or single files. */
export const OWNERS: Readonly<Record<string, readonly string[]>> = {
  "@cfworker/json-schema": ["server/webhooks/schema-check.ts"],
  hono: ["server/http", "server/webhooks/refuse.ts", "server/api", "server/ui", "browser"],
  "@hono/node-server": ["server/http"],
  kysely: ["server/store", "server/store/sqlite", "server/store/postgres"],
  pg: ["server/store/postgres"],
  "better-sqlite3": ["server/store/sqlite"],
  piscina: ["runner"],
  "js-yaml": [
    "server/config",
    "server/webhooks/yaml.ts",
    "server/api/import-document.ts",
    "server/api/export.ts",
    "server/flows/bundles.ts",
    "cli/webhook-members.ts",
    "cli/webhook-transfer.ts",
  ],
  "@valibot/to-json-schema": [
    "server/api",
    "sandbox/schema-text.ts",
    "sandbox/valibot-override.ts",
  ],
  "prom-client": ["server/metrics"],
  // Not imported: pages refer to their files, which are carried as assets.
  "swagger-ui-dist": [],
  valibot: ["server/config", "server/api", "server/flows", "shared"],
  chokidar: ["server/flows"],
  commander: ["cli"],
  "ipaddr.js": ["server/access"],
  pino: ["shared"],
  "pino-pretty": ["shared"],
  marked: ["server/ui"],
  uplot: ["browser"],
  // Others ask the runtime for it, which may have none.
  "node:sea": ["binary"],
};

/** Who may import a package's types, beside its owners. */
export const TYPE_READERS: Readonly<Record<string, readonly string[]>> = {
  "@hono/node-server": ["server/webhooks", "server/api", "server/ui"],
};

export const ROOMS: readonly string[] = [...RANKS.flat(), ...APART];

/**
 * The room of a file below src/: its program's folder; within the server the folder in it, or one
 * below that which is a room of its own, and "server" for what stands beside those; its name where
 * it stands alone.
 */
export function roomOf(file: string): string {
  const [program = "", room, deeper] = file.split("/");
  const inner = `${program}/${room}/${deeper}`;
  if (ROOMS.includes(inner)) return inner;
  const isInRoom = program === "server" && (deeper !== undefined || !/\.tsx?$/.test(room ?? ""));
  return isInRoom ? `server/${room}` : program.replace(/\.tsx?$/, "");
}

/** The rooms that a room may import from. */
export function seenBy(room: string): readonly string[] {
  if (APART.includes(room)) return [room, "shared"];
  const rank = RANKS.findIndex((rooms) => rooms.includes(room));
  if (rank < 0) throw new Error(`The room "${room}" has no rank`);
  const lower = RANKS.slice(0, rank).flat();
  return [room, ...lower.filter((other) => SEEN_BY[other]?.includes(room) ?? true)];
}

/** Whether a file below src/ may import another one. */
export function maySee(file: string, other: string): boolean {
  return seenBy(roomOf(file)).includes(roomOf(other));
}

/** Whether a file below src/ may import a package, or its types alone. */
export function mayUse(file: string, packageName: string, typesOnly: boolean): boolean {
  const readers = typesOnly ? (TYPE_READERS[packageName] ?? []) : [];
  const owners = OWNERS[packageName];
  if (owners === undefined) return true;
  return [...owners, ...readers].some((owner) => owner === file || owner === roomOf(file));
}

interface ThreadFile {
  /** Functions that run before any flow is loaded. */
  readonly setup?: readonly string[];
  /** Classes of the web that it takes as the flow has them. */
  readonly web?: readonly string[];
}

/**
 * Files of the sandbox's thread: their functions run beside a flow, and call nothing that it could
 * have replaced (scripts/captured-rule.ts). All that the thread imports is here, or below.
 */
export const AFTER_FLOWS: Readonly<Record<string, ThreadFile>> = {
  "shared/intrinsics": { setup: ["uncurry", "inheritNothing"] },
  "shared/json-text": { setup: ["isJson"] },
  "shared/parse-exactly": {},
  "sandbox/builtin-names": {},
  "sandbox/builtin-rules": {},
  "sandbox/builtins": {},
  "shared/wire/claims": { setup: ["newClaims"] },
  "shared/wire/frames": {},
  "shared/wire/seal": { setup: ["openSeal", "newDecipher"] },
  "sandbox/line": { setup: ["connectLine", "openPort"] },
  "sandbox/line-text": {},
  "sandbox/descriptors": {
    setup: ["guardDescriptors", "refuseForeign", "wrap"],
  },
  "sandbox/fetch-classes": {},
  "sandbox/fetch-flow": { web: ["Request", "Response", "Headers", "URL"] },
  "sandbox/file-handles": {
    setup: [
      "openSample",
      "guardFileHandles",
      "symbolsOf",
      "guardNative",
      "lockInstances",
      "checkReceiver",
      "accessor",
      "hide",
    ],
  },
  "sandbox/flow-log": { setup: ["replaceConsole"] },
  "sandbox/frozen-objects": {},
  "sandbox/globals": {
    setup: ["closeGlobals", "closeLocks", "closeDeno", "freezeChain", "replace"],
  },
  "sandbox/handles": {
    setup: ["guardHandles", "catchHandle", "handleOfUdp", "silence", "refuseMembers", "hasHandle"],
  },
  "sandbox/import-advice": {},
  "sandbox/import-error": {},
  "sandbox/own-errors": {},
  "sandbox/inspect": { setup: ["inspect"] },
  "sandbox/loader": { setup: ["closeLoader", "forgetModules", "giveBuiltins"] },
  "sandbox/modules": { setup: ["guardModules", "folder"] },
  "sandbox/operations": {},
  "sandbox/package-advice": {},
  "sandbox/pin": { setup: ["pin"] },
  "shared/wire/ports": { setup: ["listen"] },
  "sandbox/plain-error": {},
  "sandbox/process-object": {
    setup: ["replaceProcess", "makeSubstitute", "makeListening", "pinEmitter", "harden"],
  },
  "sandbox/realm": {},
  "sandbox/shared-objects": {
    setup: ["findShared", "note", "hiddenPrototypes", "of", "isNamespace"],
  },
  "sandbox/request-members": {},
  "sandbox/reduced-builtins": {
    setup: ["reduceBuiltins", "reduceHttp2", "keepOnly", "describeSystem", "text"],
  },
  "sandbox/value-text": {},
  "sandbox/run": {},
  "sandbox/run-frames": {},
  "sandbox/schema-text": {
    setup: ["describeSchemas", "describe", "toText", "convert", "keepSound", "reasonOf"],
  },
  "sandbox/stand-ins": {},
  "sandbox/text": {},
  "sandbox/thread-age": {},
  "sandbox/timeline": {},
  "sandbox/thread": { setup: ["guard", "openLine", "pinned", "importFlow"] },
  "sandbox/webhook-response": {},
};

/** What the thread imports as well: types and constants, or what only looks at a flow's export. */
export const NOT_BESIDE_FLOWS: readonly string[] = [
  // Of an author's test, whose flow can harm nobody else.
  "sandbox/fake-clocks",
  "sandbox/fake-time",
  // Of an inspection, in a thread without any grants; the server looks at its answer again.
  "sandbox/valibot-override",
  "sandbox/zod-override",
  "shared/manifest",
  "shared/nearest",
  "shared/wire/protocol",
  "shared/wire/thread-messages",
];
