import type { GenericSchema, InferOutput } from "valibot";

/** What a schema of an answer describes, for those who read it. */
export type Read<Schema extends GenericSchema> = Frozen<InferOutput<Schema>>;

type Frozen<Value> = Value extends readonly (infer Item)[]
  ? readonly Frozen<Item>[]
  : Value extends object
    ? { readonly [Name in keyof Value]: Frozen<Value[Name]> }
    : Value;
