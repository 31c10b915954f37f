import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { runProgram, type Finished } from "./command.ts";
import { findProgram, NODE } from "./target.ts";

/** A request as a client that nobody here wrote makes it. */
export interface ClientCall {
  readonly method: "GET" | "POST";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Client {
  /** As it stands in the table of the page "webhooks". */
  readonly name: string;
  readonly program: string;
  arguments(call: ClientCall): readonly string[];
  /** Whether it is used for GET, POST or both. */
  readonly methods: readonly ClientCall["method"][];
}

function curlHeaders(call: ClientCall): string[] {
  return Object.entries(call.headers).flatMap(([name, value]) => ["-H", `${name}: ${value}`]);
}

function curl(name: string, methods: Client["methods"], flags: readonly string[]): Client {
  return {
    name,
    program: "curl",
    methods,
    arguments: (call) => [
      "-sS",
      "-w",
      "\n%{http_code}",
      ...flags,
      ...curlHeaders(call),
      ...(call.body === undefined ? [] : ["-d", call.body]),
      call.url,
    ],
  };
}

/** A little program beside this file that prints the body and then, on a line, the status. */
function script(name: string, program: string, file: string): Client {
  const path = fileURLToPath(new URL(`clients/${file}`, import.meta.url));
  return {
    name,
    program,
    methods: ["GET", "POST"],
    arguments: (call) => [path, JSON.stringify(call)],
  };
}

const wget: Client = {
  name: "wget",
  program: "wget",
  methods: ["GET", "POST"],
  arguments: (call) => [
    "-q",
    "-O",
    "-",
    "--content-on-error",
    "--tries=1",
    "--no-config",
    ...Object.entries(call.headers).map(([name, value]) => `--header=${name}: ${value}`),
    ...(call.method === "GET" ? [] : [`--post-data=${call.body ?? ""}`]),
    call.url,
  ],
};

export const CLIENTS: readonly Client[] = [
  curl("curl", ["GET", "POST"], []),
  curl("curl -L", ["GET"], ["-L"]),
  curl("curl -d … -L", ["POST"], ["-L"]),
  curl("curl -X POST -d … -L", ["POST"], ["-X", "POST", "-L"]),
  wget,
  script("Node fetch", NODE, "fetch.mjs"),
  script("Python urllib", "python3", "urllib_call.py"),
];

/** Why a client cannot be tried on this machine, or null. */
export function missingClient(client: Client): string | null {
  if (client.program === NODE || findProgram(client.program) !== null) return null;
  return `no ${client.program} on this machine`;
}

/** Runs a client to its end, in an environment without proxies and settings of a user. */
export function runClient(client: Client, call: ClientCall, cwd: string): Promise<Finished> {
  const program = findProgram(client.program) ?? client.program;
  const env = { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? cwd, no_proxy: "*" };
  return runProgram(program, client.arguments(call), { cwd, env });
}

export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Recorder extends AsyncDisposable {
  readonly url: string;
  readonly seen: readonly Seen[];
}

/**
 * Redirects `times` times with `status`, then answers 200. Each Location differs unless `same`
 * is set, as it does not on the waiting legs of a call.
 */
export async function openRecorder(options: {
  status: number;
  times: number;
  same?: boolean;
}): Promise<Recorder> {
  const seen: Seen[] = [];
  const record = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString("utf8");
    const { method = "", url = "", headers } = request;
    seen.push({ method, url, headers, body });
    if (seen.length > options.times) {
      response.writeHead(200, { "content-type": "text/plain" }).end("arrived");
      return;
    }
    const location = options.same === true ? "./next" : `./next?leg=${seen.length}`;
    response.writeHead(options.status, { location, "content-type": "text/plain" }).end("redirect");
  };
  const server = createServer((request, response) => void record(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/start`,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
