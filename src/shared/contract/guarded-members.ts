/** The members of a webhook that only its authentication endpoint changes (section 2.1, rule 1). */
export const GUARDED = ["is_enabled", "require_login", "key", "signature", "allowed_addresses"];

export function isGuarded(member: string): boolean {
  return GUARDED.includes(member);
}

/** Members that others can need a guarded one for, by their paths. */
const NEEDED: Readonly<Record<string, string>> = {
  "idempotency.from": "signature",
  "limits.rate.by": "require_login",
};

/** The guarded members without which those that were refused may not be set. */
export function findNeeded(refused: readonly string[]): string[] {
  return refused.flatMap((path) => (Object.hasOwn(NEEDED, path) ? [NEEDED[path] ?? ""] : []));
}

/** What to say of one in a webhook that is created; null of any other member. */
export function describeGuarded(member: string): string | null {
  if (!isGuarded(member)) return null;
  return (
    "a webhook is created disabled, with a random key; then change it with " +
    "PUT /api/latest/webhook/{name}/authentication, which asks for your password again"
  );
}
