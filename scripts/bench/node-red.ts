import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startProgram, type Server } from "./server.ts";

/** Node-RED 5, installed once below the temporary folder: HTTP in, a function, HTTP response. */

const FOLDER = join(tmpdir(), "flowhook-bench-node-red");
const ENTRY = join(FOLDER, "node_modules/node-red/red.js");

const node = (id: string, type: string, rest: object) => ({
  id,
  type,
  z: "tab",
  x: 0,
  y: 0,
  ...rest,
});

const FLOWS = [
  { id: "tab", type: "tab", label: "echo" },
  node("in", "http in", { url: "/", method: "post", wires: [["echo"]] }),
  node("echo", "function", {
    func: "msg.payload = { echo: msg.payload };\nreturn msg;",
    outputs: 1,
    wires: [["out"]],
  }),
  node("out", "http response", { wires: [] }),
];

export async function startNodeRed(): Promise<Server> {
  install();
  const settings = { flowFile: "flows.json", httpAdminRoot: false, uiHost: "127.0.0.1" };
  writeFileSync(join(FOLDER, "settings.cjs"), `module.exports = ${JSON.stringify(settings)};`);
  writeFileSync(join(FOLDER, "flows.json"), JSON.stringify(FLOWS));
  const files = ["--userDir", FOLDER, "--settings", join(FOLDER, "settings.cjs")];
  return startProgram((port) => [ENTRY, ...files, "--port", String(port)]);
}

function install(): void {
  if (existsSync(ENTRY)) return;
  process.stderr.write(`Installing Node-RED 5 into ${FOLDER}\n`);
  mkdirSync(FOLDER, { recursive: true });
  const flags = ["--prefix", FOLDER, "--no-audit", "--no-fund", "--ignore-scripts"];
  try {
    execFileSync("npm", ["install", ...flags, "node-red@5"], {
      stdio: ["ignore", "ignore", "inherit"],
    });
  } catch (error) {
    // What is there in part would be taken for the whole next time.
    rmSync(FOLDER, { recursive: true, force: true });
    throw new Error("Cannot install Node-RED: leave out --with-node-red", { cause: error });
  }
}
