/**
 * What a JSON pointer leads to (RFC 6901) in a JSON text.
 *
 * @returns undefined where there is nothing
 */
export function readPointer(text: string, pointer: string): unknown {
  const names = pointer.split("/").slice(1).map(unescape);
  let value: unknown = JSON.parse(text.startsWith("\uFEFF") ? text.slice(1) : text);
  for (const name of names) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name))
      return undefined;
    if (Array.isArray(value) && !/^(?:0|[1-9]\d*)$/.test(name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

function unescape(name: string): string {
  return name.replaceAll("~1", "/").replaceAll("~0", "~");
}
