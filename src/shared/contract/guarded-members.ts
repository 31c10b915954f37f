/** The members of a webhook that only its authentication endpoint changes (section 2.1, rule 1). */
export const GUARDED = ["is_enabled", "require_login", "key", "signature", "allowed_addresses"];

export function isGuarded(member: string): boolean {
  return GUARDED.includes(member);
}

interface Need {
  readonly member: string;
  /** Whether a value of it is what is needed. */
  readonly isMet: (given: unknown) => boolean;
}

/** What members can need a guarded one for, by their paths. */
const NEEDED: Readonly<Record<string, Need>> = {
  "idempotency.from": { member: "signature", isMet: isEnforced },
  "limits.rate.by": { member: "require_login", isMet: (given) => given === true },
};

function isEnforced(signature: unknown): boolean {
  if (typeof signature !== "object" || signature === null) return false;
  return !("mode" in signature) || signature.mode === "enforce";
}

/**
 * The guarded members without which those that were refused may not be set; none where what is given
 * of them would not do.
 */
export function findNeeded(
  refused: readonly string[],
  given: Readonly<Record<string, unknown>>,
): string[] {
  const needs = Object.entries(NEEDED).filter(([path]) => refused.includes(path));
  const isMet = needs.every(([, need]) => need.isMet(given[need.member]));
  return isMet ? needs.map(([, { member }]) => member) : [];
}

/** What to say of one in a webhook that is created; null of any other member. */
export function describeGuarded(member: string): string | null {
  if (!isGuarded(member)) return null;
  return (
    "a webhook is created disabled, with a random key; then change it with " +
    "PUT /api/latest/webhook/{name}/authentication, which asks for your password again"
  );
}
