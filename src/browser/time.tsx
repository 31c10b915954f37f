import type { Child } from "hono/jsx/dom";
import { now } from "../shared/clock.ts";
import { duration } from "./format.ts";
import { useNow } from "./now.ts";

/**
 * Times are those of the browser's zone, which is named with each: the API, the command line and
 * JSON have them in UTC. Hours count to 24 in every language.
 */
const CLOCK = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium", hourCycle: "h23" });
const ZONE = new Intl.DateTimeFormat("en-GB", { timeZoneName: "shortOffset" });
const DAY = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });
const DAY_OF_YEAR = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const WHOLE_DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "full" });

/** A moment to the second, with the date where that is another day: `16:50:31 GMT-5`. */
export function Time({ of }: { of: string | null | undefined }) {
  if (!of) return <span class="soft">never</span>;
  const at = new Date(of);
  return toTime(at, `${dayBefore(at)}${CLOCK.format(at)} ${zoneOf(at)}`);
}

/** The same to the millisecond: `16:50:31.123 GMT-5`. */
export function ExactTime({ of }: { of: string }) {
  const at = new Date(of);
  return toTime(at, dayBefore(at) + clockOf(at));
}

/** To the millisecond, without a date: for what stands below each other, as in a log. */
export function Clock({ of }: { of: string }) {
  const at = new Date(of);
  return toTime(at, clockOf(at));
}

/** In a list, how long ago it was; a moment as `Time` has it where that is a day or more. */
export function TimeAgo({ of }: { of: string }) {
  const at = new Date(of);
  const ago = toAgo(useNow(AGO_MS) - at.getTime());
  return ago === null ? <Time of={of} /> : toTime(at, ago);
}

/** What has passed since a moment, as it passes; a clock that is behind shows nothing below zero. */
export function Elapsed({ since }: { since: string }) {
  return duration(Math.max(0, useNow(SECOND_MS) - Date.parse(since)));
}

/** The time zone of all times of a page: `Europe/Berlin, GMT+1`. */
export function zoneName(at: string): string {
  return `${CLOCK.resolvedOptions().timeZone}, ${zoneOf(new Date(at))}`;
}

/** How often a time in a list is told again. */
const AGO_MS = 10_000;
const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** Null: a day or more. */
function toAgo(ms: number): string | null {
  if (ms < AGO_MS) return "just now";
  if (ms < MINUTE_MS) return `${Math.floor(ms / SECOND_MS)} s ago`;
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min ago`;
  return ms < 24 * HOUR_MS ? `${Math.floor(ms / HOUR_MS)} h ago` : null;
}

function toTime(at: Date, text: Child) {
  const iso = at.toISOString();
  const title = `${WHOLE_DAY.format(at)}, ${clockOf(at)} (${iso})`;
  return (
    <time datetime={iso} title={title}>
      {text}
    </time>
  );
}

function clockOf(at: Date): string {
  return `${CLOCK.format(at)}.${String(at.getMilliseconds()).padStart(3, "0")} ${zoneOf(at)}`;
}

/** As an offset from UTC, which changes with daylight saving: `GMT-5`. */
function zoneOf(at: Date): string {
  return ZONE.formatToParts(at).find(({ type }) => type === "timeZoneName")?.value ?? "";
}

function dayBefore(at: Date): string {
  const today = new Date(now());
  if (at.toDateString() === today.toDateString()) return "";
  const day = at.getFullYear() === today.getFullYear() ? DAY : DAY_OF_YEAR;
  return `${day.format(at)}, `;
}
