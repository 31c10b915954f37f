/** A resource's name as it is kept (contract, section 2): without blanks at its ends, NFC. */
export function toResourceName(text: string): string {
  return text.trim().normalize("NFC");
}

/** What moves the characters beside it, or is not seen: two names would look like one. */
const DECEIVING = /[\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\u2800]/u;
/** Of those what shapes the letters between which it stands, and what emoji are made with. */
const SHAPING = [
  /(?<=[\p{scx=Arab}\p{scx=Deva}\p{scx=Beng}\p{scx=Gujr}\p{scx=Taml}])[\u200c\u200d](?=\p{L})/gu,
  /(?<=[\p{scx=Telu}\p{scx=Knda}\p{scx=Mlym}\p{scx=Sinh}])[\u200c\u200d](?=\p{L})/gu,
  /(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d(?=\p{Extended_Pictographic})/gu,
  /(?<=\p{Extended_Pictographic})\ufe0f|\ufe0f(?=\u20e3)/gu,
];

/** What is wrong with a name, in words that follow "expected"; null for a good one. */
export function findNameError(name: string): string | null {
  if (name === "") return "at least 1 character";
  if ([...name].length > 128) return "at most 128 characters";
  if (!name.isWellFormed()) return "well-formed Unicode";
  if (/\p{Cc}/u.test(name)) return "no control characters";
  if (DECEIVING.test(withoutShaping(name))) return "no invisible characters";
  if (/[/\\?#%]/.test(name)) return "none of / \\ ? # %";
  return name === "." || name === ".." ? 'another name than "." and ".."' : null;
}

function withoutShaping(name: string): string {
  return SHAPING.reduce((text, one) => text.replaceAll(one, ""), name);
}
