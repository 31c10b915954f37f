import { trustCertificates } from "./certificates.ts";
import { readConfiguration } from "./configuration.ts";
import { CommandError } from "./command-error.ts";
import { examineAll } from "./doctor/examination.ts";
import type { Finding } from "./doctor/finding.ts";
import { printJson, toLine } from "./table.ts";

interface DoctorOptions {
  readonly config?: string;
  /** File of the authorities that BASE_URL is checked against. */
  readonly cacert?: string;
  readonly json?: true;
}

/**
 * Says what is wrong with a service and its surroundings, and what to do about each.
 *
 * @throws CommandError where something is wrong, a warning is not; usage where --cacert is for nothing
 */
export async function examine(options: DoctorOptions): Promise<void> {
  const loaded = readConfiguration(options);
  // Read before root becomes the service's user.
  if (loaded.config.BASE_URL?.startsWith("https:")) trustCertificates(options.cacert ?? null);
  else if (options.cacert !== undefined)
    throw new CommandError(
      "Found --cacert, and BASE_URL is no https: URL: nothing is checked by it",
      2,
    );
  const findings = await examineAll(loaded);
  if (options.json) printJson(findings);
  else for (const finding of findings) process.stdout.write(describe(finding));
  const errors = findings.filter(({ state }) => state === "error").length;
  if (errors === 0) return;
  throw new CommandError(errors === 1 ? "1 thing is wrong" : `${errors} things are wrong`);
}

const WIDTH = "configuration".length;

function describe({ subject, state, message, action }: Finding): string {
  const head = `${state.padEnd("warning".length)}  ${subject.padEnd(WIDTH)}  `;
  const line = `${head}${toLine(message)}\n`;
  return action === null ? line : `${line}${" ".repeat(head.length)}${toLine(action)}\n`;
}
