import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { globSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openRuntime, type Runtime } from "../assets/runtime.ts";
import { readEnvironment } from "../server/config/environment.ts";
import type { Config } from "../server/config/resolve.ts";
import { isHidden } from "../server/flows/names.ts";
import { openFlows } from "../server/flows.ts";
import { openLog } from "../shared/log.ts";
import {
  isTrialRequest,
  NONE_FITS,
  type TestReporter,
  type TestSetup,
  type TrialAnswer,
} from "../shared/wire/trial.ts";
import { readAuthorFolder } from "./author-folder.ts";
import { cleanUpAtSignals } from "./clean-up.ts";
import { CommandError } from "./command-error.ts";
import { testArguments } from "./test-arguments.ts";
import { openTrials, type Trials } from "./trial.ts";

export interface TestOptions {
  readonly name?: string;
  readonly reporter: TestReporter;
}

const PATTERN = "**/*.test.{ts,mts,js,mjs}";

/**
 * Runs the tests beside the flows of a folder, in a process of their own; flows run in the sandbox.
 *
 * @throws CommandError where a test fails, or there is none, or none of that name
 */
export async function testFlows(folder: string, options: TestOptions): Promise<void> {
  const { config } = readAuthorFolder(folder);
  const files = findTests(config.PLUGINS_DIR);
  if (files.length === 0)
    throw new CommandError(
      `There are no tests in "${config.PLUGINS_DIR}". Write one beside its flow, as NAME.test.ts ` +
        `(flowhook docs flows), or both with: flowhook flow new NAME --test`,
    );
  const data = mkdtempSync(join(tmpdir(), "flowhook-test-"));
  const remove = () => rmSync(data, { recursive: true, force: true, maxRetries: 3 });
  using _cleaning = cleanUpAtSignals(remove);
  try {
    const code = await runTests({ ...config, DATA_DIR: data }, files, options);
    if (code === NONE_FITS) throw new CommandError(`No test fits --name "${options.name}"`);
    if (code !== 0) throw new CommandError("Tests failed");
  } finally {
    remove();
  }
}

/** Absolute paths, where the flows are. */
function findTests(plugins_dir: string): string[] {
  const found = globSync(PATTERN, { cwd: plugins_dir }).filter((path) => !isHidden(path));
  return found.toSorted().map((path) => realpathSync(join(plugins_dir, path)));
}

/** @returns the exit code of the process; null where a signal ended it */
async function runTests(
  config: Config,
  files: readonly string[],
  { name, reporter }: TestOptions,
): Promise<number | null> {
  const log = openLog({ level: "silent", format: "json" });
  const runtime = openRuntime(config.DATA_DIR);
  await using flows = await openFlows({ config, log, runtime });
  const child = startTests(runtime, {
    plugins_dir: realpathSync(config.PLUGINS_DIR),
    author: runtime.author,
    testing: runtime.testing,
    files,
    name: name ?? null,
    reporter,
  });
  answerTrials(child, openTrials(flows, config));
  const [code] = (await once(child, "close")) as [number | null];
  return code;
}

/** With the author's environment and terminal: tests are programs of theirs. */
function startTests(runtime: Runtime, setup: TestSetup): ChildProcess {
  return spawn(process.execPath, testArguments(runtime.testProgram, setup), {
    env: readEnvironment(),
    stdio: ["inherit", "inherit", "inherit", "ipc"],
  });
}

function answerTrials(child: ChildProcess, trials: Trials): void {
  const answer = (told: TrialAnswer): void => {
    if (child.connected) child.send(told, () => {});
  };
  child.on("message", (request: unknown) => {
    if (!isTrialRequest(request)) return;
    const { number } = request;
    trials.run(request).then(
      (result) => answer({ number, ok: true, result }),
      (error: unknown) =>
        answer({
          number,
          ok: false,
          message: error instanceof Error ? error.message : String(error),
        }),
    );
  });
}
