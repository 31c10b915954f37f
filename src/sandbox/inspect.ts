import { pathToFileURL } from "node:url";
import { NoFlowError, toManifest, type Declaration } from "../shared/manifest.ts";
import type { Inspection } from "../shared/wire/protocol.ts";
import { lineFor } from "./builtins.ts";
import { importError } from "./import-error.ts";
import type { Imports } from "./modules.ts";
import { describeSchemas } from "./schema-text.ts";
import { relative, toStack } from "./text.ts";
import type { ThreadData } from "../shared/wire/thread-messages.ts";

/** Imports the flow and tells what it is. */
export async function inspect(data: ThreadData, imports: Imports): Promise<Inspection> {
  const { directory, entry } = data.spec;
  const { href } = pathToFileURL(entry);
  try {
    const module: object = await import(href);
    if (!("default" in module)) return { kind: "module" };
    const declared = toManifest(module.default);
    const missing = missingPermission(imports, declared);
    if (missing !== null) return { kind: "broken", message: missing, stack: null };
    const { form } = declared;
    const schemas = describeSchemas(form === "defined" ? module.default : null);
    return { kind: "flow", manifest: { ...declared, schemas } };
  } catch (error) {
    const message = importError(error, directory, imports);
    const stack = relative(toStack(error), directory, data.hidden);
    return { kind: "broken", message, stack, isNoFlow: error instanceof NoFlowError };
  }
}

function missingPermission({ needed }: Imports, manifest: Declaration): string | null {
  const { net, read, write } = manifest.permissions;
  for (let at = 0; at < needed.length; at += 1) {
    const { need, name, by } = needed[at] as Imports["needed"][number];
    if (need === "net" ? net : read.length + write.length > 0) continue;
    return `"${by}" imports "node:${name}" without a permission: add ${lineFor(need)} to the flow`;
  }
  return null;
}
