import { VERSION } from "../assets/read.ts";
import type { Config } from "../server/config/resolve.ts";
import type { Service } from "../server/service.ts";

type Started = Pick<Service, "url" | "catalog" | "adminPassword">;

/**
 * Greets whoever looks at a terminal; elsewhere shows a generated password alone. On standard
 * error, so that it is in no log that is kept.
 */
export async function welcome(
  started: Started,
  config: Pick<Config, "PLUGINS_DIR">,
): Promise<void> {
  const { adminPassword } = started;
  if (process.stdout.isTTY) await print(describeStart(started, config));
  else if (adminPassword !== null) await showPassword(adminPassword);
}

/** The password of the user "admin", where it was generated. */
export function showPassword(password: string): Promise<void> {
  return print(`\nThe user "admin" was created, with the password: ${password}\n\n`);
}

/** Resolves when the text was taken, and fails where nobody takes it. */
function print(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stderr.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

function describeStart(started: Started, config: Pick<Config, "PLUGINS_DIR">): string {
  const { url, adminPassword: password } = started;
  const login = password === null ? [] : [["Log in", `as "admin" with ${password} (shown once)`]];
  const lines = [
    ["Open", `${url}/`],
    ...login,
    ["Flows", `${countFlows(started)} in ${config.PLUGINS_DIR}`],
    ["Stop", "Ctrl-C"],
  ];
  const rows = lines.map(([name = "", text]) => `  ${name.padEnd(8)}${text}\n`);
  return `\n  Flowhook ${VERSION}\n\n${rows.join("")}\n`;
}

function countFlows({ catalog }: Started): string {
  const flows = catalog.list();
  const broken = flows.filter((flow) => flow.state === "broken").length;
  const ready = `${flows.length - broken} ready`;
  return broken === 0 ? ready : `${ready}, ${broken} broken (flowhook check says why)`;
}
