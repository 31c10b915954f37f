/**
 * The known word that a misspelt one was meant to be, or null where none is near. Case does not
 * count; up to a third of the letters may be wrong.
 */
export function nearestWord(word: string, known: readonly string[]): string | null {
  const limit = Math.max(2, Math.floor(word.length / 3));
  let best: { word: string; distance: number } | null = null;
  for (const candidate of known) {
    // Long words are far from short ones, and would take long.
    if (Math.abs(word.length - candidate.length) > limit) continue;
    const distance = editDistance(word.toUpperCase(), candidate.toUpperCase());
    if (distance <= limit && (best === null || distance < best.distance)) {
      best = { word: candidate, distance };
    }
  }
  return best?.word ?? null;
}

/** What to say of a word that is not known: the nearest that is, and all of them. */
export function describeUnknown(word: string, known: readonly string[]): string {
  const nearest = nearestWord(word, known);
  const hint = nearest === null ? "" : `: did you mean "${nearest}"?`;
  return `unknown${hint || "."} Known: ${known.join(", ") || "none"}`;
}

/** Levenshtein's distance: insertions, deletions and replacements from one text to the other. */
export function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = row[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[to.length]!;
}
