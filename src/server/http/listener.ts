import { createServer as createHttpServer, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { once } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { AddressInfo } from "node:net";
import { getRequestListener, type HttpBindings } from "@hono/node-server";
import { readCertificate } from "../config/certificate.ts";
import { openProxyTrust, peerOf } from "../access/client-address.ts";
import { networkOf } from "../access/network.ts";
import { mostOpenFiles } from "../workers/process-figures.ts";
import { prefixOf, type Config } from "../config/resolve.ts";
import { holdContinue } from "../request/expectation.ts";
import { NO_HOST } from "../request/host.ts";
import type { RequestError } from "../../shared/errors.ts";
import { toLogText, type Log } from "../../shared/log.ts";
import { createApp, respondInternal, sendInternal, type AppDeps } from "./app.ts";
import { mostConnections, shareConnections, type OpenConnections } from "./connections.ts";
import { lingerUnread } from "./linger.ts";
import { openRareLine } from "../../shared/rare-line.ts";
import { refuseTarget } from "./request-target.ts";
import { boundUnread } from "./unread-answers.ts";
import { closeSilent } from "./silent.ts";
import { answerConnect, answerUnparsed } from "./unparsed-request.ts";
import { watchCertificate } from "./certificate-watch.ts";
import { takeUpInTurn } from "./under-way.ts";

/** The port on which calls, API, pages and monitoring are answered. */
export interface Listener {
  /** Where it listens, with the prefix of BASE_URL. */
  readonly url: string;
  /** From now on each answer closes its connection: who keeps one comes back by another, and elsewhere. */
  closeAfterAnswers(): void;
  /** Lets answers that are under way leave, and then closes every connection. */
  close(): Promise<void>;
}

/**
 * Starts to listen; resolves when it does.
 *
 * @param localNames hosts of a service for this machine alone; null: any host will do
 */
export async function listen(
  config: Config,
  deps: AppDeps,
  localNames: readonly string[] | null,
): Promise<Listener> {
  const { log } = deps;
  const app = createApp(deps);
  const handle = getRequestListener((request, env) => app.fetch(request, env as HttpBindings), {
    hostname: NO_HOST,
    errorHandler: (error) => {
      log.error({ err: error }, "Cannot answer");
      return respondInternal();
    },
  });
  const server = createSocketServer(config, log);
  const noteRefusal = openRefusalNote(deps);
  answerUnparsed(server, LIMITS, noteRefusal);
  answerConnect(server, noteRefusal);
  const connections = shareConnections(server, {
    most: mostConnections(mostOpenFiles(process.pid)),
    log,
    isTrusted: openProxyTrust(config.TRUSTED_PROXIES),
    isTls: Boolean(config.TLS_CERT_FILE),
  });
  const warn = openRareLine(log, "warn");
  const noteAnswer = boundUnread(
    Math.max(ANSWERS * config.MAX_OUTPUT_BYTES, LEAST_BUDGET),
    ({ req }) => networkOf(deps.addressOf(req).address),
    (client) =>
      warn({ client }, "Answers that are not read take too much memory: a connection was closed"),
  );
  const turns = takeUpInTurn((incoming, outgoing) => {
    outgoing.on("prefinish", lingerUnread);
    const refused = refuseTarget(incoming, outgoing, localNames);
    if (refused !== null) return noteRefusal(peerOf(incoming.socket), refused);
    const answered = app.call(incoming, outgoing) ?? handle(incoming, outgoing);
    answered.then(
      () => noteAnswer(outgoing),
      (error: unknown) => {
        log.error({ err: error }, "Cannot answer");
        sendInternal(outgoing);
      },
    );
  });
  server.on("request", turns.take);
  server.on("checkContinue", (incoming, outgoing) => {
    holdContinue(incoming, outgoing);
    server.emit("request", incoming, outgoing);
  });
  server.on("checkExpectation", turns.take);
  server.listen(config.LISTEN_PORT, config.LISTEN_HOST);
  await once(server, "listening");
  return {
    url: urlOf(config, server),
    closeAfterAnswers: () => turns.closeAfterAnswers(),
    close: () => closeServer(server, connections),
  };
}

type RefusalNote = (peer: string, refused: RequestError) => void;

/** Counts what is refused before anybody knows which call it is, and tells of it now and then. */
function openRefusalNote({ calls, log }: AppDeps): RefusalNote {
  const tell = openRareLine(log, "info");
  return (peer, { code, message }) => {
    calls.meters.countRefusal(code);
    tell({ code, reason: toLogText(message), address: peer }, "Request refused");
  };
}

/**
 * Answers that nobody has read yet, together: so many of the largest size, or so many bytes where
 * that is more.
 */
const ANSWERS = 16;
const LEAST_BUDGET = 256 * 1024 * 1024;

/**
 * Slow or silent clients are let go; an idle connection is kept longer than proxies keep it.
 * Milliseconds and bytes.
 */
const LIMITS = {
  headersTimeout: 10_000,
  requestTimeout: 120_000,
  connectionsCheckingInterval: 2000,
  keepAliveTimeout: 75_000,
  maxHeaderSize: 16 * 1024,
  // Without one a request is refused as others are, counted and told.
  requireHostHeader: false,
};

/** A client that takes nothing of its answer for so long is let go, in milliseconds. */
const STALLED_MS = 30_000;

function limit(server: Server): Server {
  // All of them count: a header that is dropped would be one that nobody has checked.
  server.maxHeadersCount = 0;
  closeSilent(server, STALLED_MS);
  return server;
}

function createSocketServer(config: Config, log: Log): Server {
  const certificate = readCertificate(config);
  if (certificate === null) return limit(createHttpServer(LIMITS));
  const handshakeTimeout = LIMITS.headersTimeout;
  const { cert, key } = certificate;
  const server = createTlsServer({ cert, key, ...LIMITS, handshakeTimeout });
  watchCertificate({ config, log, certificate }, (pair) => server.setSecureContext(pair));
  return limit(server);
}

function urlOf(config: Config, server: Server): string {
  const { address, family, port } = server.address() as AddressInfo;
  const host = family === "IPv6" ? `[${address}]` : address;
  const scheme = config.TLS_CERT_FILE ? "https" : "http";
  return `${scheme}://${host}:${port}${prefixOf(config)}`;
}

/** How long answers that are under way may take to leave. */
const CLOSE_MS = 2000;

async function closeServer(server: Server, connections: OpenConnections): Promise<void> {
  const closed = once(server, "close");
  // What is answered in this turn leaves at its end, and its connection counts as idle before.
  await nextTurn();
  server.close();
  server.closeIdleConnections();
  const limit = setTimeout(() => connections.close(), CLOSE_MS);
  await closed;
  clearTimeout(limit);
}
