import type { Child } from "hono/jsx/dom";

export interface TableProps {
  readonly caption: string;
  /** One that starts with `-` is left out on narrow screens; one without a name has acts. */
  readonly columns: readonly string[];
  /** Its rows. */
  readonly children: Child;
}

/** A table that scrolls by itself where it is too wide, with the keyboard too. */
export function Table({ caption, columns, children }: TableProps) {
  return (
    <div class="scroll" role="region" aria-label={caption} tabindex={0}>
      <table>
        <caption class="hidden-text">{caption}</caption>
        <thead>
          <tr>{columns.map(toHead)}</tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

function toHead(column: string) {
  const name = column.replace(/^-/, "");
  const style = column.startsWith("-") ? "wide" : "";
  if (name === "") return <td class={style}></td>;
  return (
    <th scope="col" class={style}>
      {name}
    </th>
  );
}

/** Names and what they stand for. */
export function Pairs({ of }: { of: readonly (readonly [name: string, value: Child])[] }) {
  return (
    <dl class="pairs">
      {of.map(([name, value]) => (
        <>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </>
      ))}
    </dl>
  );
}
