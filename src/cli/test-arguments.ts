import { pathToFileURL } from "node:url";
import { loaderArguments } from "../server/workers/spawn.ts";
import { toModules, type TestReporter, type TestSetup } from "../shared/wire/trial.ts";

/** Arguments with which this runtime runs an author's tests, in a process of their own. */
export function testArguments(program: string, setup: TestSetup): string[] {
  const given = JSON.stringify(setup);
  if (!("Deno" in globalThis)) return [...loaderArguments(program), given];
  return ["test", ...optionsOfDeno(program, setup), ...setup.files, "--", given];
}

/** Deno's names of node:test's reporters. */
const OF_DENO: Readonly<Record<TestReporter, string>> = {
  spec: "pretty",
  tap: "tap",
  dot: "dot",
  junit: "junit",
};

/** Deno resolves imports before a program could: what the author writes is in a map of imports. */
function optionsOfDeno(program: string, setup: TestSetup): string[] {
  const { name, reporter } = setup;
  const map = JSON.stringify({ imports: toModules(setup) });
  return [
    "--allow-all",
    "--no-check",
    "--no-config",
    "--no-lock",
    `--import-map=data:application/json,${encodeURIComponent(map)}`,
    `--preload=${pathToFileURL(program).href}`,
    `--reporter=${OF_DENO[reporter]}`,
    ...(name === null ? [] : [`--filter=/${name}/`]),
  ];
}
