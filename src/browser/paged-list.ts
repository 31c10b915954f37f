import { read, type List } from "./api.ts";
import { need } from "./element.ts";
import { complain } from "./notice.ts";

interface PagedListOptions<Item> {
  /** Holds `tbody`, `.empty`, `.older`, `.newer`. */
  readonly container: HTMLElement;
  readonly path: readonly string[];
  query(): Record<string, string | undefined>;
  row(item: Item): HTMLElement;
  /** After a page is shown. */
  shown?(items: readonly Item[]): void;
}

export interface PagedList {
  /** From the first page on. */
  reload(): Promise<void>;
  readonly tbody: HTMLElement;
  isFirstPage(): boolean;
  showEmpty(): void;
}

/** A list that the server pages: the browser never holds more than one page of it. */
export function openPagedList<Item>(options: PagedListOptions<Item>): PagedList {
  const { container } = options;
  const tbody = need("tbody", HTMLElement, container);
  const empty = need(".empty", HTMLElement, container);
  const older = need(".older", HTMLButtonElement, container);
  const newer = need(".newer", HTMLButtonElement, container);
  let before: (string | undefined)[] = [];
  let current: string | undefined;
  let next: string | null = null;
  let reading: AbortController | undefined;

  async function load(): Promise<void> {
    reading?.abort();
    const mine = (reading = new AbortController());
    container.setAttribute("aria-busy", "true");
    const query = { limit: "50", ...options.query(), cursor: current };
    const page = await read<List<Item>>(options.path, query, mine.signal);
    next = page.next_cursor;
    tbody.replaceChildren(...page.items.map((item) => options.row(item)));
    older.disabled = next === null;
    newer.disabled = before.length === 0;
    older.parentElement?.toggleAttribute("hidden", next === null && before.length === 0);
    showEmpty();
    container.removeAttribute("aria-busy");
    options.shown?.(page.items);
  }

  function showEmpty(): void {
    const isEmpty = tbody.childElementCount === 0;
    empty.hidden = !isEmpty;
    tbody.closest("table")?.toggleAttribute("hidden", isEmpty);
  }

  function turn(): void {
    load().catch((error: unknown) => {
      if (!(error instanceof DOMException)) complain(error);
    });
    scrollTo({ top: 0 });
  }

  older.addEventListener("click", () => {
    if (next === null) return;
    before.push(current);
    current = next;
    turn();
  });
  newer.addEventListener("click", () => {
    current = before.pop();
    turn();
  });
  return {
    tbody,
    isFirstPage: () => before.length === 0,
    showEmpty,
    async reload() {
      before = [];
      current = undefined;
      await load().catch((error: unknown) => {
        if (!(error instanceof DOMException)) throw error;
      });
    },
  };
}
