import {
  readCredentials,
  readEnvironment,
  type Credentials,
} from "../server/config/environment.ts";
import { loadConfig, type Loaded } from "../server/config/load.ts";
import { warnOfConfigAbove } from "./author-folder.ts";

/**
 * The configuration of a command, from its --config, the environment and the working folder, or
 * another one in its place.
 */
export function readConfiguration(options: {
  config?: string;
  folder?: string;
}): Loaded & { credentials: Credentials } {
  const env = readEnvironment();
  const { config: file, folder = process.cwd() } = options;
  const loaded = loadConfig(
    file === undefined ? { env, cwd: folder } : { env, cwd: process.cwd(), file },
  );
  const warnings = [...loaded.warnings, ...(loaded.file === null ? warnOfConfigAbove() : [])];
  return { ...loaded, warnings, credentials: readCredentials(env) };
}
