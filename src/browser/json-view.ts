import { copyButton } from "./copy.ts";
import { button, el } from "./element.ts";
import { plural } from "./format.ts";
import { ExactNumber } from "./json-exact.ts";
import { searchJson, type JsonPath } from "./json-search.ts";

/** Members that are shown at once; the rest follows on request, so that a large value opens fast. */
const MEMBERS_AT_ONCE = 100;

/** Levels that are open at first, as long as they are short. */
const OPEN_LEVELS = 2;
const OPEN_MEMBERS = 20;

/** A JSON value that can be folded, searched and copied; its texts are text. */
export function jsonView(value: unknown, label: string, title: string | null = null): HTMLElement {
  const tree = el("div", { class: "json", tabindex: 0, role: "group", "aria-label": label });
  const root = nodeOf(value, null, 0);
  tree.append(root.element);
  const isNested = isBranch(value);
  const tools = el("div", { class: "json-tools" }, title === null ? null : el("h2", {}, title));
  if (isNested) tools.append(...searchTools(value, root, label));
  tools.append(copyButton("Copy", () => JSON.stringify(value, null, 2) ?? "null"));
  return el("div", { class: "json-frame" }, tools, tree);
}

/** One value of the tree; its members are made when it is opened for the first time. */
interface JsonNode {
  readonly element: HTMLElement;
  open(): void;
  /** Makes the member if need be. */
  member(name: string): JsonNode | undefined;
}

function nodeOf(value: unknown, name: string | null, level: number): JsonNode {
  const title = name === null ? null : el("span", { class: "json-name" }, name);
  if (!isBranch(value)) {
    const element = el("div", { class: "json-leaf" }, title, leafOf(value));
    return { element, open() {}, member: () => undefined };
  }
  return branchOf(value, title, level);
}

function isBranch(value: unknown): value is object {
  const isValue = typeof value !== "object" || value === null || value instanceof ExactNumber;
  return !isValue && Object.keys(value).length > 0;
}

function leafOf(value: unknown): HTMLElement {
  if (value instanceof ExactNumber) return el("span", { class: "json-number" }, value.text);
  if (typeof value === "object" && value !== null)
    return el("span", { class: "json-empty" }, Array.isArray(value) ? "[ ]" : "{ }");
  const kind = value === null ? "null" : typeof value;
  const text = typeof value === "string" ? JSON.stringify(value) : String(value);
  return el("span", { class: `json-${kind}` }, text);
}

function branchOf(value: object, title: HTMLElement | null, level: number): JsonNode {
  const names = Object.keys(value);
  const isList = Array.isArray(value);
  const size = isList
    ? `[ ${plural(names.length, "item")} ]`
    : `{ ${plural(names.length, "member")} }`;
  const summary = el("summary", {}, title, el("span", { class: "json-size" }, size));
  const content = el("div", { class: "json-members" });
  const element = el("details", {}, summary, content);
  const made = new Map<string, JsonNode>();
  let shown = 0;

  function grow(until: number): void {
    content.querySelector(":scope > .json-more")?.remove();
    for (; shown < Math.min(until, names.length); shown += 1) {
      const name = names[shown] ?? "";
      const node = nodeOf(Reflect.get(value, name), name, level + 1);
      made.set(name, node);
      content.append(node.element);
    }
    if (shown === names.length) return;
    const more = `${plural(names.length - shown, "more", "more")}`;
    content.append(button(more, "quiet json-more", () => grow(shown + MEMBERS_AT_ONCE)));
  }

  function open(): void {
    element.open = true;
    if (shown === 0) grow(MEMBERS_AT_ONCE);
  }

  element.addEventListener("toggle", () => {
    if (element.open) open();
  });
  if (level < OPEN_LEVELS && names.length <= OPEN_MEMBERS) open();
  return {
    element,
    open,
    member(name) {
      open();
      if (!made.has(name)) grow(names.indexOf(name) + 1);
      return made.get(name);
    },
  };
}

function searchTools(value: object, root: JsonNode, label: string): HTMLElement[] {
  const input = el("input", {
    type: "search",
    placeholder: "Search",
    "aria-label": `Search ${label}`,
  });
  const count = el("span", { class: "soft", role: "status" });
  let found: readonly JsonPath[] = [];
  let at = -1;

  function show(by: number): void {
    if (found.length === 0) return;
    at = (at + by + found.length) % found.length;
    count.textContent = `${at + 1} of ${found.length}`;
    reveal(root, found[at] ?? []);
  }

  input.addEventListener("input", () => {
    found = searchJson(value, input.value);
    at = -1;
    unmark(root.element);
    count.textContent = input.value === "" ? "" : "Not found";
    show(1);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") show(event.shiftKey ? -1 : 1);
  });
  return [input, button("Next", "quiet small", () => show(1)), count];
}

/** Opens the way to a value and marks it. */
function reveal(root: JsonNode, path: JsonPath): void {
  let node = root;
  for (const name of path) node = node.member(name) ?? node;
  unmark(root.element);
  node.element.classList.add("json-found");
  node.element.scrollIntoView({ block: "nearest" });
}

function unmark(tree: HTMLElement): void {
  for (const marked of tree.querySelectorAll(".json-found")) marked.classList.remove("json-found");
}
