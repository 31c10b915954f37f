import type { ConversionConfig } from "@valibot/to-json-schema";

/**
 * A schema of valibot with a fallback takes anything, and an item of a tuple may be missing where its
 * schema takes nothing. The library says so of none, and asks about no schema that is a pipe: so each
 * is looked at in the schema that holds it.
 */

type Override = NonNullable<ConversionConfig["overrideSchema"]>;
type Json = ReturnType<Override>;

interface Holder {
  readonly entries?: Readonly<Record<string, unknown>>;
  readonly options?: readonly unknown[];
  readonly items?: readonly unknown[];
  readonly item?: unknown;
  readonly key?: unknown;
  readonly rest?: unknown;
  readonly value?: unknown;
  readonly wrapped?: unknown;
  getter?(input: unknown): unknown;
}

export function hasFallback(schema: unknown): boolean {
  return typeof schema === "object" && schema !== null && "fallback" in schema;
}

/** For `overrideSchema` of valibot's conversion. */
export function keepFallbacks({ valibotSchema, jsonSchema }: Parameters<Override>[0]): Json {
  const holder = valibotSchema as Holder;
  const { entries, options = [], items = [], item, key, rest, value, wrapped } = holder;
  const lazy = holder.getter?.(undefined);
  if ([...options, key, wrapped, lazy].some(hasFallback)) return {};
  const kept = { ...jsonSchema };
  if (entries !== undefined) keepEntries(kept, entries);
  if (items.length > 0) {
    kept.prefixItems = (kept.prefixItems ?? []).map((told, at) =>
      hasFallback(items[at]) ? {} : told,
    );
    kept.minItems = items.findLastIndex((one) => !takesNothing(one)) + 1;
  }
  if (hasFallback(item)) kept.items = {};
  if (hasFallback(rest) || hasFallback(value)) {
    if (kept.additionalProperties !== undefined) kept.additionalProperties = {};
    else kept.items = {};
  }
  return kept;
}

/** An item that is not there is validated as `undefined`. */
function takesNothing(schema: unknown): boolean {
  try {
    return (schema as Runnable)["~run"]({ value: undefined }, {}).issues === undefined;
  } catch {
    return true;
  }
}

/** What any schema of valibot has. */
interface Runnable {
  "~run"(dataset: { value: unknown }, config: object): { readonly issues?: unknown };
}

function keepEntries(kept: NonNullable<Json>, entries: NonNullable<Holder["entries"]>): void {
  const names = Object.keys(entries).filter((name) => hasFallback(entries[name]));
  if (names.length === 0) return;
  kept.properties = { ...kept.properties, ...Object.fromEntries(names.map((name) => [name, {}])) };
  kept.required = (kept.required ?? []).filter((name) => !names.includes(name));
}
