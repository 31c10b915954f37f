import { pathToFileURL } from "node:url";
import * as js from "../shared/intrinsics.ts";
import { NoFlowError, toManifest, type Declaration } from "../shared/manifest.ts";
import type { Inspection } from "../shared/wire/protocol.ts";
import { TOO_EARLY, isGranted, lineFor, type Grantable } from "./builtins.ts";
import { importError } from "./import-error.ts";
import type { Imports } from "./modules.ts";
import { describeSchemas } from "./schema-text.ts";
import { adviseOnFile, cut, relative, toStack, valueOf } from "./text.ts";
import type { Imported, ThreadData, Withheld } from "../shared/wire/thread-messages.ts";

const NOTHING: Withheld = { files: false, net: false };

/** Imports the flow and tells what it is. */
export async function inspect(data: ThreadData, imports: Imports): Promise<Imported> {
  const { directory, entry } = data.spec;
  const { href } = pathToFileURL(entry);
  try {
    const module: object = await import(href);
    if (!("default" in module)) return toResult({ kind: "module" });
    const declared = toManifest(module.default);
    const missing = missingPermission(imports, declared);
    if (missing !== null) return toResult({ kind: "broken", message: missing, stack: null });
    const { form } = declared;
    const schemas = describeSchemas(form === "defined" ? module.default : null);
    const flow: Inspection = { kind: "flow", manifest: { ...declared, schemas } };
    return toResult(flow, findLacking(imports, declared));
  } catch (error) {
    const told = importError(error, data.spec, imports);
    const isFile = valueOf(error, "code") === "ENOENT";
    const advice = isDenied(error) ? TOO_EARLY : isFile ? adviseOnFile(error, directory) : null;
    const message = advice === null ? told : `${told}; ${advice}`;
    const stack = cut(relative(toStack(error), directory, data.hidden));
    return toResult({ kind: "broken", message, stack, isNoFlow: error instanceof NoFlowError });
  }
}

/** Whether the runtime has refused it: what stands in for one of its modules names no permission. */
function isDenied(error: unknown): boolean {
  return (
    valueOf(error, "code") === "ERR_ACCESS_DENIED" &&
    typeof valueOf(error, "permission") === "string"
  );
}

function toResult(inspection: Inspection, lacking = NOTHING): Imported {
  return { inspection, lacking };
}

function missingPermission({ needed }: Imports, manifest: Declaration): string | null {
  const missing = js.find(
    needed,
    ({ need, by }) => by !== null && !isGranted(manifest.permissions, need),
  );
  if (missing === undefined) return null;
  const { need, name, by } = missing;
  return `"${by}" imports "node:${name}" without a permission: add ${lineFor(need)} to the flow`;
}

/** What packages have asked for, and the flow does not declare. */
function findLacking({ needed }: Imports, manifest: Declaration): Withheld {
  const lacks = (what: Grantable): boolean =>
    js.some(needed, ({ need, by }) => by === null && need === what) &&
    !isGranted(manifest.permissions, what);
  return { files: lacks("files"), net: lacks("net") };
}
