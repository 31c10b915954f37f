import { el } from "./element.ts";

/**
 * Times are those of the browser's zone, which is named with each: the API, the command line and
 * JSON have them in UTC. Hours count to 24 in every language.
 */
const CLOCK = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium", hourCycle: "h23" });
const ZONE = new Intl.DateTimeFormat("en-GB", { timeZoneName: "shortOffset" });
const DAY = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });
const DAY_OF_YEAR = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const WHOLE_DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "full" });
const NUMBER = new Intl.NumberFormat();

/** A moment to the second, with the date where that is another day: `16:50:31 GMT-5`. */
export function time(iso: string | null | undefined): HTMLElement {
  if (!iso) return el("span", { class: "soft" }, "never");
  const at = new Date(iso);
  return timeOf(at, `${dayBefore(at)}${CLOCK.format(at)} ${zoneOf(at)}`);
}

/** The same to the millisecond: `16:50:31.123 GMT-5`. */
export function exactTime(iso: string): HTMLElement {
  const at = new Date(iso);
  return timeOf(at, dayBefore(at) + clockOf(at));
}

/** To the millisecond, without a date: for what stands below each other, as in a log. */
export function clock(iso: string): HTMLElement {
  const at = new Date(iso);
  return timeOf(at, clockOf(at));
}

function timeOf(at: Date, text: string): HTMLElement {
  const iso = at.toISOString();
  const title = `${WHOLE_DAY.format(at)}, ${clockOf(at)} (${iso})`;
  return el("time", { datetime: iso, title }, text);
}

function clockOf(at: Date): string {
  return `${CLOCK.format(at)}.${String(at.getMilliseconds()).padStart(3, "0")} ${zoneOf(at)}`;
}

/** As an offset from UTC, which changes with daylight saving: `GMT-5`. */
function zoneOf(at: Date): string {
  return ZONE.formatToParts(at).find(({ type }) => type === "timeZoneName")?.value ?? "";
}

function dayBefore(at: Date): string {
  const today = new Date();
  if (at.toDateString() === today.toDateString()) return "";
  const day = at.getFullYear() === today.getFullYear() ? DAY : DAY_OF_YEAR;
  return `${day.format(at)}, `;
}

export function number(value: number): string {
  return NUMBER.format(value);
}

/** A duration as people read it: `12 ms`, `1.4 s`, `3 min 5 s`. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return "–";
  if (ms < 1) return `${ms === 0 ? "0" : ms.toFixed(1)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

/** Milliseconds between two times; null where one is not there yet. */
export function between(from: string | null, to: string | null): number | null {
  return from === null || to === null ? null : Date.parse(to) - Date.parse(from);
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${number(count)} ${count === 1 ? one : many}`;
}
