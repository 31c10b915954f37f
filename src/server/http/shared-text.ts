/** A text beyond this length, in UTF-16 units, takes tens of milliseconds of the HTTP loop to make. */
const LARGE = 256 * 1024;
const KEPT_MS = 1000;

/**
 * A text that anybody may ask for as often as they like: whoever asks while it is made gets the
 * same one, and a large one is made once a second at most.
 *
 * @param clock milliseconds
 */
export function shareText(
  make: () => Promise<string>,
  clock: () => number = () => performance.now(),
): () => Promise<string> {
  let making: Promise<string> | null = null;
  let kept: { readonly text: string; readonly until: number } | null = null;

  async function makeOne(): Promise<string> {
    try {
      const text = await make();
      kept = text.length > LARGE ? { text, until: clock() + KEPT_MS } : null;
      return text;
    } finally {
      making = null;
    }
  }

  return async () => {
    if (kept !== null && clock() < kept.until) return kept.text;
    return (making ??= makeOne());
  };
}
