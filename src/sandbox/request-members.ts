import * as js from "../shared/intrinsics.ts";

/** What a call has beside its body. */
const BESIDE = ["method", "path", "headers", "query", "auth"] as const;

/** What every call has. */
const ALWAYS = ["method", "path", "headers", "query"] as const;

const ObjectPrototype: unknown = Object.prototype;

/**
 * What a schema makes of a request, with the request's members beside it that the schema does not
 * name. What is no longer a request (the body alone, as a transformation gives it) stays as it is.
 *
 * @param made by the schema
 * @param named members that the schema names; null: not known
 */
export function keepBeside(
  made: unknown,
  request: unknown,
  named: readonly string[] | null,
): unknown {
  if (!isPlain(made) || !isPlain(request) || !isRequest(made, request, named)) return made;
  const whole: Record<string, unknown> = { ...made };
  js.each(BESIDE, (name) => {
    if (js.hasOwn(whole, name) || !js.hasOwn(request, name) || has(named, name)) return;
    whole[name] = request[name];
  });
  return whole;
}

/**
 * A part of a request, which an execution without a call was given, with the rest as a call has it:
 * its body as `json`, or its query or headers as a call has those. With any other member, or without
 * one of these, it may be a value of the flow's own: `{"path": "/a"}`, `{"query": "select 1"}`.
 */
export function fillRequest(input: unknown): unknown {
  if (!isPlain(input) || isWhole(input) || !isOfRequest(input)) return input;
  const hasBody = js.hasOwn(input, "json");
  if (!hasBody && !isTexts(input, "query") && !isTexts(input, "headers")) return input;
  const headers = hasBody ? { "content-type": "application/json" } : {};
  return { method: hasBody ? "POST" : "GET", path: null, headers, query: {}, ...input };
}

/**
 * What to say to whose schema is one of the body, where it is to be one of the request; empty where
 * that is not the mistake.
 *
 * @param name of a member that the schema asks the request for
 */
export function adviseOnBody(name: string | undefined, request: unknown): string {
  if (name === undefined || !isPlain(request) || js.hasOwn(request, name)) return "";
  const body = js.own(request, "json");
  if (!isPlain(body) || !js.hasOwn(body, name)) return "";
  return '. The body is in "json": write v.object({ json: v.object({ ... }) })';
}

/** Whether a member is an object of texts, by their names. */
function isTexts(input: object, name: string): boolean {
  const texts = js.own(input, name);
  if (!isPlain(texts)) return false;
  return js.every(js.keys(texts), (key) => typeof js.get(texts, key) === "string");
}

function isWhole(input: object): boolean {
  return js.every(ALWAYS, (name) => js.hasOwn(input, name));
}

/** Whether it has members of a request alone, and all those of this one that the schema names. */
function isRequest(made: object, request: object, named: readonly string[] | null): boolean {
  const own = js.keys(made);
  if (!js.every(own, (name) => has(named, name) || isMember(name))) return false;
  if (named === null) return own.length > 0;
  return js.every(named, (name) => !js.hasOwn(request, name) || js.hasOwn(made, name));
}

/** Whether it has members of a request alone; an empty object has none. */
export function isOfRequest(input: unknown): boolean {
  return isPlain(input) && js.every(js.keys(input), isMember);
}

function isMember(name: string): boolean {
  return name === "json" || has(BESIDE, name);
}

function has(list: readonly string[] | null, name: unknown): boolean {
  return list !== null && js.contains(list, name);
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = js.getPrototypeOf(value);
  return prototype === ObjectPrototype || prototype === null;
}

/**
 * Whether a schema of valibot or Zod ends with a transformation of the whole: what that makes
 * stands alone, also where it looks like a request.
 */
export function makesWhole(schema: unknown): boolean {
  const pipe = memberOf(schema, "pipe");
  if (js.isArray(pipe)) return js.some(pipe, isChange);
  const definition = memberOf(memberOf(schema, "_zod"), "def");
  if (memberOf(definition, "type") !== "pipe") return false;
  const after = memberOf(memberOf(memberOf(definition, "out"), "_zod"), "def");
  return memberOf(after, "type") === "transform" || makesWhole(memberOf(definition, "in"));
}

/** Transformations that leave the value as it is. */
const NEUTRAL = ["brand", "flavor", "readonly"];

/** Whether an action of valibot makes another value. */
export function isChange(action: unknown): boolean {
  const type = memberOf(action, "type");
  return memberOf(action, "kind") === "transformation" && !has(NEUTRAL, type);
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? js.get(value, name) : undefined;
}
