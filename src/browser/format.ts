const NUMBER = new Intl.NumberFormat();

export function number(value: number): string {
  return NUMBER.format(value);
}

/** A duration as people read it: `12 ms`, `1.4 s`, `3 min 5 s`, `2 h 5 min`, `5 d 3 h`. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return "–";
  if (ms < 1) return `${ms === 0 ? "0" : ms.toFixed(1)} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 9950) return `${(ms / 1000).toFixed(1)} s`;
  // Rounded before it is divided: 119.6 s are 2 min, and not 1 min 60 s.
  const sec = Math.round(ms / 1000);
  if (sec < 60) return `${sec} s`;
  if (sec < 3600) return `${Math.floor(sec / 60)} min ${sec % 60} s`;
  const hours = Math.floor(sec / 3600);
  if (hours < 24) return `${hours} h ${Math.floor((sec % 3600) / 60)} min`;
  return `${number(Math.floor(hours / 24))} d ${hours % 24} h`;
}

/** Milliseconds between two times; null where one is not there yet. */
export function between(from: string | null, to: string | null): number | null {
  return from === null || to === null ? null : Date.parse(to) - Date.parse(from);
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${number(count)} ${count === 1 ? one : many}`;
}

/** A size as people read it: `512 B`, `1.4 MB`; of 1024 each. */
export function size(bytes: number | null): string {
  if (bytes === null) return "–";
  const units = ["B", "kB", "MB", "GB", "TB"];
  const at = bytes < 1 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), units.length - 1);
  const value = bytes / 1024 ** at;
  return `${value.toFixed(at > 0 && value < 10 ? 1 : 0)} ${units[at]}`;
}

/** A part of a whole: `0%`, `< 0.1%`, `0.4%`, `44%`; only the whole is `100%`. */
export function percent(part: number, whole: number): string {
  if (whole === 0) return "–";
  const share = (100 * part) / whole;
  if (share > 0 && share < 0.05) return "< 0.1%";
  if (part < whole && share >= 99.5) return "> 99%";
  return `${share > 0 && share < 9.95 ? share.toFixed(1) : Math.round(share)}%`;
}
