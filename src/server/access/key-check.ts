import { StartError } from "../../shared/errors.ts";
import { findKeyCheck, insertKeyCheck } from "../store/key-check.ts";
import { allSecrets } from "../store/workspace.ts";
import type { Unit } from "../store/statement.ts";
import type { Store } from "../store/store.ts";
import {
  keyFileOf,
  nameOfKey,
  openDataKey,
  readDataKey,
  sign,
  type DataKey,
  type KeyPlace,
} from "./data-key.ts";
import { listUnreadable, openSecretBox } from "./secret-box.ts";

/** The data key of a service, and what it leaves in a store that others use too. */
export interface CheckedKey {
  readonly key: DataKey;
  /** Tells the services that come later which key it is; empty where the store knows. */
  readonly unit: Unit;
}

/**
 * The data key, the same for all services on one database. One is made only where the store was
 * never filled with another: one of an earlier version has secrets, and no check.
 *
 * @throws StartError where it is not that of the store
 */
export async function openCheckedKey(store: Store, place: KeyPlace): Promise<CheckedKey> {
  if (store.shared === null) return { key: openDataKey(place), unit: [] };
  const hmac = await findKeyCheck(store);
  if (hmac === undefined) {
    await refuseOther(store, place);
    const key = openDataKey(place);
    return { key, unit: [insertKeyCheck(store, toCheck(key))] };
  }
  const key = readDataKey(place);
  if (key !== null && toCheck(key) === hmac) return { key, unit: [] };
  throw new StartError(explain(place, key !== null), 78);
}

/** One that opens a secret is the right one, whatever became of the others. */
async function refuseOther(store: Store, place: KeyPlace): Promise<void> {
  const secrets = await allSecrets(store);
  const key = readDataKey(place);
  const box = key === null ? null : openSecretBox(key.derive("secrets"));
  const closed = box === null ? secrets : listUnreadable(box, secrets);
  if (secrets.length > 0 && closed.length === secrets.length)
    throw new StartError(explain(place, key !== null), 78);
}

/** What a store keeps of its key. */
export function toCheck(key: DataKey): string {
  return sign(key.derive("check"), "key_check");
}

function explain(place: KeyPlace, isThere: boolean): string {
  const found = isThere
    ? `Found another data key (${nameOfKey(place)}) than the one`
    : "Found no data key, expected the one";
  const file = keyFileOf(place);
  const action =
    nameOfKey(place) === "DATA_KEY"
      ? "Set DATA_KEY to the key of the other nodes"
      : `Copy secret.key of another node to "${file}", or set DATA_KEY on all of them`;
  return `${found} that the database was filled with: its secrets would stay closed. ${action}`;
}
