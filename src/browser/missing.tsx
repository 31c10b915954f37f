import { PageHead } from "./head.tsx";
import { pagePath } from "./page.ts";
import { Said } from "./said.tsx";

/** What a page is about, to be said where it is not there. */
export interface Subject {
  /** `webhook`. */
  readonly noun: string;
  /** As the address has it. */
  readonly name: string;
  /** Why it may not be there any more. */
  readonly reason: string;
  /** The segment of the path of the list that it would be in, and the name of that. */
  readonly list: readonly [path: string, name: string];
}

export function titleOfMissing({ noun }: Subject): string {
  return `This ${noun} is not here`;
}

/** In place of the page of what is not there, or not for the visitor. */
export function Missing({ of }: { of: Subject }) {
  const { noun, name, reason, list } = of;
  const [path, title] = list;
  return (
    <>
      <PageHead title={titleOfMissing(of)} list={list} />
      <p>
        There is no {noun}{" "}
        <q>
          <Said text={name} />
        </q>{" "}
        that your roles show. {reason}
      </p>
      <p>
        <a href={pagePath(path)}>All {title.toLowerCase()}</a>
      </p>
    </>
  );
}
