import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { runCommand, type Finished } from "../blackbox/command.ts";
import { terminate } from "../blackbox/service.ts";
import { environment, openTarget } from "../blackbox/target.ts";
import { HUNG_MS } from "../hung.ts";

/** A folder of an author, without a login to any service. */
export interface Workplace {
  readonly folder: string;
  write(name: string, text: string): Promise<void>;
  /** @param options.below a folder below, to run it in */
  run(args: readonly string[], options?: { input?: string; below?: string }): Promise<Finished>;
  /** Starts `flowhook dev` in the folder. */
  dev(...args: readonly string[]): Promise<Dev>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A `flowhook dev` that runs. */
export interface Dev {
  readonly url: string;
  /** Everything that it has shown. */
  shown(): string;
  /** Resolves when it has shown this, with what it found. */
  until(expected: RegExp): Promise<RegExpMatchArray>;
  /** @returns the exit code */
  stop(): Promise<number | null>;
}

export async function openWorkplace(
  files: Readonly<Record<string, string | Uint8Array>> = {},
): Promise<Workplace> {
  const folder = await mkdtemp(join(tmpdir(), "flowhook-author-"));
  const target = openTarget();
  const env = { XDG_CONFIG_HOME: join(folder, ".config") };
  const write = async (name: string, text: string | Uint8Array): Promise<void> => {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  };
  for (const [name, text] of Object.entries(files)) await write(name, text);
  const started: Dev[] = [];
  return {
    folder,
    write,
    run: (args, { input = "", below = "." } = {}) =>
      runCommand(target, args, { cwd: join(folder, below), input, env }),
    async dev(...args) {
      const dev = await startDev(folder, ["dev", "--port", "0", ...args], env);
      started.push(dev);
      return dev;
    },
    async [Symbol.asyncDispose]() {
      for (const dev of started) await dev.stop();
      await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

async function startDev(
  cwd: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Dev> {
  const [program, ...leading] = openTarget().command;
  const child = spawn(program, [...leading, ...args], { cwd, env: environment(env) });
  let shown = "";
  const more = new EventTarget();
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      shown += text;
      more.dispatchEvent(new Event("more"));
    });
  const until = async (expected: RegExp): Promise<RegExpMatchArray> => {
    const signal = AbortSignal.timeout(HUNG_MS);
    for (;;) {
      const found = expected.exec(shown);
      if (found !== null) return found;
      if (child.exitCode !== null) throw new Error(`It has ended, and showed:\n${shown}`);
      await once(more, "more", { signal }).catch(() => {
        throw new Error(`It did not show ${String(expected)}, but:\n${shown}`);
      });
    }
  };
  const [, url = ""] = await until(/Open +(http:\/\/\S+[^/\s])\/?\n[^]*\n\n[^]*\n\n/);
  return { url, shown: () => shown, until, stop: () => terminate(child) };
}
