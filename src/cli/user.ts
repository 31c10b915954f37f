import { generatePassword, hashPassword } from "../server/access/password.ts";
import { prepareFirstStart, takeFirstStart } from "../server/access/first-start.ts";
import { nextTime } from "../server/api/named.ts";
import { commitKeepingAdmin, toUser } from "../server/api/user.ts";
import { now } from "../shared/clock.ts";
import { PASSWORD_LENGTH } from "../shared/password-length.ts";
import type { User } from "../shared/contract/user.ts";
import { findEmailError } from "../shared/email.ts";
import { RequestError } from "../shared/errors.ts";
import { newId } from "../shared/id.ts";
import { findNameError, toResourceName } from "../shared/resource-name.ts";
import type { Statement } from "../server/store/statement.ts";
import type { Store } from "../server/store/store.ts";
import {
  deletePeople,
  findRoleByName,
  findUserByName,
  insertUser,
  insertUserRole,
  listPeople,
  updatePassword,
  type UserRow,
} from "../server/store/people.ts";
import { deleteTokensOfUser } from "../server/store/tokens.ts";
import { insertAudit } from "../server/store/workspace.ts";
import { roleNamesOf } from "../server/store/user-roles.ts";
import { readConfiguration } from "./configuration.ts";
import { requireDatabase } from "./data-folder.ts";
import { CommandError } from "./command-error.ts";
import { readInputLine } from "./standard-input.ts";
import { openStoreOf } from "./store.ts";
import { printJson, printList, toTime, type Column, type ListOptions } from "./table.ts";
import { showPassword } from "./welcome.ts";

/** These commands work on the data folder, whether the service runs or not. */

interface UserOptions {
  readonly config?: string;
}

const COLUMNS: readonly Column<User>[] = [
  { title: "NAME", of: ({ name }) => name },
  { title: "ENABLED", of: ({ is_enabled }) => is_enabled },
  { title: "ROLES", of: ({ roles }) => roles.join(", ") },
  { title: "E-MAIL", of: ({ email }) => email },
  { title: "ACTIVE", of: ({ active_at }) => toTime(active_at) },
  { title: "CREATED", of: ({ created_at }) => toTime(created_at) },
];

/** By name, as `GET /user` has them. @throws CommandError where there is no database */
export async function listUsers(options: UserOptions & ListOptions): Promise<void> {
  const loaded = readConfiguration(options);
  requireDatabase(loaded);
  await using store = await openStoreOf(loaded, true);
  const users: User[] = [];
  for await (const user of readUsers(store)) users.push(user);
  printList(users, COLUMNS, { ...options, empty: "No users: the service has not started yet" });
}

/** Read at once. */
const PAGE = 500;

async function* readUsers(store: Store): AsyncGenerator<User> {
  for (let after: string | undefined; ;) {
    const rows = await listPeople(store, "user", { after, limit: PAGE, descending: false });
    const roles = await roleNamesOf(
      store,
      rows.map(({ id }) => id),
    );
    for (const row of rows) yield toUser(row, roles.get(row.id) ?? []);
    after = rows.at(-1)?.name;
    if (rows.length < PAGE) return;
  }
}

/** @throws CommandError where name or address is none, the name is taken, or a role is not there */
export async function createUser(
  given: string,
  options: UserOptions & ListOptions & { email: string; role?: readonly string[] },
): Promise<void> {
  const name = toResourceName(given);
  const error = findNameError(name);
  if (error !== null) throw new CommandError(`As the name of a user, expected ${error}`);
  const emailError = findEmailError(options.email);
  if (emailError !== null) throw new CommandError(`--email: ${emailError}`);
  const roleNames = new Set((options.role ?? ["viewer"]).map(toResourceName));
  const { password, isGenerated } = await readPassword();
  await using store = await openFilledStore(options, null);
  if ((await findUserByName(store, name)) !== undefined)
    throw new CommandError(`There is a user "${name}" already`);
  const at = now();
  const id = newId();
  const row = {
    id,
    name,
    email: options.email,
    password_hash: await hashPassword(password),
    is_enabled: 1,
    active_at: null,
    created_at: at,
    modified_at: at,
  };
  const roles = await Promise.all([...roleNames].map((role) => requireRole(store, role)));
  await store.commit([
    insertUser(store, row),
    ...roles.map((role_id) => insertUserRole(store, id, role_id)),
    toAudit(store, "user.create", name, ["name", "email", "password", "roles"]),
  ]);
  await report(store, `Created the user "${name}"`, { user: row, password, isGenerated }, options);
}

/**
 * Ends the user's login tokens as well.
 *
 * @throws CommandError where there is no such user, or no database and it is not to be made
 */
export async function setPassword(
  given: string,
  options: UserOptions & ListOptions & { create?: true },
): Promise<void> {
  const name = toResourceName(given);
  const { password, isGenerated } = await readPassword();
  await using store = await openFilledStore(options, name === "admin" ? password : null);
  const user = await requireUser(store, name);
  const password_hash = await hashPassword(password);
  const at = nextTime(user);
  await store.commit([
    updatePassword(store, { id: user.id, password_hash, at }),
    deleteTokensOfUser(store, user.id),
    toAudit(store, "user.change", user.name, ["password"]),
  ]);
  const changed = { user: { ...user, modified_at: at }, password, isGenerated };
  await report(store, `Set the password of "${name}"`, changed, options);
}

/** @throws CommandError where there is no such user, or nobody would be left who may do everything */
export async function deleteUser(name: string, options: UserOptions): Promise<void> {
  const loaded = readConfiguration(options);
  requireDatabase(loaded);
  await using store = await openStoreOf(loaded);
  const user = await requireUser(store, name);
  const unit = [deletePeople(store, "user", user), toAudit(store, "user.delete", user.name, [])];
  const held = (await roleNamesOf(store, [user.id])).get(user.id) ?? [];
  await commitKeepingAdmin(store, { user, held }, unit).catch((error: unknown) => {
    throw error instanceof RequestError ? new CommandError(error.message) : error;
  });
  process.stdout.write(`Deleted the user "${user.name}"\n`);
}

async function requireUser(store: Store, name: string): Promise<UserRow> {
  const user = await findUserByName(store, name.normalize("NFC"));
  if (user !== undefined) return user;
  throw new CommandError(`There is no user "${name}". Those there are: flowhook user list`);
}

/**
 * The database of a service. One whose first start did not come that far gets its first roles and
 * `admin` here.
 *
 * @param given password of that `admin`; null: one is generated, and shown
 */
async function openFilledStore(
  options: UserOptions & { create?: true },
  given: string | null,
): Promise<Store> {
  const loaded = readConfiguration(options);
  if (options.create !== true) requireDatabase(loaded);
  const store = await openStoreOf(loaded);
  await using _turn = await takeFirstStart(store, () =>
    process.stderr.write("A service starts for the first time on this database: waiting for it\n"),
  );
  const first = await prepareFirstStart(store, () => given ?? loaded.credentials.adminPassword());
  if (first.adminPassword !== null) await showPassword(first.adminPassword);
  await first.commit();
  return store;
}

/** As the API answers the same act. */
const RESULTS = { "user.create": "201", "user.change": "200", "user.delete": "204" };

/** As the API has it of the same act; who ran the command is known to the machine alone. */
function toAudit(
  store: Store,
  action: keyof typeof RESULTS,
  target: string,
  members: readonly string[],
): Statement {
  return insertAudit(store, {
    at: now(),
    user_id: null,
    user_name: null,
    address: "command line",
    node: null,
    action,
    target,
    result: RESULTS[action],
    members: JSON.stringify(members),
    changes: null,
  });
}

async function requireRole(store: Store, name: string): Promise<string> {
  const role = await findRoleByName(store, toResourceName(name));
  if (role === undefined) throw new CommandError(`There is no role "${name}"`);
  return role.id;
}

async function readPassword(): Promise<{ password: string; isGenerated: boolean }> {
  const given = process.stdin.isTTY ? "" : await readInputLine();
  if (given === "") return { password: generatePassword(), isGenerated: true };
  if (given.length < PASSWORD_LENGTH)
    throw new CommandError(`Expected a password of at least ${PASSWORD_LENGTH} characters`);
  return { password: given, isGenerated: false };
}

/** One that was given is known: only a generated one has to be shown. */
async function report(
  store: Store,
  what: string,
  { user, password, isGenerated }: { user: UserRow; password: string; isGenerated: boolean },
  { json }: ListOptions,
): Promise<void> {
  const shown = isGenerated ? `, with the password: ${password}` : "";
  if (!json) return void process.stdout.write(`${what}${shown}\n`);
  const roles = (await roleNamesOf(store, [user.id])).get(user.id) ?? [];
  printJson({ ...toUser(user, roles), ...(isGenerated ? { password } : {}) });
}
