import { RequestError } from "../../shared/errors.ts";
import type { Reading } from "./reading.ts";

/** Lists of one user that are under way: read, or next to be read. */
const MOST = 4;

/** Those beyond wait for a place: so many, and so long. Short lists that come together all pass. */
const MOST_WAITING = 32;
const PATIENCE_MS = 2000;

interface Places {
  taken: number;
  readonly waiting: Set<() => void>;
}

/** How many lists a user asks for at the same time. */
export class ReadPlaces {
  readonly #ofUser = new Map<string, Places>();

  /** Resolves when there is a place. @throws RequestError too_many_requests */
  async enter({ user_id, signal }: Reading): Promise<void> {
    if (signal.aborted) throw gone();
    const places = this.#of(user_id);
    if (places.taken < MOST) places.taken += 1;
    else await wait(places.waiting, signal);
  }

  leave({ user_id }: Reading): void {
    const places = this.#of(user_id);
    const next = places.waiting.values().next().value;
    // The place goes over to whoever waits for it.
    if (next !== undefined) return next();
    places.taken -= 1;
    if (places.taken === 0) this.#ofUser.delete(user_id);
  }

  #of(user_id: string): Places {
    const found = this.#ofUser.get(user_id) ?? { taken: 0, waiting: new Set() };
    this.#ofUser.set(user_id, found);
    return found;
  }
}

/** @throws RequestError too_many_requests */
function wait(waiting: Places["waiting"], signal: AbortSignal): Promise<void> {
  if (waiting.size >= MOST_WAITING) return Promise.reject(tooMany());
  return new Promise((resolve, reject) => {
    const end = (tell: () => void): void => {
      waiting.delete(enter);
      clearTimeout(patience);
      signal.removeEventListener("abort", leave);
      tell();
    };
    const enter = (): void => end(resolve);
    const leave = (): void => end(() => reject(gone()));
    const patience = setTimeout(() => end(() => reject(tooMany())), PATIENCE_MS);
    signal.addEventListener("abort", leave);
    waiting.add(enter);
  });
}

function tooMany(): RequestError {
  return new RequestError(
    "too_many_requests",
    `You ask for ${MOST} lists already. Wait for one of them`,
    { headers: { "retry-after": "1" } },
  );
}

/** Nobody reads this. */
export function gone(): RequestError {
  return new RequestError("overloaded", "Nobody waits for the list any more");
}
