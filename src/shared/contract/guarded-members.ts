/** The members of a webhook that only its authentication endpoint changes (section 2.1, rule 1). */
export const GUARDED = ["is_enabled", "require_login", "key", "signature", "allowed_addresses"];

export function isGuarded(member: string): boolean {
  return GUARDED.includes(member);
}
