import { VERSION } from "../assets/read.ts";
import type { Config } from "../config/resolve.ts";
import type { Service } from "../service/service.ts";

/** What people read on a terminal once the service listens. */
export function describeStart(service: Service, config: Pick<Config, "PLUGINS_DIR">): string {
  const { url, admin_password: password } = service;
  const login = password === null ? [] : [["Log in", `as "admin" with ${password} (shown once)`]];
  const lines = [
    ["Open", `${url}/`],
    ...login,
    ["Flows", `${countFlows(service)} in ${config.PLUGINS_DIR}`],
    ["Stop", "Ctrl-C"],
  ];
  const rows = lines.map(([name = "", text]) => `  ${name.padEnd(8)}${text}\n`);
  return `\n  Flowhook ${VERSION}\n\n${rows.join("")}\n`;
}

function countFlows({ catalog }: Service): string {
  const flows = catalog.list();
  const broken = flows.filter((flow) => flow.state === "broken").length;
  const ready = `${flows.length - broken} ready`;
  return broken === 0 ? ready : `${ready}, ${broken} broken (flowhook check says why)`;
}
