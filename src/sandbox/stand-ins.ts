import files from "node:fs";
import * as js from "../shared/intrinsics.ts";
import { DNS_ERRORS, FUNCTIONS, METHODS, STATUS_CODES, TLS_DEFAULTS } from "./builtin-names.ts";
import { lineFor, needOf, type Need } from "./builtins.ts";

/**
 * What a package gets in place of a module of the runtime that its flow has no permission for: most
 * packages import modules that they never use in a flow. It has the names that Node's has, and each
 * function and class throws when it is called. It is source text that imports nothing and runs as
 * code of the flow, so there is nothing behind it to be got at.
 */

interface StandIn {
  /** Its members that are no functions, as what JSON can say. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** Its functions give promises, and are named with this before them. */
  readonly asyncPrefix?: string;
  /** The module that is its member `promises`. */
  readonly promises?: string;
  /** Other members, as source text. */
  readonly texts?: Readonly<Record<string, string>>;
  /** What else is done to it, as source text. */
  readonly more?: string;
}

/** Nothing of them is a port: what a package asks is whether it is in a thread of its own. */
const WORKER_THREADS: StandIn = {
  data: {
    isMainThread: true,
    isInternalThread: false,
    parentPort: null,
    workerData: null,
    threadId: 0,
    threadName: "",
    resourceLimits: {},
    locks: {},
  },
  texts: { SHARE_ENV: `Symbol.for("nodejs.worker_threads.SHARE_ENV")` },
  // Marks of objects: classes of the web set them on all that they make.
  more: `all.markAsUncloneable = all.markAsUntransferable = () => {};
    all.isMarkedAsUntransferable = () => false;`,
};

const CLUSTER: StandIn = {
  data: {
    isWorker: false,
    isMaster: true,
    isPrimary: true,
    SCHED_NONE: 1,
    SCHED_RR: 2,
    schedulingPolicy: 2,
  },
  texts: { workers: "{}", settings: "{}" },
};

/** A package may set members of the agent that all requests share. */
const AGENT = { globalAgent: "{ options: {} }" };
const INSPECTOR: StandIn = {
  texts: { console: "{}", Network: "{}", NetworkResources: "{}", DOMStorage: "{}" },
};

const MORE = {
  __proto__: null,
  cluster: CLUSTER,
  dns: {
    data: { ...DNS_ERRORS, ADDRCONFIG: 32, ALL: 16, V4MAPPED: 8 },
    promises: "dns/promises",
  },
  "dns/promises": { data: DNS_ERRORS, asyncPrefix: "dns.promises." },
  domain: { data: { active: null } },
  fs: {
    data: { constants: files.constants },
    promises: "fs/promises",
    texts: { lchmod: "undefined", lchmodSync: "undefined" },
    more: `for (const name of ["realpath", "realpathSync"])
      all[name].native = standIn("fs." + name + ".", "native", false).native;`,
  },
  "fs/promises": { data: { constants: files.constants }, asyncPrefix: "fs.promises." },
  http: {
    data: { STATUS_CODES, maxHeaderSize: 16_384 },
    texts: { ...AGENT, METHODS: `Object.freeze(${js.stringify(METHODS)}.match(/[^ ]+/g))` },
  },
  http2: { data: { constants: {} }, texts: { sensitiveHeaders: `Symbol("sensitiveHeaders")` } },
  https: { texts: AGENT },
  inspector: INSPECTOR,
  "inspector/promises": INSPECTOR,
  repl: {
    data: { builtinModules: [] },
    texts: { REPL_MODE_SLOPPY: `Symbol("repl-sloppy")`, REPL_MODE_STRICT: `Symbol("repl-strict")` },
  },
  tls: { data: { ...TLS_DEFAULTS, rootCertificates: [] } },
  v8: {
    texts: { promiseHooks: "{}", startupSnapshot: "{ isBuildingSnapshot: () => false }" },
  },
  vm: { data: { constants: {} } },
  worker_threads: WORKER_THREADS,
} as unknown as Readonly<Record<string, StandIn>>;

/** What all stand-ins are made with: source text, for which `why` says why it is refused. */
const RUNTIME = String.raw`
  const refuse = (name) => {
    const error = new Error('Cannot use "' + name + '" ' + why);
    throw Object.assign(error, { code: "ERR_ACCESS_DENIED" });
  };
  const standIn = (prefix, names, isAsync, members) => {
    const all = {};
    for (const name of names.match(/\w+/g))
      all[name] = isAsync && name !== "Resolver"
        ? { async [name]() { refuse(prefix + name); } }[name]
        : { [name]: function () { refuse(prefix + name); } }[name];
    return Object.assign(all, members);
  };`;

/** Whether something stands in place of a module. @param name without `node:` */
export function hasStandIn(name: string): boolean {
  // Deno would give its own, whatever it is told (measured with 2.9.6).
  if (js.IS_DENO && name === "worker_threads") return false;
  return FUNCTIONS[name] !== undefined;
}

/**
 * Source text of what stands in place of a module, null where nothing does.
 *
 * @param name without `node:`
 */
export function standInOf(name: string): string | null {
  const functions = FUNCTIONS[name];
  if (functions === undefined) return null;
  const { data = {}, texts = {}, promises, more = "" } = MORE[name] ?? {};
  const others = js.keys({ ...(promises === undefined ? null : { promises }), ...data, ...texts });
  const names = others.length === 0 ? functions : `${functions}, ${js.join(others, ", ")}`;
  return `const why = ${js.stringify(whyOf(needOf(name)))};
    ${RUNTIME}
    const all = ${toObject(name)};
    ${more}
    export const { ${names} } = all;
    export default all;
    export { all as "module.exports" };`;
}

/** Source text of an object with these members, and with functions that reach beyond a thread and throw. */
export function refusing(name: string, functions: string, members: string): string {
  return `(() => {
    const why = ${js.stringify(whyOf("never"))};
    ${RUNTIME}
    return standIn(${js.stringify(`${name}.`)}, ${js.stringify(functions)}, false, ${members});
  })()`;
}

function whyOf(need: Need): string {
  if (need !== "files" && need !== "net")
    return "in a flow: it reaches beyond the flow's own thread";
  const allowed = need === "files" ? ", and the path to ALLOW_READ in the configuration" : "";
  return `without a permission: add ${lineFor(need)} to the flow${allowed}`;
}

function toObject(name: string): string {
  const { data = {}, texts = {}, promises, asyncPrefix } = MORE[name] ?? {};
  let members = promises === undefined ? "" : `promises: ${toObject(promises)},`;
  js.each(js.keys(data), (key) => {
    members += `${key}: Object.freeze(${js.stringify(data[key])}),`;
  });
  js.each(js.keys(texts), (key) => {
    members += `${key}: ${texts[key]},`;
  });
  const prefix = asyncPrefix ?? `${name}.`;
  const isAsync = asyncPrefix !== undefined;
  return `standIn(${js.stringify(prefix)}, ${js.stringify(FUNCTIONS[name])}, ${isAsync}, { ${members} })`;
}
