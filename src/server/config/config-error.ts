/** One thing that is wrong with the configuration, and where it stands. */
export interface ConfigProblem {
  /** `flowhook.yaml:3` or `FLOWHOOK_LISTEN_PORT`. */
  readonly place: string;
  readonly message: string;
}

/** The configuration cannot be used; one message with every fault. */
export class ConfigError extends Error {
  /** EX_CONFIG of sysexits.h. */
  readonly exitCode = 78;
  readonly errors: readonly ConfigProblem[];

  constructor(errors: readonly ConfigProblem[]) {
    const lines = errors.map((error) => `${error.place}: ${error.message}`);
    super(["Configuration refused:", ...lines].join(lines.length > 1 ? "\n  " : " "));
    this.name = "ConfigError";
    this.errors = errors;
  }
}

/** A single fault, thrown where nothing further can be checked. */
export function refuse(place: string, message: string): never {
  throw new ConfigError([{ place, message }]);
}

/** The system's reason (`ENOENT`, ...) why a file could not be read. */
export function reasonOf(error: unknown): string {
  if (error instanceof Error && "code" in error) return String(error.code);
  return error instanceof Error ? error.message : String(error);
}
