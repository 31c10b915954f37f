/** What is known of a status of executions. */
interface StatusDescription {
  /** For people. */
  readonly label: string;
  /** The statuses that may follow it; none: it has ended, and never changes. */
  readonly next: readonly string[];
  /** Whether statistics and pages count it among failures. */
  readonly isFailure: boolean;
}

export const ENDINGS = [
  "ENDED_SUCCESS",
  "ENDED_ERROR",
  "ENDED_TIMEOUT",
  "ENDED_CANCELLED",
] as const;

/** Each status of an execution (contract, section 2; failures: section 7, number 6). */
export const STATUS = {
  PENDING: { label: "Waiting", next: ["RUNNING", ...ENDINGS], isFailure: false },
  /** One that was handed over and had not begun waits again. */
  RUNNING: { label: "Running", next: ["PENDING", ...ENDINGS], isFailure: false },
  ENDED_SUCCESS: { label: "Succeeded", next: [], isFailure: false },
  ENDED_ERROR: { label: "Failed", next: [], isFailure: true },
  ENDED_TIMEOUT: { label: "Timed out", next: [], isFailure: true },
  ENDED_CANCELLED: { label: "Cancelled", next: [], isFailure: false },
} as const satisfies Record<string, StatusDescription>;

export type Status = keyof typeof STATUS;

export type EndedStatus = (typeof ENDINGS)[number];

export const STATUSES = Object.keys(STATUS) as readonly Status[];

export const FAILURES: readonly Status[] = STATUSES.filter((status) => STATUS[status].isFailure);

export const UNENDED = STATUSES.filter((status) => !isEnded(status)) as readonly Exclude<
  Status,
  EndedStatus
>[];

export function isEnded(status: string): status is EndedStatus {
  return (ENDINGS as readonly string[]).includes(status);
}
