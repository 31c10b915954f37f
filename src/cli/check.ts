import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openRuntime } from "../assets/runtime.ts";
import { readDataKey } from "../server/access/data-key.ts";
import { readCertificate } from "../server/config/certificate.ts";
import { checkDataFolder } from "../server/config/data-folder.ts";
import { requireUrlFiles } from "../server/config/database-url.ts";
import { checkFirstPassword } from "../server/config/first-password.ts";
import { warnOfPlugins } from "../server/config/plugins-folder.ts";
import type { Flow } from "../server/flows/catalog.ts";
import { openLog } from "../shared/log.ts";
import { openFlows } from "../server/flows.ts";
import { warnOfAddresses } from "./listed-addresses.ts";
import { cleanUpAtSignals } from "./clean-up.ts";
import { findAuthorFolder, readAuthorFolder } from "./author-folder.ts";
import { requireHost } from "./listening.ts";
import { readConfiguration } from "./configuration.ts";
import { CommandError } from "./command-error.ts";
import { findExcerpt, nameFile } from "./excerpt.ts";
import { pad, printJson, toLine, widthOf } from "./table.ts";

/**
 * Checks the configuration, and loads every flow as the service would, apart from its data.
 *
 * @throws CommandError where a flow is broken, or may be missing
 */
export async function check(options: { config?: string; json?: true }): Promise<void> {
  const loaded = readChecked(options);
  const { config, file } = loaded;
  const warnings = [
    ...loaded.warnings,
    ...(readCertificate(config, loaded.placeOf)?.warnings ?? []),
    ...checkDataFolder(loaded),
    ...warnOfPlugins(config),
  ];
  for (const warning of warnings) process.stderr.write(`${warning}\n`);
  readDataKey(config);
  requireUrlFiles(config, loaded.placeOf("DATABASE_URL"));
  checkFirstPassword(config, loaded.credentials.adminPassword);
  await requireHost(config);
  const folder = mkdtempSync(join(tmpdir(), "flowhook-check-"));
  using _cleaning = cleanUpAtSignals(() => rmSync(folder, { recursive: true, force: true }));
  try {
    const log = openLog({ level: "silent", format: "json" });
    const runtime = openRuntime(folder);
    for (const warning of warnOfAddresses(loaded, runtime.addon))
      process.stderr.write(`${warning}\n`);
    await using flows = await openFlows({ config: { ...config, DATA_DIR: folder }, log, runtime });
    const list = flows.catalog.list();
    if (options.json) printJson({ flows: list.map(toRow) });
    else process.stdout.write(describe(list, file, config.PLUGINS_DIR));
    const faults = flows.catalog.faults().map(toLine);
    const broken = list.filter((flow) => flow.state === "broken").length;
    if (broken > 0) faults.push(`${broken} of ${list.length} flows cannot run`);
    if (faults.length > 0) throw new CommandError(faults.join("\n"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** In a folder of flows without a configuration, those flows: so `dev` and `flow run` have them. */
function readChecked(options: { config?: string }): ReturnType<typeof readConfiguration> {
  const loaded = readConfiguration(options);
  const folder = findAuthorFolder();
  // Of a configuration above it is said that it is not read.
  if (options.config !== undefined || loaded.file !== null || folder !== process.cwd())
    return loaded;
  const { PLUGINS_DIR } = readAuthorFolder(folder).config;
  const { PLUGINS_DIR: served } = loaded.config;
  if (PLUGINS_DIR === served) return loaded;
  const warning =
    `Checked the flows of this folder, as flowhook dev serves them. flowhook serve looks for flows in ` +
    `"${served}" (PLUGINS_DIR): name this folder in a flowhook.yaml, with PLUGINS_DIR: .`;
  const config = { ...loaded.config, PLUGINS_DIR };
  return { ...loaded, config, warnings: [...loaded.warnings, warning] };
}

function toRow({ name, file, state, error }: Flow) {
  return { name, file, state, error };
}

function describe(flows: readonly Flow[], file: string | null, plugins_dir: string): string {
  const configuration =
    file === null
      ? "Configuration: defaults and environment are right\n"
      : `Configuration: ${file} is right\n`;
  if (flows.length === 0) return `${configuration}No flows in ${plugins_dir}\n`;
  const width = Math.max(...flows.map(({ name }) => widthOf(toLine(name))));
  const lines = flows.map((flow) => {
    const { name, state } = flow;
    return `${pad(toLine(name), width)}  ${state}${describeError(flow, plugins_dir)}\n`;
  });
  return configuration + lines.join("");
}

/** Why it is broken, and the place in its source. */
function describeError({ file, error }: Flow, plugins_dir: string): string {
  if (error === null) return "";
  const { message, stack } = error;
  const excerpt = findExcerpt(plugins_dir, `${message}\n${stack ?? ""}`);
  const lines = [toLine(nameFile(file, message)), ...(excerpt?.split("\n") ?? [])];
  return lines.map((line) => `\n  ${line}`).join("");
}
