import { now } from "../../shared/clock.ts";
import { RequestError } from "../../shared/errors.ts";
import { newId } from "../../shared/id.ts";
import type { Store } from "../store/store.ts";
import { isPassing, StoreError } from "../store/store-error.ts";
import {
  confirmLogin,
  findUser,
  findUserByName,
  LOGIN_VOID,
  rolesOfUser,
  type UserRow,
} from "../store/people.ts";
import {
  deleteToken,
  findTokenByHash,
  findTokenById,
  insertToken,
  touchToken,
  type TokenRow,
} from "../store/tokens.ts";
import type { Activity } from "./activity.ts";
import { generateToken, hashKey } from "./api-key.ts";
import { openFailureReport, type FailureReportOptions } from "./failed-login.ts";
import type { Lockout } from "./lockout.ts";
import { networkOf } from "./network.ts";
import { newUnmatchedHash, requireTurn, verifyPassword, type PasswordOwner } from "./password.ts";
import type { Grant } from "../../shared/contract/permission.ts";

/** A user who has shown a valid login token. */
export interface Principal {
  readonly user_id: string;
  readonly user_name: string;
  readonly email: string;
  /** Names of roles. */
  readonly roles: readonly string[];
  readonly grants: readonly Grant[];
  readonly tokenId: string;
  /** Of the client that has shown it last. */
  readonly address: string;
}

export interface NewLogin {
  readonly token: string;
  /** Milliseconds since the epoch. */
  readonly expires_at: number;
  readonly principal: Principal;
}

/** Login tokens: opaque, stored as SHA-256, valid for LOGIN_TOKEN_TTL_SEC. */
export interface Logins {
  /**
   * Null for an unknown user, a wrong password or a disabled user; all take the same time.
   *
   * @param isWanted whether somebody still waits for it when its turn comes; unless told, yes
   * @throws RequestError too_many_attempts
   */
  login(
    user_name: string,
    password: string,
    from: string,
    isWanted?: () => boolean,
  ): Promise<NewLogin | null>;
  /** Null for a token that is unknown or has expired, or whose user is disabled. */
  authenticate(token: string, from: string): Promise<Principal | null>;
  /** The same user with what they may now; null once the token or the user is not valid any more. */
  renew(principal: Principal): Promise<Principal | null>;
  /**
   * Whether this is the principal's own password.
   *
   * @throws RequestError too_many_attempts
   */
  checkPassword(principal: Principal, password: string): Promise<boolean>;
  logout(tokenId: string): Promise<void>;
}

export interface LoginOptions extends FailureReportOptions {
  readonly store: Store;
  readonly lockout: Lockout;
  readonly activity: Activity;
  readonly ttlMs: number;
}

/** How often the last use of a token is written. */
const TOUCH_INTERVAL_MS = 60_000;

export function openLogins(options: LoginOptions): Logins {
  const { store, lockout } = options;
  const reportFailure = openFailureReport(options);
  // Compared with where there is no such user, so that the time does not tell.
  const nobody = newUnmatchedHash();

  async function check(
    user: UserRow | undefined,
    password: string,
    owner: PasswordOwner,
  ): Promise<UserRow | null> {
    const right = await verifyPassword(password, user?.password_hash ?? nobody, owner);
    return user !== undefined && right && user.is_enabled === 1 ? user : null;
  }

  return {
    async login(user_name, password, from, isWanted = () => true) {
      const owner = { client: networkOf(from), isWanted, isLoggedIn: false };
      // Before it counts as an attempt: whoever is turned away has not failed.
      requireTurn(owner);
      const named = await findUserByName(store, user_name);
      const attempt = { subject: subjectOf(user_name, named), address: from };
      const user = await lockout.guard(
        attempt,
        () => check(named, password, owner),
        (locked) => reportFailure("Login failed", { user: named, address: from, locked }),
      );
      return user === null ? null : create(options, user, from);
    },
    async authenticate(token, from) {
      const row = await findTokenByHash(store, hashKey(token));
      const user = await admit(store, row);
      if (row === undefined || user === null) return null;
      await touch(store, row, from);
      return toPrincipal(store, user, { tokenId: row.id, address: from });
    },
    async renew({ tokenId, address }) {
      const user = await admit(store, await findTokenById(store, tokenId));
      return user === null ? null : toPrincipal(store, user, { tokenId, address });
    },
    async checkPassword(principal, password) {
      const { address, user_id } = principal;
      // Not by the name: that may be another user's by now.
      const user = await findUser(store, user_id);
      const subject = subjectOf(principal.user_name, user);
      // A login token is one attacker, from wherever it is used.
      const attempt = { subject, address: `token of ${user_id}` };
      const owner = { client: user_id, isWanted: () => true, isLoggedIn: true };
      requireTurn(owner);
      const own = await lockout.guard(
        attempt,
        () => check(user, password, owner),
        (locked) => reportFailure("Own password was wrong", { user, address, locked }),
      );
      return own !== null;
    },
    async logout(tokenId) {
      await store.commit([deleteToken(store, tokenId)]);
    },
  };
}

/** This password of this user: failures with one that was replaced lock nobody out any more. */
function subjectOf(name: string, user: UserRow | undefined): string {
  return `${name}\n${user?.password_hash ?? ""}`;
}

/** Null where the user was changed while the password was checked: it may be the old one. */
async function create(
  { store, activity, ttlMs }: Pick<LoginOptions, "store" | "activity" | "ttlMs">,
  user: UserRow,
  from: string,
): Promise<NewLogin | null> {
  const token = generateToken();
  const at = now();
  const row: TokenRow = {
    id: newId(),
    user_id: user.id,
    hash: hashKey(token),
    created_at: at,
    expires_at: at + ttlMs,
    last_used_at: at,
    last_used_from: from,
  };
  try {
    await store.commit([confirmLogin(store, user, at), insertToken(store, row)]);
  } catch (error) {
    if (error instanceof StoreError && error.code === LOGIN_VOID) return null;
    throw error;
  }
  await activity.report(user.id);
  const shown = { tokenId: row.id, address: from };
  return { token, expires_at: row.expires_at, principal: await toPrincipal(store, user, shown) };
}

/** Null where the token has expired, or its user is disabled. */
async function admit(store: Store, row: TokenRow | undefined): Promise<UserRow | null> {
  if (row === undefined || row.expires_at <= now()) return null;
  const user = await findUser(store, row.user_id);
  return user !== undefined && user.is_enabled === 1 ? user : null;
}

async function touch(store: Store, row: TokenRow, from: string): Promise<void> {
  const at = now();
  if (at - (row.last_used_at ?? 0) < TOUCH_INTERVAL_MS) return;
  const used = { last_used_at: at, last_used_from: from };
  await store.commit([touchToken(store, row.id, used)]).catch((error: unknown) => {
    // Who may read does so while nothing can be written.
    if (!isPassing(error)) throw error;
  });
}

async function toPrincipal(
  store: Store,
  user: UserRow,
  shown: Pick<Principal, "tokenId" | "address">,
): Promise<Principal> {
  const roles = await rolesOfUser(store, user.id);
  return {
    user_id: user.id,
    user_name: user.name,
    email: user.email,
    roles: roles.map((role) => role.name),
    grants: roles.flatMap((role) => toGrants(role.permissions)),
    ...shown,
  };
}

/** The stored permissions of a role. */
export function toGrants(permissions: string): readonly Grant[] {
  return JSON.parse(permissions) as Grant[];
}

/**
 * @param member of the body, that the password is
 * @throws RequestError wrong_password, the same for a missing one.
 */
export async function requirePassword(
  logins: Logins,
  principal: Principal,
  password: unknown,
  member = "password",
): Promise<void> {
  if (typeof password === "string" && (await logins.checkPassword(principal, password))) return;
  throw new RequestError(
    "wrong_password",
    `This change needs your own password again, as the member "${member}". It was missing or wrong`,
  );
}
