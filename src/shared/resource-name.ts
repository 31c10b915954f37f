/** A resource's name as it is kept (contract, section 2): without blanks at its ends, NFC. */
export function toResourceName(text: string): string {
  return text.trim().normalize("NFC");
}

/** What moves the characters beside it, or is not seen anywhere: two names would look like one. */
const DECEIVING = /[\p{Bidi_Control}\u00ad\u200b\u2060\ufeff]/u;
/** What is not seen, but joins characters of some scripts and parts of emoji: none of ASCII. */
const HIDDEN_IN_ASCII = /(?:^|[\x20-\x7e])\p{Default_Ignorable_Code_Point}/u;

/** What is wrong with a name, in words that follow "expected"; null for a good one. */
export function findNameError(name: string): string | null {
  if (name === "") return "at least 1 character";
  if ([...name].length > 128) return "at most 128 characters";
  if (!name.isWellFormed()) return "well-formed Unicode";
  if (/\p{Cc}/u.test(name)) return "no control characters";
  if (DECEIVING.test(name) || HIDDEN_IN_ASCII.test(name)) return "no invisible characters";
  if (/[/\\?#%]/.test(name)) return "none of / \\ ? # %";
  return name === "." || name === ".." ? 'another name than "." and ".."' : null;
}
