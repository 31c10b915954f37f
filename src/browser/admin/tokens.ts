import { call, read, type List } from "../api.ts";
import { confirmWithPassword } from "../dialog.ts";
import { button, el } from "../element.ts";
import { check } from "../field.ts";
import { time } from "../format.ts";
import { attempt, notify } from "../notice.ts";
import { may } from "../page.ts";
import { plainTable } from "../paged-frame.ts";
import { badge } from "../status.ts";

interface Token {
  readonly id: string;
  readonly user_name: string;
  readonly is_current: boolean;
  readonly created_at: string;
  readonly expires_at: string;
  readonly last_used_at: string | null;
  readonly last_used_from: string | null;
}

const FOREIGN = "Whoever uses it has to log in again.";

/** The own login tokens; an administrator sees everybody's. */
export async function showTokens(place: HTMLElement): Promise<void> {
  const list = el("div");
  const everybody = check("all", "Everybody's", false);
  everybody.addEventListener("change", () => void attempt(() => show(list, isAll(everybody))));
  const note = el(
    "p",
    { class: "soft" },
    "Each login makes one. A program that calls the API has one, too.",
  );
  place.replaceChildren(note, ...(may("user.write") ? [everybody] : []), list);
  await show(list, false);
}

function isAll(box: HTMLElement): boolean {
  return box.querySelector("input")?.checked === true;
}

async function show(list: HTMLElement, isAll: boolean): Promise<void> {
  const { items } = await read<List<Token>>(["token"], isAll ? { all: "true" } : {});
  const own = items.find(({ is_current }) => is_current)?.user_name ?? "";
  const rows = items.map((token) => toRow(token, own, () => show(list, isAll)));
  const columns = ["User", "-Since", "Last used", "-From", ""];
  list.replaceChildren(plainTable("Login tokens", columns, rows));
}

function toRow(token: Token, own: string, changed: () => Promise<void>): HTMLElement {
  const { id, user_name, is_current, created_at, last_used_at, last_used_from } = token;
  const remove = async (body?: object): Promise<void> => {
    await call("DELETE", ["token", id], { body });
    notify("The session has ended");
    await changed();
  };
  const end = button("End", "quiet small", () =>
    user_name === own
      ? attempt(() => remove(), end)
      : confirmWithPassword(`End a session of ${user_name}?`, FOREIGN, "End", (password) =>
          remove({ password }),
        ),
  );
  end.append(el("span", { class: "hidden-text" }, ` the session of ${user_name}`));
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, user_name),
    el("td", { class: "wide" }, time(created_at)),
    el("td", {}, time(last_used_at)),
    el("td", { class: "wide" }, last_used_from ?? "–"),
    el("td", { class: "acts" }, is_current ? badge("This session", "idle") : end),
  );
}
