import { existsSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import type { Config } from "../server/config/resolve.ts";
import { quotePath } from "../server/config/unwritable.ts";
import { flowName, nameError } from "../server/flows/names.ts";
import { findPaths } from "../server/flows/paths.ts";
import { scan } from "../server/flows/scan.ts";
import { findAuthorFolder, readAuthorFolder } from "./author-folder.ts";
import { readConfiguration } from "./configuration.ts";
import { makeFolder } from "../shared/make-folder.ts";
import { toLastWord } from "./connection.ts";
import { CommandError } from "./command-error.ts";
import { createWhole } from "./whole-file.ts";

/**
 * Writes the first version of a flow: folders are the parts of its name before the last dot.
 *
 * @throws CommandError where there is a flow of this name, or none can have it
 */
export async function newFlow(
  name: string,
  options: { config?: string; test?: true },
): Promise<void> {
  // Where `flow run` looks for it.
  const { config } =
    options.config === undefined
      ? readAuthorFolder(findAuthorFolder())
      : readConfiguration(options);
  const meant = toMeant(name, config.PLUGINS_DIR);
  if (meant !== name && !/^$|^\.|\.\.|\.$/.test(meant))
    throw new CommandError(`A flow is given by its name and not by its file: write "${meant}"`, 2);
  const path = `${name.split(".").join("/")}.ts`;
  const error = nameError(name);
  const hasEmptyPart = name.split(".").includes("");
  if (error !== null || hasEmptyPart || flowName(path) !== name.normalize("NFC"))
    throw new CommandError(
      error ??
        `No flow can be called "${name}": parts between dots are not empty, do not start with "_", ` +
          `are not "node_modules", and the last is not "index"`,
      2,
    );
  const taken = await findTaken(config, name);
  if (taken !== undefined) throw new CommandError(`There is a flow "${name}" already: "${taken}"`);
  const file = join(config.PLUGINS_DIR, path);
  makeFolder(dirname(file));
  createWhole(file, template(name));
  process.stdout.write(`Wrote ${relative(process.cwd(), file)}\n`);
  if (options.test === true) writeTest(file, name);
  const word = toLastWord(name);
  process.stdout.write(
    `Try it with: flowhook flow run ${word}\n` +
      `Call it over HTTP, from this machine: flowhook dev\n` +
      `On a service it needs a webhook: flowhook webhook create --flow ${quotePath(name)} ${word}\n`,
  );
}

/** The name of a flow that is given by its file, which may stand below the plugins folder's own name. */
function toMeant(given: string, plugins: string): string {
  const folder = `${basename(plugins)}/`;
  const file = given.startsWith(folder) ? given.slice(folder.length) : given;
  return file.replace(/\.[cm]?[jt]s$/, "").replaceAll("/", ".");
}

/** A test that is there already stays as it is. */
function writeTest(file: string, name: string): void {
  const path = file.replace(/\.ts$/, ".test.ts");
  if (existsSync(path)) return;
  createWhole(path, testTemplate(name));
  process.stdout.write(`Wrote ${relative(process.cwd(), path)}\nRun it with: flowhook flow test\n`);
}

/** Two files of one name break the flow: `a.b.ts` is `a.b` as well as `a/b.ts` is. */
async function findTaken({ PLUGINS_DIR, DATA_DIR }: Config, name: string) {
  const { flows } = await scan(await findPaths(PLUGINS_DIR, DATA_DIR));
  return flows.get(name.normalize("NFC"))?.[0];
}

function template(name: string): string {
  return [
    'import { defineFlow } from "flowhook";',
    "",
    "export default defineFlow({",
    `  description: ${JSON.stringify(`What ${name} does`)},`,
    "",
    "  async run(flow) {",
    '    const name = flow.input_value.query["name"] ?? "world";',
    '    flow.log.info("Greeting", name);',
    "    return { hello: name };",
    "  },",
    "});",
    "",
  ].join("\n");
}

function testTemplate(name: string): string {
  return [
    'import assert from "node:assert/strict";',
    'import { test } from "node:test";',
    'import { testFlow } from "flowhook/testing";',
    `import flow from ${JSON.stringify(`./${name.split(".").at(-1)}.ts`)};`,
    "",
    'test("greets by name", async () => {',
    '  const { status, output_value } = await testFlow(flow, { query: { name: "Ada" } });',
    '  assert.equal(status, "ENDED_SUCCESS");',
    '  assert.deepEqual(output_value, { hello: "Ada" });',
    "});",
    "",
  ].join("\n");
}
