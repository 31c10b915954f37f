import type { Child } from "hono/jsx/dom";

/** Figures side by side, each with its name. */
export function Tiles({ children }: { children: Child }) {
  return <dl class="tiles">{children}</dl>;
}

/** A figure; `more` is a line about it. */
export function Tile({ name, more, children }: { name: string; more?: Child; children: Child }) {
  return (
    <div class="tile">
      <dt>{name}</dt>
      <dd>
        {children}
        {more === undefined ? null : <small>{more}</small>}
      </dd>
    </div>
  );
}
