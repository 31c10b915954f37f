import * as js from "../shared/intrinsics.ts";
import { isGranted, lineFor, needOf, type Grantable } from "./builtins.ts";
import { reduceHttp2 } from "./reduced-builtins.ts";
import type { ThreadData } from "../shared/wire/thread-messages.ts";

/** Which of the runtime's own modules are given to a flow, and to the packages that it imports. */

/** A module that needs a permission, as it was asked for. */
export interface Needed {
  readonly need: Grantable;
  readonly name: string;
  /** The flow's file that imports it. null: a package does, which can do without. */
  readonly by: string | null;
}

const { getBuiltinModule } = process;

const PROGRAMS = '. Something else starts programs: flowhook docs recipes, "Start a program"';

/** Whether a package gets the module itself. @param name without `node:` */
export function isGiven({ withheld, spec }: ThreadData, name: string): boolean {
  const need = needOf(name);
  if (need === "none" || need === "package") return true;
  if (need === "never") return false;
  // What a flow declares is not known before it was imported.
  return withheld === null ? isGranted(spec.grants, need) : !withheld[need];
}

/**
 * Call before a module is given.
 *
 * @param by the flow's file that imports it, null for a package
 * @throws {Error} where it is not to be given, with the line to add
 */
export function requireBuiltin(
  data: ThreadData,
  needed: Needed[],
  name: string,
  by: string | null,
): void {
  const need = needOf(name);
  if (need === "never" || (need === "package" && by !== null)) {
    const who = by === null ? "" : ` ("${by}" imports it)`;
    throw new js.Error(
      `Cannot import "node:${name}" in a flow: it reaches beyond the flow's own thread${who}` +
        (name === "child_process" ? PROGRAMS : ""),
    );
  }
  if (need === "files" || need === "net") {
    if (data.withheld !== null && (by !== null || isGiven(data, name)))
      js.push(needed, { need, name, by });
    else if (!isGiven(data, name)) {
      throw new js.Error(
        `Cannot import "node:${name}" without a permission: add ${lineFor(need)} to the flow`,
      );
    }
  }
  if (name === "http2") reduceHttp2(getBuiltinModule("node:http2"));
}
