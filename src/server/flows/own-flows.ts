import { relative, sep } from "node:path";
import { bundleOf } from "./bundles.ts";
import type { FlowSpec } from "../../shared/wire/protocol.ts";
import type { Entry } from "./flow.ts";
import type { OwnFlow } from "./offers.ts";
import type { FlowRegistry } from "./registry.ts";

/** What the own folder has, by flow; null: there is a file, and nothing of it serves. */
export function listOwnFlows(registry: FlowRegistry): ReadonlyMap<string, OwnFlow | null> {
  const own = new Map<string, OwnFlow | null>();
  for (const entry of registry.entries()) {
    if (entry.node !== null) continue;
    const { name, served, error } = entry;
    if (served !== null && served.node === null)
      own.set(name, toOwnFlow(entry, served.spec, registry));
    else if (error !== null) own.set(name, null);
  }
  return own;
}

function toOwnFlow({ name: flow, file }: Entry, spec: FlowSpec, registry: FlowRegistry): OwnFlow {
  const { version, directory } = spec;
  const bundles = registry.bundles();
  const name = bundleOf(file, bundles);
  return {
    flow,
    version,
    directory,
    entry: relative(directory, spec.entry).split(sep).join("/"),
    bundle: bundles.find((bundle) => bundle.name === name) ?? null,
  };
}
