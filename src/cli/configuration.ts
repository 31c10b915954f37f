import {
  readCredentials,
  readEnvironment,
  type Credentials,
} from "../server/config/environment.ts";
import { loadConfig, type Loaded } from "../server/config/load.ts";

/** The configuration of a command, from its --config, the environment and the working folder. */
export function readConfiguration(options: {
  config?: string;
}): Loaded & { credentials: Credentials } {
  const env = readEnvironment();
  const file = options.config;
  const loaded = loadConfig({ env, cwd: process.cwd(), ...(file === undefined ? {} : { file }) });
  return { ...loaded, credentials: readCredentials(env) };
}
