import type { Child } from "hono/jsx/dom";
import { Said } from "./said.tsx";

/** A column of a list. */
export type Column<Item> = readonly [
  /** Empty above what is done with an item. */
  label: string,
  cell: (item: Item) => Child,
  /**
   * `head`: the row is named by it; `wide`: left out on narrow screens; `figure`: a number; `address`:
   * of a caller; `acts`: what is done with the item.
   */
  style?: string,
];

export interface TableProps<Item> {
  readonly caption: string;
  readonly style?: string;
  readonly columns: readonly Column<Item>[];
  readonly items: readonly Item[];
  /** What tells the rows apart where they change, and how one looks. */
  readonly rowOf?: (item: Item) => { readonly id: string; readonly style?: string };
}

/** A table that scrolls by itself where it is too wide, with the keyboard too. */
export function Table<Item>({ caption, style, columns, items, rowOf }: TableProps<Item>) {
  return (
    <div class="scroll" role="region" aria-label={caption} tabindex={0}>
      <table class={style}>
        <caption class="hidden-text">{caption}</caption>
        <thead>
          <tr>{columns.map(([label, , style]) => toHead(label, style))}</tr>
        </thead>
        <tbody>
          {items.map((item, at) => {
            const { id, style: rowStyle } = rowOf?.(item) ?? { id: String(at) };
            return (
              <tr key={id} data-id={id} class={rowStyle}>
                {columns.map((column) => toCell(column, item))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function toHead(label: string, style: string | undefined) {
  if (label === "") return <td></td>;
  return (
    <th scope="col" class={style?.includes("wide") === true ? "wide" : ""}>
      {label}
    </th>
  );
}

function toCell<Item>([, cell, style = ""]: Column<Item>, item: Item) {
  const content = shown(cell(item));
  if (!style.startsWith("head")) return <td class={style}>{content}</td>;
  return (
    <th scope="row" class={style.slice("head ".length)}>
      {content}
    </th>
  );
}

/** Plain texts may come from outside. */
function shown(content: Child): Child {
  return typeof content === "string" ? <Said text={content} /> : content;
}

/** The name of an item, which leads to its page if it has one, and a line about it. */
export function NamedCell(props: { name: string; path?: string; note?: string | null }) {
  const { name, path, note } = props;
  return (
    <>
      {path === undefined ? (
        <Said text={name} />
      ) : (
        <a href={path}>
          <Said text={name} />
        </a>
      )}
      {note ? (
        <p class="soft line">
          <Said text={note} />
        </p>
      ) : null}
    </>
  );
}

/** In place of a list without items. */
export function Empty({ title, children }: { title: string; children: Child }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      <p>{children}</p>
    </div>
  );
}

/** Names and what they stand for. */
export function Pairs({ of }: { of: readonly (readonly [name: Child, value: Child])[] }) {
  return (
    <dl class="pairs">
      {of.map(([name, value]) => (
        <>
          <dt>{shown(name)}</dt>
          <dd>{shown(value)}</dd>
        </>
      ))}
    </dl>
  );
}
