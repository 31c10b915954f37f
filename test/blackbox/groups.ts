import type { Group } from "./scenario.ts";
import { ALLOWANCE, DEVELOPMENT, QUEUE } from "./scenarios/admission.ts";
import { BODIES } from "./scenarios/bodies.ts";
import { CANCEL, NO_CANCEL } from "./scenarios/cancel.ts";
import { CONNECTOR, CONNECTOR_TIMEOUT } from "./scenarios/connector.ts";
import { CORS } from "./scenarios/cors.ts";
import { DIRECT, DOORS } from "./scenarios/doors.ts";
import { EARLIER } from "./scenarios/earlier.ts";
import { HOLD } from "./scenarios/hold.ts";
import { IDEMPOTENT } from "./scenarios/idempotency.ts";
import { INPUT } from "./scenarios/input.ts";
import { INPUT_CHECK } from "./scenarios/input-check.ts";
import { KEYS } from "./scenarios/keys.ts";
import { LEGS } from "./scenarios/legs.ts";
import { LIMITS } from "./scenarios/limits.ts";
import { LOGINS, NO_LOGIN_REDIRECT } from "./scenarios/logins.ts";
import { EARLIER_MODES, MODES } from "./scenarios/modes.ts";
import { PREFIX } from "./scenarios/prefix.ts";
import { RE_ENTRIES } from "./scenarios/re-entries.ts";
import { NO_RESPONSE_SANDBOX, RESPONSES } from "./scenarios/responses.ts";
import { SIGNATURES } from "./scenarios/signatures.ts";
import { REFUSED } from "./scenarios/refused.ts";
import { TARGETS } from "./scenarios/targets.ts";

/**
 * Services in the order in which they start, each with the groups that have it one after the other:
 * they want the same configuration. The one that does little but wait comes first, so that the others
 * run meanwhile.
 */
export const SERVICES: readonly (readonly [Group, ...Group[]])[] = [
  [CONNECTOR_TIMEOUT],
  [INPUT, TARGETS, SIGNATURES, DIRECT, REFUSED, IDEMPOTENT, INPUT_CHECK, LOGINS, CONNECTOR],
  [CORS, LEGS],
  [BODIES],
  [KEYS],
  [DOORS],
  [LIMITS],
  [NO_LOGIN_REDIRECT],
  [RE_ENTRIES],
  [HOLD],
  [EARLIER, EARLIER_MODES],
  [MODES],
  [RESPONSES],
  [NO_RESPONSE_SANDBOX],
  [CANCEL],
  [NO_CANCEL],
  [QUEUE],
  [ALLOWANCE],
  [DEVELOPMENT],
  [PREFIX],
];

export const GROUPS: readonly Group[] = SERVICES.flat();
