import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { CommandError } from "./command-error.ts";
import { readInputLine } from "./standard-input.ts";

export interface PasswordOptions {
  readonly passwordStdin?: true;
}

const PASSWORD = { what: "the password", option: "--password-stdin" };

/**
 * A password or a secret: the whole of standard input where that is asked for, otherwise typed on the
 * terminal without being shown.
 *
 * @param asked what it is, and the option that reads it from standard input
 * @throws CommandError (usage) where there is neither
 */
export async function readPassword(
  question: string,
  options: PasswordOptions,
  asked = PASSWORD,
): Promise<string> {
  if (options.passwordStdin) return readInputLine();
  requireTerminal(asked.what, asked.option);
  return readAnswer(question, { isShown: false });
}

/** @throws CommandError (usage) where there is no terminal */
export async function ask(question: string, option: string): Promise<string> {
  requireTerminal(question.replace(/\W+$/, "").toLowerCase(), option);
  return readAnswer(question, { isShown: true });
}

function requireTerminal(what: string, option: string): void {
  if (process.stdin.isTTY) return;
  throw new CommandError(`There is no terminal to ask for ${what}: use ${option}`, 2);
}

/** Prompts go to standard error: standard output may be a file. */
function readAnswer(question: string, { isShown }: { isShown: boolean }): Promise<string> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const output = isShown ? process.stderr : silent;
  return new Promise((resolve, reject) => {
    // Opened before the question is shown: from here on the terminal itself echoes nothing.
    const lines = createInterface({ input: process.stdin, output, terminal: true, historySize: 0 });
    let answer: string | null = null;
    let isInterrupted = false;
    lines.once("SIGINT", () => {
      isInterrupted = true;
      lines.close();
    });
    lines.once("close", () => {
      // Neither what is typed unseen nor Ctrl-C has ended the line.
      if (!isShown || answer === null) process.stderr.write("\n");
      if (answer === null)
        reject(new CommandError("Stopped at a question", isInterrupted ? 130 : 1));
      else resolve(answer);
    });
    if (!isShown) process.stderr.write(question);
    lines.question(question, (text) => {
      answer = text;
      lines.close();
    });
  });
}
