/** Looks at texts that others have made and that are passed on as JSON. */

/** Whether a text is JSON (RFC 8259), one value and nothing after it. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
