/**
 * A number that JavaScript would round or write in another way: an identifier of 20 digits, 1.0.
 * It is shown and copied as it came.
 */
export class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toJSON(): unknown {
    return Reflect.has(JSON, "rawJSON")
      ? (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(this.text)
      : Number(this.text);
  }
}

/**
 * JSON without the loss of digits, where the runtime tells the source of a number. Names are as
 * JSON.parse reads them, which of V8 are not always those that are written: see parse-exactly.ts.
 *
 * @throws SyntaxError
 */
export function parseDigits(text: string): unknown {
  const revive = (_: string, value: unknown, context?: { source?: string }): unknown => {
    if (typeof value !== "number" || context?.source === undefined) return value;
    return String(value) === context.source ? value : new ExactNumber(context.source);
  };
  return JSON.parse(text, revive);
}
