import { isDeepStrictEqual } from "node:util";
import { makeProbe, PROBE_HEADER } from "../../server/access/probe.ts";
import type { ConfigValue } from "../../server/config/values.ts";
import { ask } from "./connection.ts";
import { reportOn, type Finding } from "./finding.ts";

/** The configuration that is read here against that of the service that runs. */

const configuration = reportOn("configuration");

/** Where it listens was found out by asking there; a password is for the first start alone. */
const APART: readonly string[] = ["LISTEN_HOST", "LISTEN_PORT", "ADMIN_PASSWORD"];

/**
 * @param url where the service answers
 * @param key of the data folder, for probes
 */
export async function examineRunning(
  values: readonly ConfigValue[],
  url: string,
  key: Buffer,
): Promise<Finding[]> {
  const answer = await ask(
    `${url}/health/configuration`,
    { [PROBE_HEADER]: makeProbe(key) },
    false,
  );
  // A service of an earlier release does not tell.
  if (typeof answer === "string" || answer.status !== 200) return [];
  const running = toValues(answer.text);
  return values.flatMap((here) => {
    const there = running.find((one) => one.key === here.key);
    return there === undefined || !differ(here, there) ? [] : [describe(here, there)];
  });
}

/** None where it is no list: another program may answer there. */
function toValues(text: string): readonly ConfigValue[] {
  try {
    const values: unknown = JSON.parse(text);
    return Array.isArray(values) ? (values as ConfigValue[]) : [];
  } catch {
    return [];
  }
}

/** What nobody has set follows the machine and the terminal. */
function differ(here: ConfigValue, there: ConfigValue): boolean {
  if (APART.includes(here.key)) return false;
  if (here.source === "default" && there.source === "default") return false;
  return !isDeepStrictEqual(here.value, there.value);
}

function describe(here: ConfigValue, there: ConfigValue): Finding {
  return configuration.warning(
    `The service runs with ${here.key} ${show(there)}, and here it is ${show(here)}`,
    "If this is the configuration of the service, start that again. If not, name its own with " +
      "--config FILE, and give the variables that it has",
  );
}

function show({ value, place }: ConfigValue): string {
  return `${JSON.stringify(value)} (${place ?? "default"})`;
}
