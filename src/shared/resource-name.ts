import { hasUnseen } from "./unseen.ts";

/** A resource's name as it is kept (contract, section 2): without blanks at its ends, NFC. */
export function toResourceName(text: string): string {
  return text.trim().normalize("NFC");
}

/** What is wrong with a name, in words that follow "expected"; null for a good one. */
export function findNameError(name: string): string | null {
  if (name === "") return "at least 1 character";
  if ([...name].length > 128) return "at most 128 characters";
  if (!name.isWellFormed()) return "well-formed Unicode";
  if (/\p{Cc}/u.test(name)) return "no control characters";
  if (hasUnseen(name)) return "no invisible characters";
  if (/[/\\?#%]/.test(name)) return "none of / \\ ? # %";
  return name === "." || name === ".." ? 'another name than "." and ".."' : null;
}
