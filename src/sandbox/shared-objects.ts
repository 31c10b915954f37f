import ModuleNow from "node:module";
import * as js from "../shared/intrinsics.ts";
import { FETCH_CLASSES } from "./fetch-classes.ts";

const GLOBAL = globalThis;
const Module: object = ModuleNow;
const extensions: unknown = Reflect.get(ModuleNow, "_extensions");

/**
 * They stay open: a program writes to them, or to a member of an object that inherits from them
 * (`point.toString = ...`), which a frozen one would refuse. The engine matches patterns ten times
 * slower once anything of their prototype is not as it was made. Packages that a run loads put their
 * own functions in the place of some of `process`.
 */
const OPEN = [
  "Object.prototype",
  "Function.prototype",
  "RegExp.prototype",
  "Error",
  "process",
  "process.env",
];

/** One of them, with its name for messages. */
export interface Shared {
  readonly name: string;
  readonly object: object;
  readonly isOpen: boolean;
}

/** What runs share beside `globalThis`, as the runtime made it: to be found before a flow is loaded. */
export class SharedObjects {
  readonly all: Shared[] = findShared();
  /** Of the members of `globalThis`. */
  readonly globals: readonly PropertyKey[] = js.ownKeys(GLOBAL);
  #hasFetch = false;

  /** The classes of `fetch`, made where nobody has used them yet. */
  addFetch(): void {
    if (this.#hasFetch) return;
    this.#hasFetch = true;
    js.each(findFetchClasses(), (one) => js.push(this.all, one));
  }
}

/** Node makes its classes of the web here, but for those of `fetch`. */
function findShared(): Shared[] {
  const found = new Map(hiddenPrototypes());
  const note = (name: string, object: unknown): void => {
    if (!js.isObject(object) || object === GLOBAL || found.has(object)) return;
    found.set(object, name);
    const prototype: unknown = js.getOwnPropertyDescriptor(object, "prototype")?.value;
    if (js.isObject(prototype)) found.set(prototype, `${name}.prototype`);
  };
  for (const name of Object.getOwnPropertyNames(GLOBAL)) {
    if (js.contains(FETCH_CLASSES, name)) continue;
    const object: unknown = js.getOwnPropertyDescriptor(GLOBAL, name)?.value;
    if (typeof object === "function" || isNamespace(object) || name === "console")
      note(name, object);
    if (!isNamespace(object)) continue;
    for (const [member, value] of Object.entries(Object.getOwnPropertyDescriptors(object)))
      if (typeof value.value === "function" || isNamespace(value.value))
        note(`${name}.${member}`, value.value);
  }
  note("process.env", process.env);
  for (const [name, object] of findSingles()) note(name, object);
  const shared: Shared[] = [];
  for (const [object, name] of found)
    js.push(shared, { name, object, isOpen: js.contains(OPEN, name) });
  return shared;
}

export function findFetchClasses(): readonly Shared[] {
  const classes: Shared[] = [];
  js.each(FETCH_CLASSES, (name) => {
    const object: unknown = js.getOwnPropertyDescriptor(GLOBAL, name)?.value;
    if (!js.isObject(object)) return;
    js.push(classes, { name, object, isOpen: false });
    const prototype: unknown = js.getOwnPropertyDescriptor(object, "prototype")?.value;
    if (js.isObject(prototype))
      js.push(classes, { name: `${name}.prototype`, object: prototype, isOpen: false });
  });
  return classes;
}

/** Those that are neither functions nor namespaces: most are behind a getter. */
function findSingles(): [name: string, object: unknown][] {
  const { crypto, navigator, performance } = GLOBAL;
  return [
    ["crypto", crypto],
    ["crypto.subtle", crypto.subtle],
    ["navigator", navigator],
    ["performance", performance],
    ["Module", Module],
    // How the runtime reads a module of the older format, by the extension of its file.
    ["Module._extensions", extensions],
  ];
}

/** `Math`, `Intl` and their like. */
function isNamespace(value: unknown): value is object {
  return (
    typeof value === "object" &&
    value !== null &&
    js.getPrototypeOf(value) === Object.prototype &&
    Object.hasOwn(value, Symbol.toStringTag)
  );
}

/** Those that no global names. */
function hiddenPrototypes(): [object: object, name: string][] {
  const made = async function* () {}.prototype as object;
  const of = (name: string, made: object): [object, string] => [
    js.getPrototypeOf(made) as object,
    `the prototype of ${name}`,
  ];
  return [
    of("generators", function* () {}),
    of("async functions", async () => {}),
    of("async generators", async function* () {}),
    of("typed arrays", Int8Array),
    of("typed arrays' members", Int8Array.prototype),
    of("iterators of lists", [].values()),
    of("iterators of maps", new Map().values()),
    of("iterators of sets", new Set().values()),
    of("iterators of texts", ""[Symbol.iterator]()),
    of("iterators of patterns", "".matchAll(/./g)),
    of("iterators of URLSearchParams", new URLSearchParams().keys()),
    of("what generators make", function* () {}.prototype as object),
    of("what async generators make", made),
    of("async iterators", js.getPrototypeOf(made) as object),
  ];
}
