import { resolve } from "node:path";
import { readConfiguration } from "./configuration.ts";
import { findProgram } from "./own-program.ts";

/** Time beyond SHUTDOWN_GRACE_SEC for the answers under way and the last commit, in seconds. */
const CLOSING_SEC = 15;

const CONFIG_FILE = "/etc/flowhook/flowhook.yaml";

/**
 * Prints a unit for systemd 247 and later: what layer 5 of the sandbox consists of.
 *
 * @throws CommandFailure where it cannot tell how the service is started; nothing is printed then
 */
export function printUnit(options: { config?: string }): void {
  const grace = readConfiguration(options).config.SHUTDOWN_GRACE_SEC;
  const file = resolve(options.config ?? CONFIG_FILE);
  const start = [...findProgram(), "serve", "--config", file];
  process.stdout.write(unit(start.map(quote).join(" "), Math.ceil(grace) + CLOSING_SEC));
}

/** Quoting and specifiers of systemd.service(5): `%` and `$` would be expanded. */
function quote(word: string): string {
  const plain = word.replaceAll("%", "%%").replaceAll("$", "$$$$");
  return /^[\w./:@%$=-]+$/.test(plain)
    ? plain
    : `"${plain.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

function unit(start: string, stop_sec: number): string {
  return `${INTRODUCTION}
[Service]
Type=exec
ExecStart=${start}
Restart=on-failure
RestartSec=2
# Wrong usage and wrong configuration do not mend themselves.
RestartPreventExitStatus=2 78
# SIGTERM goes to the server, which ends its runners; what is left is killed after
# SHUTDOWN_GRACE_SEC and some time to close.
KillMode=mixed
TimeoutStopSec=${stop_sec}
LimitNOFILE=65536
# A runner that the kernel ends for its memory is replaced; the server goes on.
OOMPolicy=continue

${OWNERSHIP}
${HARDENING}
[Install]
WantedBy=multi-user.target
`;
}

const INTRODUCTION = `# /etc/systemd/system/flowhook.service
#
#   sudo flowhook systemd | sudo tee /etc/systemd/system/flowhook.service
#   sudo systemctl daemon-reload && sudo systemctl enable --now flowhook
#
# The program must lie where the service sees it: not below /home, /root or /tmp.

[Unit]
Description=Flowhook: inbound REST endpoints that start executions of flows
Wants=network-online.target
After=network-online.target
`;

const OWNERSHIP = `# A user of its own, who owns /var/lib/flowhook (data) and nothing else. Flows and
# configuration in /etc/flowhook are read only.
DynamicUser=yes
StateDirectory=flowhook
StateDirectoryMode=0700
ConfigurationDirectory=flowhook
WorkingDirectory=%S/flowhook
Environment=FLOWHOOK_DATA_DIR=%S/flowhook/data
Environment=FLOWHOOK_PLUGINS_DIR=%E/flowhook/plugins
# The first password of "admin" from a file that only root reads, instead of one in the journal:
#LoadCredential=admin-password:/etc/flowhook/admin-password
#Environment=FLOWHOOK_ADMIN_PASSWORD_FILE=%d/admin-password
# A port below 1024:
#AmbientCapabilities=CAP_NET_BIND_SERVICE
#CapabilityBoundingSet=CAP_NET_BIND_SERVICE
# What flows may write (ALLOW_WRITE):
#ReadWritePaths=/srv/reports
`;

const HARDENING = `UMask=0077
NoNewPrivileges=yes
CapabilityBoundingSet=
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
