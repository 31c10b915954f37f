import type { Command } from "commander";
import { nearestWord } from "../shared/nearest.ts";

/** `help webhook create` prints what `webhook create --help` does; what is no command is refused. */
export function addHelp(group: Command): void {
  group
    .helpCommand(false)
    .addHelpText("before", ({ command }) => {
      const [name = "-"] = command.args;
      if (!name.startsWith("-")) findCommand(command, [name]);
      return "";
    })
    .command("help")
    .description("Print the usage of a command")
    .argument("[command...]")
    .action((names: string[]) => findCommand(group, names).help());
  for (const command of group.commands) if (command.commands.length > 0) addHelp(command);
}

function findCommand(group: Command, names: readonly string[]): Command {
  let found = group;
  for (const name of names)
    found = found.commands.find((command) => command.name() === name) ?? refuse(found, name);
  return found;
}

/** As the program does where that stands without `help`. */
function refuse(group: Command, name: string): never {
  const known = group.commands.map((command) => command.name());
  const nearest = nearestWord(name, known);
  const hint = nearest === null ? "" : `\n(Did you mean ${nearest}?)`;
  return group.error(`error: unknown command '${name}'${hint}`);
}
