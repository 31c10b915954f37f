import { spawn } from "node:child_process";
import { once } from "node:events";
import { HUNG_MS } from "../hung.ts";
import { environment, type Target } from "./target.ts";

export interface Finished {
  /** Exit code; null where a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string | Uint8Array;
  /** More of it, once all before has been taken. */
  readonly inputLater?: string;
  /** After this the process is killed. Default 20 s. */
  readonly deadlineMs?: number;
}

/** Runs one command line of the product to its end. */
export function runCommand(
  target: Target,
  args: readonly string[],
  options: CommandOptions,
): Promise<Finished> {
  const [program, ...leading] = target.command;
  return runProgram(program, [...leading, ...args], {
    ...options,
    env: environment(options.env),
  });
}

/** Runs any program to its end; the environment is only what is given. */
export async function runProgram(
  program: string,
  args: readonly string[],
  options: CommandOptions,
): Promise<Finished> {
  const { cwd, env = {}, input = "", inputLater = "", deadlineMs = HUNG_MS } = options;
  const child = spawn(program, args, { cwd, env });
  const printed = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (printed.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (printed.stderr += text));
  child.stdin.on("error", () => undefined);
  child.stdin.write(input, () => child.stdin.end(inputLater));
  const timer = setTimeout(() => child.kill("SIGKILL"), deadlineMs);
  const [code] = (await once(child, "close")) as [number | null];
  clearTimeout(timer);
  return { code, ...printed };
}
