import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand, type CommandOptions, type Finished } from "../blackbox/command.ts";
import { ADMIN_PASSWORD, startService, type Service } from "../blackbox/service.ts";
import { openTarget } from "../blackbox/target.ts";

/** A command line beside a running service, with a folder for what it keeps. */
export interface Session {
  readonly service: Service;
  /** The working folder of the commands; also their XDG_CONFIG_HOME. */
  readonly folder: string;
  /** Runs a command as the administrator; `env` overrides the URL and the token. */
  run(args: readonly string[], options?: RunOptions): Promise<Finished>;
  write(name: string, text: string): Promise<string>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface RunOptions extends Pick<CommandOptions, "input" | "inputLater"> {
  readonly env?: Readonly<Record<string, string>>;
}

export const PASSWORD_LINE = `${ADMIN_PASSWORD}\n`;

/**
 * @param plugins flows by their file's name
 * @param config members of flowhook.yaml
 */
export async function openSession(
  plugins: Readonly<Record<string, string>> = {},
  config: Readonly<Record<string, unknown>> = {},
): Promise<Session> {
  const folder = await mkdtemp(join(tmpdir(), "flowhook-session-"));
  const paths = Object.entries(plugins).map(async ([name, text]) => {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  });
  const service = await startService({ plugins: await Promise.all(paths), config });
  const target = openTarget();
  return {
    service,
    folder,
    run(args, { env = {}, ...input } = {}) {
      const usual = { FLOWHOOK_URL: service.url, FLOWHOOK_TOKEN: service.token() };
      const all = { XDG_CONFIG_HOME: folder, ...usual, ...env };
      return runCommand(target, args, { cwd: folder, ...input, env: all });
    },
    async write(name, text) {
      await writeFile(join(folder, name), text);
      return name;
    },
    async [Symbol.asyncDispose]() {
      await service.stop();
      await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

/** Everything that a command printed, for messages of assertions. */
export function all({ stdout, stderr }: Finished): string {
  return `${stdout}\n${stderr}`;
}
