import { nearestWord } from "../../shared/nearest.ts";
import { CONFIG_KEYS, type ConfigKey } from "./schema.ts";

/**
 * The key that an unknown one was meant to be: the nearest by its letters, also without the prefix of
 * a variable; else the shortest that has its words.
 */
export function nearestKey(given: string): ConfigKey | null {
  const name = given.replace(/^FLOWHOOK_/i, "");
  const nearest = nearestWord(name, CONFIG_KEYS) as ConfigKey | null;
  if (nearest !== null) return nearest;
  const words = name.toUpperCase().split(/[^A-Z]+/);
  const having = CONFIG_KEYS.filter((key) => words.every((word) => key.split("_").includes(word)));
  return having.toSorted((a, b) => a.length - b.length)[0] ?? null;
}
