import * as js from "../shared/intrinsics.ts";

/**
 * What Node's own modules give, by name: the functions and classes, which all stand-ins have
 * (stand-ins.ts), and some plain data. test/sandbox/stand-ins.test.ts compares them with Node.
 */

const DNS = `
    lookup, lookupService, Resolver, getDefaultResultOrder, setDefaultResultOrder, setServers,
    getServers, resolve, resolve4, resolve6, resolveAny, resolveCaa, resolveCname, resolveMx,
    resolveNaptr, resolveNs, resolvePtr, resolveSoa, resolveSrv, resolveTlsa, resolveTxt, reverse`;

/** Functions and classes of each module, with commas between them. */
export const FUNCTIONS = {
  __proto__: null,
  child_process: "ChildProcess, exec, execFile, execFileSync, execSync, fork, spawn, spawnSync",
  cluster: "Worker, setupPrimary, setupMaster, fork, disconnect",
  dgram: "createSocket, Socket",
  dns: DNS,
  "dns/promises": DNS,
  domain: "Domain, createDomain, create",
  fs: `
    appendFile, appendFileSync, access, accessSync, chown, chownSync, chmod, chmodSync, close,
    closeSync, copyFile, copyFileSync, cp, cpSync, createReadStream, createWriteStream, exists,
    existsSync, fchown, fchownSync, fchmod, fchmodSync, fdatasync, fdatasyncSync, fstat, fstatSync,
    fsync, fsyncSync, ftruncate, ftruncateSync, futimes, futimesSync, glob, globSync, lchown,
    lchownSync, link, linkSync, lstat, lstatSync, lutimes, lutimesSync, mkdir, mkdirSync, mkdtemp,
    mkdtempSync, mkdtempDisposableSync, open, openSync, openAsBlob, openAsBlobSync, readdir,
    readdirSync, read, readSync, readv, readvSync, readFile, readFileSync, readlink, readlinkSync,
    realpath, realpathSync, rename, renameSync, rm, rmSync, rmdir, rmdirSync, stat, statfs,
    statSync, statfsSync, symlink, symlinkSync, truncate, truncateSync, unwatchFile, unlink,
    unlinkSync, utimes, utimesSync, watch, watchFile, writeFile, writeFileSync, write, writeSync,
    writev, writevSync, Dirent, Stats, ReadStream, WriteStream, FileReadStream, FileWriteStream,
    Utf8Stream, Dir, opendir, opendirSync`,
  "fs/promises": `
    access, copyFile, cp, glob, open, opendir, rename, truncate, rm, rmdir, mkdir, readdir,
    readlink, symlink, lstat, stat, statfs, link, unlink, chmod, lchmod, lchown, chown, utimes,
    lutimes, realpath, mkdtemp, mkdtempDisposable, writeFile, appendFile, readFile, watch`,
  http: `
    Agent, ClientRequest, IncomingMessage, OutgoingMessage, Server, ServerResponse, createServer,
    validateHeaderName, validateHeaderValue, get, request, setMaxIdleHTTPParsers,
    setGlobalProxyFromEnv, WebSocket, CloseEvent, MessageEvent`,
  http2: `
    connect, createServer, createSecureServer, getDefaultSettings, getPackedSettings,
    getUnpackedSettings, performServerHandshake, Http2ServerRequest, Http2ServerResponse`,
  https: "Agent, Server, createServer, get, request",
  inspector: "open, close, url, waitForDebugger, Session",
  "inspector/promises": "open, close, url, waitForDebugger, Session",
  net: `
    BlockList, SocketAddress, BoundSocket, connect, createConnection, createServer, isIP, isIPv4,
    isIPv6, Server, Socket, Stream, getDefaultAutoSelectFamily, setDefaultAutoSelectFamily,
    getDefaultAutoSelectFamilyAttemptTimeout, setDefaultAutoSelectFamilyAttemptTimeout`,
  repl: "start, writer, REPLServer, Recoverable, isValidSyntax",
  tls: `
    getCiphers, getCertificateCompressionAlgorithms, getCACertificates, setDefaultCACertificates,
    convertALPNProtocols, checkServerIdentity, createSecureContext, SecureContext, TLSSocket,
    Server, createServer, connect`,
  trace_events: "createTracing, getEnabledCategories",
  v8: `
    cachedDataVersionTag, getHeapSnapshot, getHeapStatistics, getHeapSpaceStatistics,
    getHeapCodeStatistics, getCppHeapStatistics, setFlagsFromString, Serializer, Deserializer,
    DefaultSerializer, DefaultDeserializer, deserialize, takeCoverage, stopCoverage, serialize,
    writeHeapSnapshot, queryObjects, setHeapSnapshotNearHeapLimit, setHeapProfileNearHeapLimit,
    GCProfiler, isStringOneByteRepresentation, startCpuProfile, startHeapProfile`,
  vm: `
    Script, createContext, createScript, runInContext, runInNewContext, runInThisContext, isContext,
    compileFunction, measureMemory`,
  wasi: "WASI",
  worker_threads: `
    MessagePort, MessageChannel, markAsUncloneable, markAsUntransferable, isMarkedAsUntransferable,
    moveMessagePortToContext, receiveMessageOnPort, postMessageToThread, Worker, BroadcastChannel,
    setEnvironmentData, getEnvironmentData`,
} as unknown as Readonly<Record<string, string>>;

/** Methods of HTTP, with spaces between them. */
export const METHODS =
  "ACL BIND CHECKOUT CONNECT COPY DELETE GET HEAD LINK LOCK M-SEARCH MERGE MKACTIVITY " +
  "MKCALENDAR MKCOL MOVE NOTIFY OPTIONS PATCH POST PROPFIND PROPPATCH PURGE PUT QUERY " +
  "REBIND REPORT SEARCH SOURCE SUBSCRIBE TRACE UNBIND UNLINK UNLOCK UNSUBSCRIBE";

const STATUSES =
  "100 Continue, 101 Switching Protocols, 102 Processing, 103 Early Hints, 200 OK, " +
  "201 Created, 202 Accepted, 203 Non-Authoritative Information, 204 No Content, " +
  "205 Reset Content, 206 Partial Content, 207 Multi-Status, 208 Already Reported, " +
  "226 IM Used, 300 Multiple Choices, 301 Moved Permanently, 302 Found, 303 See Other, " +
  "304 Not Modified, 305 Use Proxy, 307 Temporary Redirect, 308 Permanent Redirect, " +
  "400 Bad Request, 401 Unauthorized, 402 Payment Required, 403 Forbidden, " +
  "404 Not Found, 405 Method Not Allowed, 406 Not Acceptable, " +
  "407 Proxy Authentication Required, 408 Request Timeout, 409 Conflict, 410 Gone, " +
  "411 Length Required, 412 Precondition Failed, 413 Payload Too Large, " +
  "414 URI Too Long, 415 Unsupported Media Type, 416 Range Not Satisfiable, " +
  "417 Expectation Failed, 418 I'm a Teapot, 421 Misdirected Request, " +
  "422 Unprocessable Entity, 423 Locked, 424 Failed Dependency, 425 Too Early, " +
  "426 Upgrade Required, 428 Precondition Required, 429 Too Many Requests, " +
  "431 Request Header Fields Too Large, 451 Unavailable For Legal Reasons, " +
  "500 Internal Server Error, 501 Not Implemented, 502 Bad Gateway, " +
  "503 Service Unavailable, 504 Gateway Timeout, 505 HTTP Version Not Supported, " +
  "506 Variant Also Negotiates, 507 Insufficient Storage, 508 Loop Detected, " +
  "509 Bandwidth Limit Exceeded, 510 Not Extended, 511 Network Authentication Required";

/** Statuses of HTTP. */
export const STATUS_CODES = Object.fromEntries(
  STATUSES.split(", ").map((told) => [js.slice(told, 0, 3), js.slice(told, 4)]),
);

const DNS_NAMES =
  "NODATA FORMERR SERVFAIL NOTFOUND NOTIMP REFUSED BADQUERY BADNAME BADFAMILY BADRESP " +
  "CONNREFUSED TIMEOUT FILE NOMEM DESTRUCTION BADSTR BADFLAGS NONAME BADHINTS NOTINITIALIZED " +
  "LOADIPHLPAPI ADDRGETNETWORKPARAMS CANCELLED";

/** Errors of DNS. */
export const DNS_ERRORS = {
  EOF: "EOF",
  ...Object.fromEntries(DNS_NAMES.split(" ").map((name) => [name, `E${name}`])),
};

/** Defaults of TLS. */
export const TLS_DEFAULTS = {
  CLIENT_RENEG_LIMIT: 3,
  CLIENT_RENEG_WINDOW: 600,
  DEFAULT_CIPHERS:
    "TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES256-GCM-SHA384:DHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-SHA256:DHE-RSA-AES128-SHA256:ECDHE-RSA-AES256-SHA384:DHE-RSA-AES256-SHA384:ECDHE-RSA-AES256-SHA256:DHE-RSA-AES256-SHA256:HIGH:!aNULL:!eNULL:!EXPORT:!DES:!RC4:!MD5:!PSK:!SRP:!CAMELLIA",
  DEFAULT_ECDH_CURVE: "auto",
  DEFAULT_MIN_VERSION: "TLSv1.2",
  DEFAULT_MAX_VERSION: "TLSv1.3",
};
