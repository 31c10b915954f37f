import { toJsonSchema, type ConversionConfig, type JsonSchema } from "@valibot/to-json-schema";
import type { GenericSchema } from "valibot";
import { NAME } from "../../shared/contract/name.ts";
import { NAMED_SCHEMAS } from "./named-schemas.ts";

/** How schemas of the contract are described in the OpenAPI document. */

export const CONVERSION: ConversionConfig = {
  target: "draft-2020-12",
  typeMode: "input",
  errorMode: "ignore",
  definitions: NAMED_SCHEMAS,
  overrideRef: ({ referenceId }) => `#/components/schemas/${referenceId}`,
  overrideSchema: ({ valibotSchema }) =>
    valibotSchema === (NAME as GenericSchema)
      ? { type: "string", minLength: 1, maxLength: 128, description: NAME_RULE }
      : null,
};

const NAME_RULE = "Blanks at either end are trimmed. No control characters, none of / \\ ? # %";

/** A schema in its place: what is named is referred to, and described once for all. */
export function toSchema(schema: GenericSchema): JsonSchema {
  const { $schema: _schema, $defs: _definitions, ...own } = toJsonSchema(schema, CONVERSION);
  return own;
}
