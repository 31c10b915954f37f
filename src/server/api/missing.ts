import { RequestError } from "../../shared/errors.ts";
import { isId } from "../../shared/id.ts";
import { nearestWord } from "../../shared/nearest.ts";

/** What to say of a name that nothing has. */

/** Names that are compared with it. */
export const MOST_NAMES = 500;

/**
 * Names of what is listed, to tell the nearest; none where the list is refused: then it is told all the
 * same that nothing has the name.
 */
export async function namesOf(list: Promise<readonly { name: string }[]>): Promise<string[]> {
  const rows = await list.catch((error: unknown) => {
    if (error instanceof RequestError) return [];
    throw error;
  });
  return rows.map(({ name }) => name);
}

/** @param known names of what there is, as far as whoever asks may see them */
export function missing(type: string, name: string, known: readonly string[]): RequestError {
  return new RequestError("not_found", `There is no ${describeMissing(type, name, known)}`);
}

/** In words that follow "there is no". */
export function describeMissing(type: string, name: string, known: readonly string[]): string {
  const nearest = nearestWord(name, known);
  if (nearest !== null) return `${type} "${name}"; did you mean "${nearest}"?`;
  return isId(name)
    ? `${type} "${name}"; it is found by its name, not by an id`
    : `${type} "${name}"`;
}
