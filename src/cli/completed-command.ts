import type { Command } from "commander";
import { listPages } from "../assets/manual.ts";

/** What can follow a command on the command line. */
export interface CompletedCommand {
  /** `webhook list`; empty for the program itself. */
  readonly path: string;
  /** Commands below it, or values of its argument. */
  readonly words: readonly string[];
  /** One line for each word that has one. */
  readonly summaries: Readonly<Record<string, string>>;
  readonly options: readonly CompletedOption[];
  /** Whether its argument is a file or a folder. */
  readonly takesFile: boolean;
}

export interface CompletedOption {
  /** The long form; a short one is an entry of its own. */
  readonly flag: string;
  readonly summary: string;
  readonly takes: "none" | "file" | "value";
  /** The values that it takes; empty where they are not known. */
  readonly values: readonly string[];
}

/** The program and each command below it. */
export function describeCommands(program: Command): CompletedCommand[] {
  return [describe(program, ""), ...program.commands.flatMap((one) => describeBelow(one, ""))];
}

function describeBelow(command: Command, parent: string): CompletedCommand[] {
  const path = parent === "" ? command.name() : `${parent} ${command.name()}`;
  if (isHelp(command)) return describeHelp(command.parent, path);
  return [describe(command, path), ...command.commands.flatMap((one) => describeBelow(one, path))];
}

function isHelp(command: Command): boolean {
  return command.name() === "help";
}

/** `help`, and what may follow each of its words: the commands below that one. */
function describeHelp(group: Command | null, path: string): CompletedCommand[] {
  const below = group?.commands.filter((one) => !isHelp(one)) ?? [];
  return [
    {
      path,
      words: below.map((one) => one.name()),
      summaries: Object.fromEntries(below.map((one) => [one.name(), one.description()])),
      options: [],
      takesFile: false,
    },
    ...below.flatMap((one) => describeHelp(one, `${path} ${one.name()}`)),
  ];
}

function describe(command: Command, path: string): CompletedCommand {
  const given = command.registeredArguments.map((argument) => argument.name());
  const below = command.commands.map((one) => [one.name(), one.description()] as const);
  return {
    path,
    words: [...below.map(([name]) => name), ...(VALUES[path]?.() ?? [])],
    summaries: Object.fromEntries(below),
    options: [...optionsOf(command), HELP],
    takesFile: given.some((name) => name === "file" || name === "dir"),
  };
}

const HELP: CompletedOption = {
  flag: "--help",
  summary: "print the usage",
  takes: "none",
  values: [],
};

/** Arguments whose values the program knows. */
const VALUES: Readonly<Record<string, () => readonly string[]>> = {
  completion: () => ["bash", "zsh", "fish"],
  docs: () => listPages().map(({ name }) => name),
};

function optionsOf(command: Command): CompletedOption[] {
  return command.options.flatMap(({ short, long, flags, description, argChoices }) => {
    const isFile = /<(file|input)>/.test(flags);
    const takes = !/[<[]/.test(flags) ? "none" : isFile ? "file" : "value";
    return [long, short]
      .filter((flag) => flag !== undefined)
      .map((flag) => ({ flag, summary: description, takes, values: argChoices ?? [] }) as const);
  });
}
