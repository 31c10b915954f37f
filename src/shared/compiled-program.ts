import type { Buffer } from "node:buffer";
import { createRequire } from "node:module";
import { constants, Script } from "node:vm";

type Program<Made> = (require: NodeJS.Require, filename: string) => Made;

/**
 * A program that the build wrote as the text of a function, compiled. That such a text may import
 * modules is experimental in Node.js.
 */
export class CompiledProgram<Made> {
  readonly #script: Script;

  /**
   * @param name as stacks tell it
   * @param cache what was compiled of it before; of use where the same runtime did that
   */
  constructor(text: string, name: string, cache?: Buffer) {
    this.#script = new Script(text, {
      filename: name,
      ...(cache === undefined ? {} : { cachedData: cache }),
      importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    });
  }

  /**
   * Runs its modules.
   * @param file from where it requires others
   * @returns what it exports
   */
  load(file: string): Made {
    const program = this.#script.runInThisContext() as Program<Made>;
    return program(createRequire(file), file);
  }

  /** What is compiled of it by now. */
  cache(): Buffer {
    return this.#script.createCachedData();
  }
}
