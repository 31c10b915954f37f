/** What the doctor looked at, and what it found there. */
export interface Finding {
  readonly subject:
    | "configuration"
    | "folders"
    | "space"
    | "clock"
    | "certificate"
    | "service"
    | "proxy"
    | "database"
    | "key"
    | "sandbox"
    | "flows";
  /** `warning`: it works, and will or may not; `skipped`: there is nothing to look at, or no way. */
  readonly state: "ok" | "warning" | "error" | "skipped";
  readonly message: string;
  /** What to do about it; null where there is nothing to do. */
  readonly action: string | null;
}

/** Finding of one subject, by their states. */
export interface Reporter {
  ok(message: string): Finding;
  skipped(message: string, action?: string): Finding;
  warning(message: string, action: string): Finding;
  error(message: string, action: string): Finding;
}

export function reportOn(subject: Finding["subject"]): Reporter {
  return {
    ok: (message) => ({ subject, state: "ok", message, action: null }),
    skipped: (message, action) => ({ subject, state: "skipped", message, action: action ?? null }),
    warning: (message, action) => ({ subject, state: "warning", message, action }),
    error: (message, action) => ({ subject, state: "error", message, action }),
  };
}

/** Milliseconds in the unit that people would say. */
export function describeMs(ms: number): string {
  const units = [
    [86_400_000, "days"],
    [3_600_000, "hours"],
    [60_000, "minutes"],
  ] as const;
  const [size, unit] = units.find(([least]) => ms >= 2 * least) ?? [1000, "seconds"];
  return `${Math.round(ms / size)} ${unit}`;
}

export function describeBytes(bytes: number): string {
  return bytes >= 2 ** 30
    ? `${(bytes / 2 ** 30).toFixed(1)} GB`
    : `${Math.ceil(bytes / 2 ** 20)} MB`;
}
