import type { Command } from "commander";

/** `help webhook create` prints what `webhook create --help` does; what is no command is refused. */
export function addHelp(group: Command): void {
  group
    .helpCommand(false)
    .command("help")
    .description("Print the usage of a command")
    .argument("[command...]")
    .action((names: string[]) => findCommand(group, names).help());
  for (const command of group.commands) if (command.commands.length > 0) addHelp(command);
}

function findCommand(group: Command, names: readonly string[]): Command {
  let found = group;
  for (const name of names)
    found =
      found.commands.find((command) => command.name() === name) ??
      found.error(`error: unknown command '${name}'`);
  return found;
}
