import * as js from "../shared/intrinsics.ts";

/**
 * The methods and texts of an object cannot be replaced for all who inherit them, but each may
 * have its own in their place: `error.name = ...` goes on.
 */
export function pin(holder: object, names: readonly PropertyKey[] = js.ownKeys(holder)): void {
  js.each(names, (name) => {
    const found = js.getOwnPropertyDescriptor(holder, name);
    if (found?.writable !== true || found.configurable !== true) return;
    const { value } = found as { readonly value: unknown };
    if (typeof value !== "function" && typeof value !== "string") return;
    const get = (): unknown => value;
    // By this, packages see that it stands for a plain member (get-intrinsic, as SES has it).
    js.defineProperty(get, "originalValue", { __proto__: null, value } as PropertyDescriptor);
    const set = function (this: object, own: unknown): void {
      if (this === holder) throw new js.TypeError(`Cannot replace "${js.String(name)}" for all`);
      giveOwn(this, name, own);
    };
    const pinned = { __proto__: null, get, set, configurable: false };
    js.defineProperty(holder, name, pinned as PropertyDescriptor);
  });
}

/** As an assignment does where nothing is inherited, whatever a flow has made all objects inherit. */
function giveOwn(object: object, name: PropertyKey, value: unknown): void {
  const own = { __proto__: null, value, writable: true, enumerable: true, configurable: true };
  js.defineProperty(object, name, own as PropertyDescriptor);
}
