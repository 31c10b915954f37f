/** @jsxRuntime automatic @jsxImportSource hono/jsx */
import type { Child } from "hono/jsx";

/** A list that is paged by the server; the page's module fills its rows. */
export function PagedList(props: {
  id: string;
  caption: string;
  /** A column that starts with `-` is left out on narrow screens. */
  columns: readonly string[];
  empty: Child;
}) {
  const { id, caption, columns, empty } = props;
  return (
    <div id={id} class="list">
      <div class="scroll" role="region" aria-label={caption} tabindex={0}>
        <table hidden>
          <caption class="hidden-text">{caption}</caption>
          <thead>
            <tr>
              {columns.map((column) => (
                <th scope="col" class={column.startsWith("-") ? "wide" : ""}>
                  {column.replace(/^-/, "")}
                </th>
              ))}
            </tr>
          </thead>
          <tbody></tbody>
        </table>
      </div>
      <div class="empty" hidden>
        {empty}
      </div>
      <div class="paging" hidden>
        <button type="button" class="quiet newer" disabled>
          Back
        </button>
        <button type="button" class="quiet older" disabled>
          Next
        </button>
      </div>
    </div>
  );
}
