/**
 * What tells the time beside timers, for an author's test: `Date`, and the parts of `Intl` and
 * `Temporal` that are asked for now.
 */

type Read = () => number;
type Format = (date?: unknown) => unknown;

/** Call before any code of the flow is loaded. @param read the time, in milliseconds since the epoch */
export function fakeClocks(read: Read): void {
  Object.defineProperty(globalThis, "Date", {
    value: fakeDate(read),
    writable: true,
    configurable: true,
  });
  fakeFormats(read);
  // Not every runtime has it.
  if ("Temporal" in globalThis) fakeNow(read);
}

function fakeDate(read: Read): DateConstructor {
  const RealDate = Date;
  RealDate.now = read;
  const fake = new Proxy(RealDate, {
    construct: (target, given: unknown[], made) =>
      Reflect.construct(target, given.length === 0 ? [read()] : given, made) as object,
    apply: () => new RealDate(read()).toString(),
  });
  RealDate.prototype.constructor = fake;
  return fake;
}

/** Without a date they say what time it is. */
function fakeFormats(read: Read): void {
  const { prototype } = Intl.DateTimeFormat;
  const { format, formatToParts } = Object.getOwnPropertyDescriptors(prototype);
  const getFormat = format.get as () => Format;
  const toParts = formatToParts.value as Format;
  Object.defineProperty(prototype, "format", {
    get(this: Intl.DateTimeFormat) {
      const real = Reflect.apply(getFormat, this, []);
      return (date?: unknown) => real(date === undefined ? read() : date);
    },
  });
  Object.defineProperty(prototype, "formatToParts", {
    value(this: Intl.DateTimeFormat, date?: unknown) {
      return Reflect.apply(toParts, this, [date === undefined ? read() : date]);
    },
  });
}

function fakeNow(read: Read): void {
  const { Now, Instant } = Temporal;
  const { timeZoneId } = Now;
  const instant = () => Instant.fromEpochMilliseconds(read());
  const zoned = (zone: Temporal.TimeZoneLike = timeZoneId()) => instant().toZonedDateTimeISO(zone);
  Object.assign(Now, {
    instant,
    zonedDateTimeISO: zoned,
    plainDateTimeISO: (zone?: Temporal.TimeZoneLike) => zoned(zone).toPlainDateTime(),
    plainDateISO: (zone?: Temporal.TimeZoneLike) => zoned(zone).toPlainDate(),
    plainTimeISO: (zone?: Temporal.TimeZoneLike) => zoned(zone).toPlainTime(),
  });
}
