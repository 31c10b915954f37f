import type { Catalog } from "../server/flows/catalog.ts";
import { StartError } from "../shared/errors.ts";
import { openLog } from "../shared/log.ts";
import { nearestWord } from "../shared/nearest.ts";
import { readAuthorFolder } from "./author-folder.ts";
import { openAuthorService } from "./author-service.ts";
import { createClient, type Client } from "./client.ts";
import { CommandError } from "./command-error.ts";
import { findExcerpt } from "./excerpt.ts";
import { toLine } from "./table.ts";

/** The flows of a folder, run by a service of this process that nobody else is told of. */
export interface Here {
  readonly client: Client;
  /** @throws CommandError why no version of the flow can run */
  requireFlow(name: string): void;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function openHere(folder: string): Promise<Here> {
  const loaded = readAuthorFolder(folder);
  for (const warning of loaded.warnings) process.stderr.write(`${warning}\n`);
  const log = openLog({ level: "silent", format: "json" });
  const { service, token } = await openAuthorService(loaded, { log, port: 0 }).catch(explain);
  return {
    client: createClient({ url: service.url, token }),
    requireFlow(name) {
      const flow = service.catalog.find(name);
      if (flow === undefined) throw missing(name, service.catalog);
      if (flow.error === null) return;
      const { message, stack } = flow.error;
      const { PLUGINS_DIR } = loaded.config;
      const excerpt = findExcerpt(PLUGINS_DIR, `${message}\n${stack ?? ""}`);
      const lines = [`Flow "${name}" is broken: ${message}`, excerpt ?? flow.file];
      throw new CommandError(lines.join("\n"));
    },
    [Symbol.asyncDispose]: () => service.stop(Promise.resolve()),
  };
}

function missing(name: string, catalog: Catalog): CommandError {
  const names = catalog.list().map((flow) => flow.name);
  const nearest = nearestWord(name, names);
  const hint = nearest === null ? "" : `, did you mean "${nearest}"?`;
  const known = names.length === 0 ? "There are none" : `Known: ${names.slice(0, 10).join(", ")}`;
  const missed = `There is no flow "${name}"${hint || "."} ${known}`;
  return new CommandError([missed, ...catalog.faults().map(toLine)].join("\n"));
}

function explain(error: unknown): never {
  throw error instanceof StartError ? new CommandError(error.message) : error;
}
