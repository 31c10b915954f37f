import {
  String,
  TypeError,
  defineProperty,
  getOwnPropertyDescriptor,
  ownKeys,
} from "../shared/intrinsics.ts";

/**
 * The methods and texts of an object cannot be replaced for all who inherit them, but each may
 * have its own in their place: `error.name = ...` goes on.
 */
export function pin(holder: object): void {
  const names = ownKeys(holder);
  for (let at = 0; at < names.length; at += 1) {
    const name = names[at] as PropertyKey;
    const { value, writable } = getOwnPropertyDescriptor(holder, name) ?? {};
    if (writable !== true || (typeof value !== "function" && typeof value !== "string")) continue;
    const set = function (this: object, own: unknown): void {
      if (this === holder) throw new TypeError(`Cannot replace "${String(name)}" for all`);
      defineProperty(this, name, {
        value: own,
        writable: true,
        enumerable: true,
        configurable: true,
      });
    };
    defineProperty(holder, name, { get: () => value, set, configurable: false });
  }
}
