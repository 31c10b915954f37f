import { dirname } from "node:path";
import { generateToken, hashKey } from "../server/access/api-key.ts";
import { generatePassword, hashPassword } from "../server/access/password.ts";
import type { Loaded } from "../server/config/load.ts";
import { replaceValues } from "../server/config/values.ts";
import type { Onlooker } from "../server/executions/onlooker.ts";
import type { Service } from "../server/service.ts";
import { startService } from "../server/start.ts";
import { TakenError } from "../server/store/sqlite/lock.ts";
import type { Store } from "../server/store/store.ts";
import { findUserByName, updatePassword } from "../server/store/people.ts";
import { deleteTokensOfUser, insertToken } from "../server/store/tokens.ts";
import type { DebuggedFlow } from "../server/workers/runners.ts";
import { now } from "../shared/clock.ts";
import { newId } from "../shared/id.ts";
import type { Log } from "../shared/log.ts";
import { findConnection } from "./author-connection.ts";
import { CommandError } from "./command-error.ts";
import { openAuthorData } from "./author-folder.ts";

/** A service that one author has for as long as a command runs. */
export interface AuthorService {
  readonly service: Service;
  /** Of the user `admin`; another one at each start. */
  readonly password: string;
  /** A login token of that user. */
  readonly token: string;
}

export interface AuthorOptions {
  readonly log: Log;
  readonly port: number;
  /** Whose names a request may have beside those of this machine, e.g. of a tunnel. */
  readonly hosts?: readonly string[];
  readonly onlooker?: Onlooker;
  /** The flow whose thread has a debugger: there is one thread of it at a time. */
  readonly debug?: DebuggedFlow | undefined;
}

const DAY_MS = 86_400_000;

/**
 * Opens it on its folder's data, with a password and a token that hold until the next start.
 *
 * @throws StartError where another process has the data
 */
export async function openAuthorService(
  loaded: Loaded,
  { log, port, hosts = [], onlooker, debug }: AuthorOptions,
): Promise<AuthorService> {
  for (const warning of openAuthorData(loaded)) log.warn(warning);
  const password = generatePassword();
  const config = { ...loaded.config, LISTEN_PORT: port, ...(debug && { FLOW_MAX_CONCURRENT: 1 }) };
  const service = await startService({
    config,
    configuration: { file: loaded.file, values: replaceValues(loaded.values, config) },
    log,
    adminPassword: () => password,
    showPassword: async () => {},
    localNames: hosts.map((host) => host.toLowerCase()),
    ...(onlooker && { onlooker }),
    ...(debug && { debug }),
  }).catch((error: unknown) => explain(error, dirname(config.DATA_DIR)));
  return { service, password, token: await renewLogin(service.store, password) };
}

/** Who has the data is most often the author's own. */
function explain(error: unknown, folder: string): never {
  const dev = error instanceof TakenError ? findConnection(folder) : null;
  if (dev === null) throw error;
  const where = `flowhook dev runs for this folder already, at ${dev.url}`;
  throw new CommandError(`${where}. Commands of the folder go there by themselves`);
}

async function renewLogin(store: Store, password: string): Promise<string> {
  const admin = await findUserByName(store, "admin");
  const id = admin?.id ?? "";
  const token = generateToken();
  const at = now();
  await store.commit([
    updatePassword(store, { id, password_hash: await hashPassword(password), at }),
    deleteTokensOfUser(store, id),
    insertToken(store, {
      id: newId(),
      user_id: id,
      hash: hashKey(token),
      created_at: at,
      expires_at: at + 30 * DAY_MS,
      last_used_at: at,
      last_used_from: "127.0.0.1",
    }),
  ]);
  return token;
}
