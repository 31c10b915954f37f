import * as v from "valibot";

/** As much of a document of OpenAPI as each has. */
export const OPENAPI_DOCUMENT = v.looseObject({
  openapi: v.string(),
  info: v.looseObject({ title: v.string(), version: v.string() }),
  paths: v.looseObject({}),
});
