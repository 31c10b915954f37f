import type { Command } from "commander";
import { openClient, toPath } from "./client.ts";
import type { ConnectionOptions } from "./connection.ts";
import { printJson } from "./table.ts";

/** The description of a webhook's calls, for whoever is to call it. */
export function addOpenapiCommand(webhook: Command, url: readonly [string, string]): void {
  webhook
    .command("openapi")
    .description("Print the OpenAPI document of a webhook, to hand over to its callers")
    .argument("<name>")
    .option(...url)
    .action(printOpenapi);
}

async function printOpenapi(name: string, options: ConnectionOptions): Promise<void> {
  printJson(
    await openClient(options).json<{ openapi: string }>(
      "GET",
      toPath("webhook", name, "openapi.json"),
      { has: "openapi" },
    ),
  );
}
