import { createServer } from "node:http";

/** Bare node:http: a JSON echo. The floors are measured against it. */
const server = createServer((incoming, outgoing) => {
  let text = "";
  incoming.setEncoding("utf8");
  incoming.on("data", (chunk: string) => (text += chunk));
  incoming.on("end", () => {
    const body = JSON.stringify({ echo: JSON.parse(text) as unknown });
    const length = Buffer.byteLength(body);
    outgoing.writeHead(200, { "content-type": "application/json", "content-length": length });
    outgoing.end(body);
  });
});
server.listen(Number(process.argv[2]), "127.0.0.1");
