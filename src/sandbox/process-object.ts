import { types } from "node:util";
import * as js from "../shared/intrinsics.ts";

/**
 * What a flow sees as `process`: an object of its own with the few harmless members, not the
 * original with members deleted (its report shows the environment of the runner, `kill` reaches
 * the runner, `_rawDebug` passes by the captured output).
 */

const REFUSED = "exit abort kill chdir dlopen binding getBuiltinModule".split(" ");

/**
 * Members of the original that reach beyond the thread, also for who gets hold of it: taken away
 * where the runtime lets them. What the flow sees is the substitute in any case.
 */
const DANGEROUS = (
  "_debugEnd _debugProcess _getActiveHandles _getActiveRequests _kill _linkedBinding " +
  "_rawDebug binding dlopen execve getBuiltinModule kill mainModule moduleLoadList " +
  "permission report setUncaughtExceptionCaptureCallback"
).split(" ");

/** The runtime asks the original for them, and they are there only where somebody has set them. */
const UNSET = "noDeprecation throwDeprecation traceDeprecation traceProcessWarnings stdin".split(
  " ",
);

/** Members of the original that say no more than those of the substitute. */
const TOLD = ["argv", "execArgv", "execPath", "ppid", "title", "stdout", "stderr"];

/** Where what a flow prints past the console goes. */
export type Print = (level: "info" | "warn" | "error", text: string) => void;

const { isNativeError, isUint8Array } = types;
const soon = queueMicrotask;
const GLOBAL = globalThis;
const decoder = new TextDecoder();
const decode = decoder.decode.bind(decoder);

/** Replaces `globalThis.process`; call before any code of a flow is loaded. */
export function replaceProcess(print: Print): void {
  const real = globalThis.process;
  const substitute = makeSubstitute(real, print);
  pinEmitter(real);
  for (const name of DANGEROUS)
    Reflect.defineProperty(real, name, { value: undefined, configurable: false, writable: false });
  // The runtime's own warnings would pass by the captured output.
  real.emitWarning = () => {};
  harden(real, substitute);
  Object.defineProperty(globalThis, "process", {
    value: substitute,
    writable: true,
    enumerable: false,
    configurable: true,
  });
}

function makeSubstitute(real: NodeJS.Process, print: Print): object {
  const { version, platform, arch, hrtime, nextTick, uptime, memoryUsage } = real;
  const bigint = hrtime.bigint.bind(hrtime);
  const substitute = {
    env: {},
    argv: [],
    execArgv: [],
    execPath: "flow",
    ppid: 0,
    exitCode: undefined,
    title: "flow",
    version,
    versions: { ...real.versions },
    release: { name: "node" },
    features: { ...real.features },
    platform,
    arch,
    pid: 0,
    hrtime: Object.assign((since?: [number, number]) => hrtime(since), { bigint }),
    nextTick: (...args: unknown[]) => js.apply(nextTick, undefined, args),
    uptime: () => uptime(),
    memoryUsage: () => memoryUsage(),
    cwd: () => "/",
    umask: () => 0o022,
    emitWarning: (warning: unknown) => print("warn", textOf(warning)),
    stdout: makeStream(real.stdout, (text) => print("info", text)),
    stderr: makeStream(real.stderr, (text) => print("error", text)),
    ...makeListening(() => js.get(GLOBAL, "process")),
  };
  for (const name of REFUSED) {
    // Packages put their own in the place of some (graceful-fs), as they can with all others.
    const refused = { value: refuse(name), writable: true, configurable: true };
    Object.defineProperty(substitute, name, refused);
  }
  Object.defineProperty(substitute, Symbol.toStringTag, { value: "process" });
  return substitute;
}

/** Listeners are taken and never called: the events of the process are not the flow's. */
function makeListening(chained: () => unknown): Record<string, () => unknown> {
  const names =
    "on once off addListener removeListener removeAllListeners prependListener setMaxListeners";
  return {
    ...Object.fromEntries(names.split(" ").map((name) => [name, chained])),
    emit: () => false,
    listeners: () => [],
    listenerCount: () => 0,
  };
}

/** Enough of a stream to print and to be piped into; the pool's thread reads `writableLength`. */
function makeStream(real: object, print: (text: string) => void): object {
  const finish = (encoding: unknown, done: unknown): void => {
    const callback = typeof encoding === "function" ? encoding : done;
    if (typeof callback === "function") soon(() => callback());
  };
  const write = (chunk: unknown, encoding?: unknown, done?: unknown): boolean => {
    print(typeof chunk === "string" ? chunk : textOf(chunk));
    finish(encoding, done);
    return true;
  };
  /** What prints after it is printed all the same. */
  const end = (chunk?: unknown, encoding?: unknown, done?: unknown): object => {
    if (typeof chunk === "function") finish(chunk, done);
    else if (chunk === undefined || chunk === null) finish(encoding, done);
    else write(chunk, encoding, done);
    return stream;
  };
  const stream: object = {
    isTTY: false,
    writable: true,
    writableLength: 0,
    // By it a pipeline ends with what it reads: no event tells of the end here.
    writableFinished: true,
    write,
    end,
    ...makeListening(() => stream),
    ...makeHooks(real),
  };
  return stream;
}

/**
 * By them the runtime tells a stream of a thread that its text is wanted. Where many threads start it
 * does so late, and one that was not there would be an error of whichever run has the thread.
 */
function makeHooks(real: object): Record<symbol, () => void> {
  const hooks: Record<symbol, () => void> = {};
  js.each(js.ownKeys(js.getPrototypeOf(real) as object), (name) => {
    if (typeof name === "symbol") hooks[name] = () => {};
  });
  return hooks;
}

function textOf(value: unknown): string {
  if (isNativeError(value)) return `${value.name}: ${value.message}`;
  if (isUint8Array(value)) return decode(value);
  return js.String(value);
}

function refuse(name: string): () => never {
  return () => {
    throw new js.Error(
      `"process.${name}" is not available in a flow: return a value or throw an error`,
    );
  };
}

/** A flow that patches EventEmitter.prototype must not be handed the original as `this`. */
function pinEmitter(real: NodeJS.Process): void {
  for (let from = Object.getPrototypeOf(real); from !== null; from = Object.getPrototypeOf(from)) {
    if (from === Object.prototype) return;
    for (const name of Object.getOwnPropertyNames(from)) {
      const found = Object.getOwnPropertyDescriptor(from, name);
      if (name === "constructor" || typeof found?.value !== "function") continue;
      if (Object.hasOwn(real, name)) continue;
      Object.defineProperty(real, name, { value: found.value, configurable: true, writable: true });
    }
  }
}

/**
 * The runtime reads members that it does not have, and who inherits to it would be handed the
 * original: nobody does any more. What tells of the server or holds a port is taken from it.
 */
function harden(real: NodeJS.Process, substitute: object): void {
  // Deno's is an object of another make, which its permissions hold.
  if (js.IS_DENO) return;
  for (const name of UNSET)
    Object.defineProperty(real, name, { value: undefined, writable: true, configurable: false });
  for (const name of TOLD) {
    const value: unknown = js.get(substitute, name);
    Object.defineProperty(real, name, { value, writable: false, configurable: false });
  }
  Object.setPrototypeOf(Object.getPrototypeOf(real) as object, null);
}
