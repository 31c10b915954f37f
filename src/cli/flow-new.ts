import { existsSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { flowName, nameError } from "../server/flows/names.ts";
import { quotePath } from "../server/config/unwritable.ts";
import { findAuthorFolder } from "./author-folder.ts";
import { readConfiguration } from "./configuration.ts";
import { makeFolder } from "../shared/make-folder.ts";
import { CommandError } from "./command-error.ts";

const EXTENSIONS = ["ts", "mts", "js", "mjs"];

/**
 * Writes the first version of a flow: folders are the parts of its name before the last dot.
 *
 * @throws CommandError where there is a flow of this name, or none can have it
 */
export function newFlow(name: string, options: { config?: string; test?: true }): void {
  const { config } = readConfiguration({ ...options, folder: findAuthorFolder() });
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
  const taken = findTaken(config.PLUGINS_DIR, path);
  if (taken !== null) throw new CommandError(`There is a flow "${name}" already: "${taken}"`);
  const file = join(config.PLUGINS_DIR, path);
  makeFolder(dirname(file));
  writeFileSync(file, template(name), { flag: "wx" });
  process.stdout.write(`Wrote ${relative(process.cwd(), file)}\n`);
  if (options.test === true) writeTest(file, name);
  const word = quotePath(name);
  process.stdout.write(
    `Try it with: flowhook flow run ${word}\n` +
      `Call it over HTTP, from this machine: flowhook dev\n` +
      `On a service it needs a webhook: flowhook webhook create ${word} --flow ${word}\n`,
  );
}

/** A test that is there already stays as it is. */
function writeTest(file: string, name: string): void {
  const path = file.replace(/\.ts$/, ".test.ts");
  if (existsSync(path)) return;
  writeFileSync(path, testTemplate(name), { flag: "wx" });
  process.stdout.write(`Wrote ${relative(process.cwd(), path)}\nRun it with: flowhook flow test\n`);
}

function findTaken(plugins_dir: string, path: string): string | null {
  const stem = path.slice(0, -".ts".length);
  const paths = EXTENSIONS.flatMap((extension) => [
    `${stem}.${extension}`,
    `${stem}/index.${extension}`,
  ]);
  return paths.find((taken) => existsSync(join(plugins_dir, taken))) ?? null;
}

function template(name: string): string {
  return [
    'import { defineFlow } from "flowhook";',
    "",
    "export default defineFlow({",
    `  description: ${JSON.stringify(`What ${name} does`)},`,
    "",
    "  async run(flow) {",
    "    const { method, query } = flow.input_value;",
    '    flow.log.info("Called with", method);',
    '    return { hello: query["name"] ?? "world" };',
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
    `import flow from "./${name.split(".").at(-1)}.ts";`,
    "",
    'test("greets by name", async () => {',
    '  const { status, output_value } = await testFlow(flow, { query: { name: "Ada" } });',
    '  assert.equal(status, "ENDED_SUCCESS");',
    '  assert.deepEqual(output_value, { hello: "Ada" });',
    "});",
    "",
  ].join("\n");
}
