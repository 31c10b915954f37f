import {
  followReference,
  mapReferences,
  type JsonSchema,
  type JsonSchemaObject,
} from "../flows/schema-references.ts";

/** A flow's JSON Schema in an OpenAPI document: its definitions become the document's. */
export interface PlacedSchema {
  /** A member of the schema's objects, its references leading to the document's components. */
  member(name: string): PlacedMember | null;
  readonly whole: JsonSchema;
  /** By their names in the document. */
  readonly components: Readonly<Record<string, JsonSchema>>;
}

export interface PlacedMember {
  readonly schema: JsonSchema;
  readonly isRequired: boolean;
}

/** @param prefix of the names of components: letters, digits, `.`, `-` and `_` */
export function placeSchema(root: JsonSchemaObject, prefix: string): PlacedSchema {
  const names = nameDefinitions(root, prefix);
  const used = new Set<string>();
  const place = (schema: JsonSchema): JsonSchema =>
    mapReferences(schema, (reference) => {
      const target = followReference(root, reference) ?? true;
      used.add(names.get(target) ?? prefix);
      return `#/components/schemas/${names.get(target) ?? prefix}`;
    });
  const { $defs: _definitions, ...bare } = root;
  const targets = [...names].map(([schema, name]) => {
    return [name, place(schema === root ? bare : schema)] as const;
  });
  const { properties = {}, required = [] } = root;
  return {
    member: (name) => {
      const own = properties as Readonly<Record<string, JsonSchema>>;
      if (!Object.hasOwn(own, name)) return null;
      const isRequired = (required as string[]).includes(name);
      return { schema: place(own[name] ?? true), isRequired };
    },
    whole: place(bare),
    components: Object.fromEntries(targets.filter(([name]) => used.has(name))),
  };
}

/** Names of what references lead to: the schema itself and its definitions. */
function nameDefinitions(root: JsonSchemaObject, prefix: string): Map<JsonSchema, string> {
  const names = new Map<JsonSchema, string>([[root, prefix]]);
  const definitions = (root["$defs"] ?? {}) as Readonly<Record<string, JsonSchema>>;
  for (const [at, [name, schema]] of Object.entries(definitions).entries()) {
    const plain = /^[\w.-]+$/.test(name) ? name : `definition-${at + 1}`;
    names.set(schema, `${prefix}.${plain}`);
  }
  return names;
}
