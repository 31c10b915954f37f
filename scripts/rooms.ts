/** The walls of the house, stated once: the linter's rules and test/layout.test.ts read them. */

/** A file imports its own room or a lower rank; rooms of one rank never import each other. */
export const RANKS: readonly (readonly string[])[] = [
  ["lib"],
  ["store", "config", "assets"],
  ["runner", "flows", "access"],
  ["executions"],
  ["webhooks", "api", "ui"],
  ["server"],
  ["service"],
  ["cli"],
  ["main", "binary"],
];

/** A program of its own: what it sees beside itself. Nobody imports from it. */
export const SANDBOX_SEES: readonly string[] = [
  "lib",
  "runner/channel.ts",
  "runner/protocol.ts",
  "runner/seal.ts",
  "flows/author.ts",
  "flows/manifest.ts",
];

/** Plain data that crosses the wall to the runner: rooms of the same rank see it too. */
export const FLOWS_SEE: readonly string[] = ["runner/protocol.ts"];

/** Who may import a package: rooms, or single files. */
export const OWNERS: Readonly<Record<string, readonly string[]>> = {
  hono: ["server", "webhooks", "api", "ui"],
  "@hono/node-server": ["service"],
  kysely: ["store"],
  "better-sqlite3": ["store"],
  piscina: ["sandbox"],
  "js-yaml": [
    "config",
    "webhooks/yaml.ts",
    "api/import-document.ts",
    "api/export.ts",
    "flows/bundles.ts",
  ],
  "@valibot/to-json-schema": ["api"],
  "prom-client": ["lib"],
  // Not imported: pages refer to their files, which are carried as assets.
  "swagger-ui-dist": [],
  valibot: ["config", "api", "flows"],
  chokidar: ["flows"],
  commander: ["cli"],
  "ipaddr.js": ["access"],
  pino: ["lib"],
  "pino-pretty": ["lib"],
  uplot: ["ui"],
  uuid: ["lib"],
  "node:sea": ["assets", "binary"],
};

/** Who may import a package's types, beside its owners. */
export const TYPE_READERS: Readonly<Record<string, readonly string[]>> = {
  "@hono/node-server": ["server", "webhooks", "api", "ui"],
};

export const ROOMS: readonly string[] = [...RANKS.flat(), "sandbox"];

/** The room of a file below src/: its folder, or its name where it stands alone. */
export function roomOf(file: string): string {
  return file.split("/")[0]!.replace(/\.tsx?$/, "");
}

/** What a room may import from src/: rooms, or single files for the sandbox. */
export function seenBy(room: string): readonly string[] {
  if (room === "sandbox") return ["sandbox", ...SANDBOX_SEES];
  const rank = RANKS.findIndex((rooms) => rooms.includes(room));
  if (rank < 0) throw new Error(`The room "${room}" has no rank`);
  const below = [room, ...RANKS.slice(0, rank).flat()];
  return room === "flows" ? [...below, ...FLOWS_SEE] : below;
}

/** Whether a file below src/ may import another one. */
export function maySee(file: string, other: string): boolean {
  return seenBy(roomOf(file)).some((seen) => seen === other || seen === roomOf(other));
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
  "lib/intrinsics": { setup: ["uncurry", "inheritNothing"] },
  "lib/json-text": { setup: ["isJson"] },
  "sandbox/builtins": {},
  "sandbox/claims": { setup: ["newClaims"] },
  "sandbox/descriptors": {
    setup: ["guardDescriptors", "refuseForeign", "wrap", "pin"],
  },
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
  "sandbox/globals": {
    setup: ["closeGlobals", "closeLocks", "closeDeno", "freezeChain", "replace"],
  },
  "sandbox/handles": {
    setup: ["guardHandles", "catchHandle", "handleOfUdp", "silence", "refuseMembers", "hasHandle"],
  },
  "sandbox/import-fault": {},
  "sandbox/inspect": { setup: ["inspect"] },
  "sandbox/loader": { setup: ["closeLoader", "forgetModules"] },
  "sandbox/modules": { setup: ["guardModules", "folder"] },
  "sandbox/operations": {},
  "sandbox/pin": { setup: ["pin"] },
  "sandbox/ports": { setup: ["listen"] },
  "sandbox/process-object": {
    setup: ["replaceProcess", "makeSubstitute", "makeListening", "pinEmitter", "harden", "disable"],
  },
  "sandbox/realm": {
    setup: ["findShared", "note", "hiddenPrototypes", "of", "isOpen", "isNamespace"],
  },
  "sandbox/reduced-builtins": {
    setup: ["reduceBuiltins", "reduceHttp2", "keepOnly", "describeSystem", "text", "toSource"],
  },
  "sandbox/run": {},
  "sandbox/text": {},
  "sandbox/thread": { setup: ["guard", "pinned", "importFlow"] },
  "sandbox/webhook-response": {},
};

/** What the thread imports as well: types and constants, or what only looks at a flow's export. */
export const NOT_BESIDE_FLOWS: readonly string[] = [
  // Of an inspection, in a thread without any grants; the server looks at its answer again.
  "flows/manifest",
  "lib/nearest",
  "runner/protocol",
  "sandbox/thread-messages",
];
