export function quartiles(values: readonly number[]): [number, number, number] {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (part: number) => {
    const place = part * (sorted.length - 1);
    const [below = Number.NaN, above = below] = sorted.slice(Math.floor(place));
    return below + (above - below) * (place - Math.floor(place));
  };
  return [at(0.25), at(0.5), at(0.75)];
}

/** Of those that are known; NaN if none is. */
export function median(values: readonly (number | null)[]): number {
  return quartiles(values.filter((value) => value !== null))[1];
}
