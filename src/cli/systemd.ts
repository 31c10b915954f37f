import { dirname, resolve } from "node:path";
import { existsSync } from "node:fs";
import { requireOwnFolders } from "../server/config/data-folder.ts";
import { loadConfig, type Loaded } from "../server/config/load.ts";
import { databaseFile, type Config } from "../server/config/resolve.ts";
import { quotePath } from "../server/config/unwritable.ts";
import { findProgram } from "./own-program.ts";

/** Time beyond what SHUTDOWN_* give, for the answers under way and the last commit, in seconds. */
const CLOSING_SEC = 15;

export const CONFIG_FILE = "/etc/flowhook/flowhook.yaml";

/**
 * Prints a unit for systemd 247 and later: what layer 5 of the sandbox consists of. It sets no
 * key of the configuration, so that commands with the same --config work on the same data.
 *
 * @throws CommandError where it cannot tell how the service is started; nothing is printed then
 * @throws ConfigError where the folders of the data hold what is somebody else's
 */
export function printUnit(options: { config?: string; user?: string }): void {
  const file = resolve(options.config ?? CONFIG_FILE);
  const loaded = load(file, options.config !== undefined);
  requireOwnFolders(loaded);
  const text = INTRODUCTION + makeUnit(findProgram(), file, loaded, options.user ?? null);
  // Without a file yet the unit is for the one that its first lines make.
  if (loaded.file !== null)
    for (const warning of warningsOf(loaded.file, loaded.config))
      process.stderr.write(`${warning}\n`);
  process.stdout.write(text);
}

/**
 * The unit without the words before it.
 *
 * @param program how this program is started
 * @param user who the service is; null: a user that systemd makes, as far as the folders allow
 */
export function makeUnit(
  program: readonly string[],
  file: string,
  loaded: Pick<Loaded, "config" | "file">,
  user: string | null,
): string {
  const start = [...program, "serve", "--config", file];
  return unit(start.map(quoteStart).join(" "), loaded, user);
}

/** As the service will read it: without this shell's environment and folder. */
function load(file: string, isGiven: boolean): Loaded {
  const cwd = dirname(file);
  return loadConfig({ env: {}, cwd, ...(isGiven || existsSync(file) ? { file } : {}) });
}

function warningsOf(file: string, config: Config): string[] {
  const { DATA_DIR } = config;
  const hidden = warnOfHidden(file, config);
  if (stateOf(DATA_DIR) !== null) return hidden;
  return [
    ...hidden,
    `DATA_DIR "${DATA_DIR}" lies outside of /var/lib: make the user and the folder as the unit ` +
      `says, or put DATA_DIR: /var/lib/flowhook/data into "${file}" and print the unit again`,
  ];
}

/** Of each path of the configuration that the hardened service does not see. */
export function warnOfHidden(file: string, config: Config): string[] {
  const { DATA_DIR, PLUGINS_DIR, TLS_CERT_FILE, TLS_KEY_FILE, ALLOW_READ, ALLOW_WRITE } = config;
  const files = [file, DATA_DIR, databaseFile(config), PLUGINS_DIR, TLS_CERT_FILE, TLS_KEY_FILE];
  return [...new Set([...files, ...ALLOW_READ, ...ALLOW_WRITE])]
    .filter((path) => path !== null && /^\/(home|root|run\/user|tmp|var\/tmp)(\/|$)/.test(path))
    .map(
      (path) => `The service will not see "${path}": systemd hides /home, /root and /tmp from it`,
    );
}

/** In the line of a command variables are expanded as well: systemd.service(5). */
function quoteStart(word: string): string {
  return quote(word.replaceAll("$", "$$$$"));
}

/** Quoting and specifiers of systemd.unit(5): `%` would be expanded. */
function quote(word: string): string {
  const plain = word.replaceAll("%", "%%");
  return /^[\w./:@%$=-]+$/.test(plain)
    ? plain
    : `"${plain.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

function unit(
  start: string,
  { config, file }: Pick<Loaded, "config" | "file">,
  user: string | null,
): string {
  return `[Unit]
Description=Flowhook: inbound REST endpoints that start executions of flows
Wants=network-online.target
After=network-online.target

[Service]
Type=exec
ExecStart=${start}
Restart=on-failure
RestartSec=2
# Wrong usage and wrong configuration do not mend themselves.
RestartPreventExitStatus=2 78
# SIGTERM goes to the server, which ends its runners; what is left is killed after
# SHUTDOWN_DELAY_SEC, SHUTDOWN_GRACE_SEC and some time to close.
KillMode=mixed
TimeoutStopSec=${Math.ceil(config.SHUTDOWN_DELAY_SEC + config.SHUTDOWN_GRACE_SEC) + CLOSING_SEC}
LimitNOFILE=65536
# A runner that the kernel ends for its memory is replaced; the server goes on.
OOMPolicy=continue

${ownership(config, file !== null, user)}
${HARDENING}
[Install]
WantedBy=multi-user.target
`;
}

const INTRODUCTION = `# /etc/systemd/system/flowhook.service
#
#   sudo mkdir -p /etc/flowhook/plugins
#   echo 'DATA_DIR: /var/lib/flowhook/data' | sudo tee /etc/flowhook/flowhook.yaml
#   sudo flowhook systemd | sudo tee /etc/systemd/system/flowhook.service
#   sudo systemctl daemon-reload && sudo systemctl enable --now flowhook
#
# The program must lie where the service sees it: not below /home, /root or /tmp. This unit
# follows the configuration, and sets none of its keys: print it again after a change of DATA_DIR,
# DATABASE_URL, ALLOW_WRITE, LISTEN_PORT or SHUTDOWN_*. Beside it:
#
#   sudo flowhook user password admin --config /etc/flowhook/flowhook.yaml

`;

/** Who the service is, what it owns and what it may write. */
function ownership(config: Config, isConfigured: boolean, user: string | null): string {
  const database = databaseFile(config);
  const folders = [config.DATA_DIR, ...(database === null ? [] : [dirname(database)])];
  const states = isConfigured ? folders.map(stateOf) : ["flowhook"];
  const outside = folders.filter((folder) => isConfigured && stateOf(folder) === null);
  const owner = user === null ? ownerOf(states, outside) : installedUser(user, states);
  const writable = [...new Set([...outside, ...config.ALLOW_WRITE])];
  return [
    owner,
    // One that is not there yet would keep the service from starting, without a word of its own.
    ...writable.map((path) => `ReadWritePaths=${quote(`-${path}`)}\n`),
    '# The first password of "admin" from a file that only root reads, instead of one in the journal:\n',
    "#LoadCredential=admin-password:/etc/flowhook/admin-password\n",
    "#Environment=FLOWHOOK_ADMIN_PASSWORD_FILE=%d/admin-password\n",
    capabilities(config.LISTEN_PORT),
  ].join("");
}

/** The first folder below /var/lib, which systemd makes and gives to the service. */
function stateOf(folder: string): string | null {
  return /^\/var\/lib\/(?!private\/)([^/]+)/.exec(folder)?.[1] ?? null;
}

function ownerOf(states: readonly (string | null)[], outside: readonly string[]): string {
  return outside.length === 0 ? dynamicUser(states) : namedUser(outside);
}

/** The user of `flowhook install`, who stays the same. */
function installedUser(user: string, states: readonly (string | null)[]): string {
  const names = [...new Set(states.filter((state) => state !== null))].map(quote);
  const state =
    names.length === 0 ? "" : `StateDirectory=${names.join(" ")}\nStateDirectoryMode=0700\n`;
  return `User=${quote(user)}\nGroup=${quote(user)}\n${state}WorkingDirectory=/\n`;
}

function dynamicUser(states: readonly (string | null)[]): string {
  const [first, ...more] = [...new Set(states.filter((state) => state !== null))];
  const names = [first, ...more].map((name) => quote(name ?? "flowhook")).join(" ");
  return `# A user of its own, who owns its folder in /var/lib (data) and nothing else. Flows and
# configuration are read only.
DynamicUser=yes
StateDirectory=${names}
StateDirectoryMode=0700
ConfigurationDirectory=flowhook
# A path of one line, without quotes.
WorkingDirectory=%S/${(first ?? "flowhook").replaceAll("%", "%%")}
`;
}

/** What lies elsewhere needs an owner who stays the same. */
function namedUser(folders: readonly string[]): string {
  const words = [...new Set(folders)].map(quotePath).join(" ");
  return `# The data lies outside of /var/lib: it needs a user who stays the same.
#   sudo useradd --system --no-create-home --shell /usr/sbin/nologin flowhook
#   sudo install -d -m 700 -o flowhook -g flowhook ${words}
User=flowhook
Group=flowhook
WorkingDirectory=/
`;
}

/** A port below 1024 is for those who may. */
function capabilities(port: number): string {
  const few = "CAP_NET_BIND_SERVICE";
  return port > 0 && port < 1024
    ? `# For LISTEN_PORT ${port}.\nAmbientCapabilities=${few}\nCapabilityBoundingSet=${few}\n`
    : "CapabilityBoundingSet=\n";
}

const HARDENING = `UMask=0077
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
ProtectClock=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectControlGroups=yes
ProtectProc=invisible
# Not ProcSubset=pid: the runtime reads /proc/meminfo and /proc/sys.
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
LockPersonality=yes
RemoveIPC=yes
KeyringMode=private
SystemCallArchitectures=native
# @pkey: the runtime protects the memory of its compiler with protection keys. The last line
# answers the rest with EPERM, which the runtime takes for "not here", instead of a kill.
SystemCallFilter=@system-service @pkey
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM
# Off, because the runtime compiles JavaScript to machine code at run time: memory that was
# written becomes executable.
MemoryDenyWriteExecute=no
`;
