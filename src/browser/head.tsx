import type { Child } from "hono/jsx/dom";
import { ListLink } from "./list-link.tsx";
import { Said } from "./said.tsx";

/** The title of a page, with what is said of it and done with it, and the way to the list it is in. */
export function PageHead(props: {
  title: string;
  /** The segment of the list's path, and its name. */
  list?: readonly [path: string, name: string];
  children?: Child;
}) {
  const { title, list, children } = props;
  return (
    <>
      {list === undefined ? null : (
        <p class="way">
          <ListLink list={list[0]}>{list[1]}</ListLink>
        </p>
      )}
      <div class="head">
        <h1>
          <Said text={title} />
        </h1>
        {children}
      </div>
    </>
  );
}

/** A link that looks like a button, as it begins something. */
export function ButtonLink(props: { style?: string; to: string; children: Child }) {
  return (
    <a class={`button ${props.style ?? ""}`} href={props.to}>
      {props.children}
    </a>
  );
}
