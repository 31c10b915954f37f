import type { Log } from "../../shared/log.ts";
import type { FlowSpec, ThreadLimits } from "../../shared/wire/protocol.ts";
import type { Reach } from "./spawn.ts";

/** What the rest of the server knows of runner processes. */

/** The flow that its author looks at with a debugger. */
export interface DebuggedFlow {
  readonly flow: string;
  /** On loopback. */
  readonly port: number;
}

export interface RunnersOptions {
  /** Absolute path of the runner's entry file. */
  readonly runner: string;
  /** Absolute path of the thread entry. */
  readonly thread: string;
  /** Absolute path of the module that `import "flowhook"` means. */
  readonly author: string;
  /** Folders that every thread must be able to read. */
  readonly readable: readonly string[];
  /** Where the permissions are the process's and not a thread's, as under Deno: of all flows together. */
  readonly reach: Reach;
  /** Variables of the runner's process, beside its own; threads have none. */
  readonly environment: Readonly<Record<string, string>>;
  /** Resident memory above which a runner takes no more runs; a quarter more ends it. */
  readonly runnerMemoryMb: number;
  readonly limits: ThreadLimits;
  readonly debug?: DebuggedFlow;
  /** Where the threads' socket is made, a folder of this service's alone; null: runners forward. */
  readonly sockets: string | null;
  /** Longest import of a flow by an inspection; 10 s. */
  readonly inspect_ms?: number;
  /** Longest silence of a runner that has something to do; 10 s. */
  readonly silenceMs?: number;
  /** How long after the latest run or inspection a warm spare is kept; 30 s. */
  readonly spareMs?: number;
  readonly log: Log;
  /** LOG_MESSAGES: whether the log may hold texts of flows. */
  readonly hasMessages: boolean;
  /**
   * Before a runner starts: whether its program was changed, and is put right again.
   * @throws Error where it cannot be put right
   */
  verifyProgram(): boolean;
}

/** Who keeps the files of flow versions. */
export interface VersionKeeper {
  /**
   * Before a runner has its first run of a version.
   * @throws Error where the version's files were changed
   */
  verify(spec: FlowSpec): void;
  /** A flow version took runners down three times in ten minutes. */
  markBroken(key: string, message: string): void;
}

export interface RunnerStatus {
  readonly pid: number;
  readonly rss_bytes: number;
  readonly threads: number;
  readonly running: number;
}
