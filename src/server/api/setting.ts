import { listOf } from "../../shared/contract/list.ts";
import { NEW_SETTING, SETTING, SETTING_CHANGE } from "../../shared/contract/setting.ts";
import * as v from "valibot";
import { now, toIso } from "../../shared/clock.ts";
import { RequestError } from "../../shared/errors.ts";
import { MAX_SETTING_BYTES } from "../../shared/wire/protocol.ts";
import {
  deleteNamed,
  findSetting,
  insertSetting,
  listSettings,
  updateNamed,
  type SettingRow,
} from "../store/workspace.ts";
import type { Api } from "./api.ts";
import { toJsonText } from "./json-body.ts";
import { commitNamed, invalid, nextTime, requireMatch, toEtag } from "./named.ts";
import { fromCursor, PAGE_QUERY, toPage } from "./page.ts";
import { defineRoute } from "./route.ts";

/** JSON text of a setting: its value is put in unparsed, so that no number loses digits. */
function toText(row: SettingRow): string {
  const { name, value } = row;
  const stamps = { created_at: toIso(row.created_at), modified_at: toIso(row.modified_at) };
  return `{"name":${JSON.stringify(name)},"value":${value},${JSON.stringify(stamps).slice(1)}`;
}

/** @throws RequestError invalid */
function toValue(given: unknown): string {
  const value = toJsonText(given);
  const bytes = Buffer.byteLength(value);
  if (bytes > MAX_SETTING_BYTES)
    throw invalid("value", `expected at most ${MAX_SETTING_BYTES} bytes of JSON, found ${bytes}`);
  return value;
}

async function requireSetting(api: Api, name: string): Promise<SettingRow> {
  const row = await findSetting(api.store, name.normalize("NFC"));
  if (row === undefined) throw new RequestError("not_found", `There is no setting "${name}"`);
  return row;
}

export const getSettings = defineRoute({
  method: "GET",
  path: "/setting",
  summary: "List settings by name",
  needs: "setting.read",
  query: v.strictObject({ ...PAGE_QUERY }),
  answer: listOf(SETTING),
  async act(api, { query }) {
    const { rows, hasMore } = await listSettings(api.store, {
      after: fromCursor(query.cursor),
      limit: query.limit,
      descending: query.order === "desc",
    });
    const page = toPage(rows, query.limit, (row) => row.name, hasMore);
    const items = page.rows.map(toText).join();
    const text = `{"items":[${items}],"next_cursor":${JSON.stringify(page.next_cursor)}}`;
    return { status: 200, text };
  },
});

export const getSetting = defineRoute({
  method: "GET",
  path: "/setting/:name",
  summary: "Read one setting",
  needs: "setting.read",
  answer: SETTING,
  async act(api, { params }) {
    const row = await requireSetting(api, params["name"] ?? "");
    return { status: 200, text: toText(row), headers: { etag: toEtag(row) } };
  },
});

export const createSetting = defineRoute({
  method: "POST",
  path: "/setting",
  summary: "Create a setting with any JSON value of up to 64 KB",
  needs: "setting.write",
  action: "setting.create",
  body: NEW_SETTING,
  example: { name: "currency", value: "EUR" },
  status: 201,
  answer: SETTING,
  async act(api, { body }) {
    const at = now();
    const value = toValue(body.value);
    const row: SettingRow = { name: body.name, value, created_at: at, modified_at: at };
    await commitNamed(api.store, row.name, [insertSetting(api.store, row)]);
    return { status: 201, text: toText(row), headers: { etag: toEtag(row) } };
  },
});

export const patchSetting = defineRoute({
  method: "PATCH",
  path: "/setting/:name",
  summary: "Change the value of a setting",
  needs: "setting.write",
  action: "setting.change",
  body: SETTING_CHANGE,
  example: { value: { code: "EUR", digits: 2 } },
  answer: SETTING,
  async act(api, { params, body, ifMatch }) {
    const row = await requireSetting(api, params["name"] ?? "");
    requireMatch(row, ifMatch);
    const change = { value: toValue(body.value), modified_at: nextTime(row) };
    const changed: SettingRow = { ...row, ...change };
    await commitNamed(api.store, row.name, [updateNamed(api.store, "setting", row, change)]);
    return { status: 200, text: toText(changed), headers: { etag: toEtag(changed) } };
  },
});

export const removeSetting = defineRoute({
  method: "DELETE",
  path: "/setting/:name",
  summary: "Delete a setting",
  needs: "setting.write",
  action: "setting.delete",
  status: 204,
  async act(api, { params, ifMatch }) {
    const row = await requireSetting(api, params["name"] ?? "");
    requireMatch(row, ifMatch);
    await commitNamed(api.store, row.name, [deleteNamed(api.store, "setting", row)]);
    return { status: 204 };
  },
});
