/** Elements are made here and filled with text nodes: what comes from callers stays text. */

export type Child = Node | string | null;

type Attributes = Readonly<Record<string, string | number | boolean | null | undefined>>;

export function el<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined)
      element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** A button that acts on this page. */
export function button(label: string, style: string, act: () => unknown): HTMLButtonElement {
  const made = el("button", { type: "button", class: style }, label);
  made.addEventListener("click", () => void act());
  return made;
}

/**
 * The element that a page's shell promises.
 *
 * @throws Error where the shell and its module disagree
 */
export function need<Type extends HTMLElement>(
  selector: string,
  type: new () => Type,
  within: ParentNode = document,
): Type {
  const found = within.querySelector(selector);
  if (found instanceof type) return found;
  throw new Error(`The page has no ${type.name} at "${selector}"`);
}

export function find(selector: string, within: ParentNode = document): HTMLElement | null {
  const found = within.querySelector(selector);
  return found instanceof HTMLElement ? found : null;
}
