import type { Command } from "commander";
import { toList } from "./input.ts";

/**
 * The commands about users and roles, which work on the store itself. That is loaded when one runs.
 *
 * @param config flags and meaning of --config
 */
export function addPeopleCommands(program: Command, config: readonly [string, string]): void {
  const user = program.command("user").description("Users, also of a stopped service");
  addUserCommands(user, config);
  program
    .command("role")
    .description("Roles, also of a stopped service")
    .command("list")
    .description("List roles by name, with what they allow")
    .option(...config)
    .option("--json", "print JSON")
    .action(async (options) => (await import("./role.ts")).listRoles(options));
}

function addUserCommands(user: Command, config: readonly [string, string]): void {
  user
    .command("list")
    .description("List users by name")
    .option(...config)
    .option("--json", "print JSON")
    .action(async (options) => (await import("./user.ts")).listUsers(options));
  user
    .command("create")
    .description("Create a user; the password is read from standard input, or generated")
    .argument("<name>")
    .option(...config)
    .option("--email <email>", "e-mail address", "")
    .option("--role <role>", "role (default: viewer); again for more", toList)
    .option("--json", "print JSON")
    .action(async (name, options) => (await import("./user.ts")).createUser(name, options));
  user
    .command("password")
    .description("Set a user's password, read from standard input, or generated")
    .argument("<name>")
    .option(...config)
    .option("--create", "make the database where there is none yet, before the first start")
    .option("--json", "print JSON")
    .action(async (name, options) => (await import("./user.ts")).setPassword(name, options));
  user
    .command("delete")
    .description("Delete a user, and with it the user's login tokens; never the last admin")
    .argument("<name>")
    .option(...config)
    .action(async (name, options) => (await import("./user.ts")).deleteUser(name, options));
}
