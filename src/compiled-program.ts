import { createRequire } from "node:module";
import { dirname } from "node:path";
import { constants, Script } from "node:vm";
import type { runCommand } from "./cli/program.ts";

/** The single binary's program as the text of a function, compiled. */
export class CompiledProgram {
  readonly #script: Script;

  /** @param cache what was compiled of it before, by the same runtime with the same flags */
  constructor(text: string, cache?: Buffer) {
    this.#script = new Script(text, {
      filename: "flowhook",
      ...(cache === undefined ? {} : { cachedData: cache }),
      importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    });
  }

  /** Runs its modules, and no command yet. */
  load(): { readonly runCommand: typeof runCommand } {
    const load = this.#script.runInThisContext() as (...scope: unknown[]) => void;
    const { execPath } = process;
    const module = { exports: {} as { runCommand: typeof runCommand } };
    load(module.exports, createRequire(execPath), module, execPath, dirname(execPath));
    return module.exports;
  }

  /** What is compiled of it by now. */
  cache(): Buffer {
    return this.#script.createCachedData();
  }
}
