/** Fails with a long message of two lines, which acts on a terminal. */
export default function throws(): never {
  throw new Error(`two\nlines \u001b[31m ${"x".repeat(400)}`);
}
