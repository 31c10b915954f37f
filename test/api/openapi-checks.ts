import { registerHooks } from "node:module";
import { createConfig, lintFromString } from "@redocly/openapi-core";

/** What other programs make of an OpenAPI document. */

/** Problems that redocly finds in it, one a line; rules can be switched off by their names. */
export async function lintDocument(
  document: unknown,
  off: readonly string[] = [],
): Promise<string[]> {
  const config = await createConfig({
    extends: ["recommended"],
    rules: {
      // The call endpoint takes every path below it, and wait-operation every type.
      "no-ambiguous-paths": "off",
      // The document itself and its page are refused to nobody.
      "operation-4xx-response": "off",
      // Documents of a service that runs on this machine have such a server.
      "no-server-example.com": "off",
      ...Object.fromEntries(off.map((rule) => [rule, "off"] as const)),
    },
  });
  const problems = await lintFromString({ source: JSON.stringify(document), config });
  return problems.map(({ ruleId, message, location }) => {
    return `${ruleId}: ${message} (${location[0]?.pointer})`;
  });
}

/** The types that openapi-typescript makes, with the programming interface of TypeScript 5. */
export async function makeTypes(document: unknown): Promise<string> {
  const shim = new URL("typescript-interface.mjs", import.meta.url).href;
  const hooks = registerHooks({
    resolve: (specifier, context, next) =>
      specifier === "typescript" ? { url: shim, shortCircuit: true } : next(specifier, context),
  });
  try {
    const { default: openapiTS, astToString } = await import("openapi-typescript");
    return astToString(await openapiTS(JSON.stringify(document)));
  } finally {
    hooks.deregister();
  }
}
