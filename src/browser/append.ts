import { render, type Child } from "hono/jsx/dom";

/** Puts an element at the end of another one that the page has, and gives it. */
export function append(parent: HTMLElement, child: Child): HTMLElement {
  const fragment = new DocumentFragment();
  render(child, fragment);
  const element = fragment.firstElementChild;
  if (!(element instanceof HTMLElement)) throw new Error("Expected one element");
  parent.append(fragment);
  return element;
}

/**
 * The element that the page's shell promises.
 *
 * @throws Error where the shell and its module disagree
 */
export function need(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`The page has no element "${id}"`);
  return found;
}
