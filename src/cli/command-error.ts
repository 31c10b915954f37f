/** An act that failed for a reason that people can mend: one line, no stack. */
export class CommandError extends Error {
  /** 1: the act failed; 2: wrong usage; 78: wrong configuration; 130: stopped by Ctrl-C. */
  readonly exitCode: 1 | 2 | 78 | 130;

  constructor(message: string, exitCode: 1 | 2 | 78 | 130 = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}
