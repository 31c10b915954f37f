/**
 * A header whose name is somebody's choice, as it was sent; undefined where it was not: what every
 * object has, as `constructor`, is none.
 */
export function findHeader<Value>(
  headers: Readonly<Record<string, Value>>,
  name: string,
): Value | undefined {
  return Object.hasOwn(headers, name) ? headers[name] : undefined;
}
