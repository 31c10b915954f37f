import { registerHooks } from "node:module";
import { parentPort, workerData } from "node:worker_threads";
import { describeSchemas } from "../../src/sandbox/schema-text.ts";
import { NoFlowError, toManifest } from "../../src/shared/manifest.ts";
import type { Inspection } from "../../src/shared/wire/protocol.ts";

// What the sandbox does to a flow's imports, as far as these tests need it.
registerHooks({
  resolve(specifier, context, next) {
    const url = new URL("../../src/shared/author.ts", import.meta.url).href;
    return specifier === "flowhook" ? { url, shortCircuit: true } : next(specifier, context);
  },
});

async function inspect(entry: string): Promise<Inspection> {
  try {
    const found: { readonly default?: unknown } = await import(entry);
    if (!("default" in found)) return { kind: "module" };
    const declared = toManifest(found.default);
    const { form } = declared;
    const schemas = describeSchemas(form === "defined" ? found.default : null);
    return { kind: "flow", manifest: { ...declared, schemas } };
  } catch (error) {
    const message = error instanceof Error ? error.message : "?";
    return { kind: "broken", message, stack: null, isNoFlow: error instanceof NoFlowError };
  }
}

parentPort?.postMessage(await inspect(String(workerData)));
