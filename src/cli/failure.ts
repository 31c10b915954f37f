/** An act that failed for a reason that people can mend: one line, no stack. */
export class CommandFailure extends Error {
  /** 1: the act failed; 2: wrong usage; 78: wrong configuration. */
  readonly exit_code: 1 | 2 | 78;

  constructor(message: string, exit_code: 1 | 2 | 78 = 1) {
    super(message);
    this.exit_code = exit_code;
  }
}
