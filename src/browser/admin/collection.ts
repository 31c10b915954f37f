import { call } from "../api.ts";
import {
  confirm,
  confirmWithPassword,
  openDialog,
  passwordField,
  withPassword,
} from "../dialog.ts";
import { button, el, type Child } from "../element.ts";
import { buttons } from "../field.ts";
import { notify } from "../notice.ts";
import { openPagedList, type PagedList } from "../paged-list.ts";
import { pagedFrame } from "../paged-frame.ts";

interface Column<Item> {
  /** One that starts with `-` is left out on narrow screens. */
  readonly label: string;
  cell(item: Item): Child;
}

export interface Collection<Item extends { readonly name: string }> {
  /** The segment of the API's path. */
  readonly type: string;
  readonly noun: string;
  readonly plural: string;
  /** What the resource is for. */
  readonly note: string;
  readonly columns: readonly Column<Item>[];
  readonly canChange: boolean;
  readonly isBroad?: boolean;
  /** null for a new one. */
  fields(item: Item | null): Promise<readonly HTMLElement[]> | readonly HTMLElement[];
  toBody(form: HTMLElement, item: Item | null): Record<string, unknown>;
  /** Whether the item takes changes; all do unless this says otherwise. */
  isFixed?(item: Item): boolean;
  readonly deletion: string;
  /** The member for the visitor's own password, where changes need it again. */
  readonly own_password?: "password" | "own_password";
}

/** A list of named resources that are created, changed and deleted in dialogs. */
export async function showCollection<Item extends { readonly name: string }>(
  place: HTMLElement,
  collection: Collection<Item>,
): Promise<void> {
  const { type, noun, plural, note, columns, canChange } = collection;
  const labels = ["Name", ...columns.map(({ label }) => label), ...(canChange ? [""] : [])];
  const title = el("h2", { class: "first" }, `There is no ${noun} yet`);
  const frame = pagedFrame(plural, labels, [title, el("p", {}, note)]);
  const list: PagedList = openPagedList<Item>({
    container: frame,
    path: [type],
    query: () => ({}),
    row: (item) => toRow(collection, item, () => list.reload()),
  });
  const create = button(`New ${noun}`, "", () => edit(collection, null, () => list.reload()));
  place.replaceChildren(
    el("div", { class: "over" }, el("p", { class: "soft" }, note), canChange ? create : null),
    frame,
  );
  await list.reload();
}

function toRow<Item extends { readonly name: string }>(
  collection: Collection<Item>,
  item: Item,
  changed: () => Promise<void>,
): HTMLElement {
  const cells = collection.columns.map(({ label, cell }) =>
    el("td", { class: label.startsWith("-") ? "wide" : "" }, cell(item)),
  );
  const row = el("tr", {}, el("th", { scope: "row" }, item.name), ...cells);
  if (!collection.canChange) return row;
  const isFixed = collection.isFixed?.(item) === true;
  const change = button("Change", "quiet small", () => edit(collection, item, changed));
  const remove = button("Delete", "quiet small", () => removeItem(collection, item, changed));
  for (const act of [change, remove]) {
    const label = el("span", { class: "hidden-text" }, ` ${item.name}`);
    act.append(label);
  }
  row.append(el("td", { class: "acts" }, isFixed ? null : buttons(change, remove)));
  return row;
}

async function edit<Item extends { readonly name: string }>(
  collection: Collection<Item>,
  item: Item | null,
  changed: () => Promise<void>,
): Promise<void> {
  const { type, noun, own_password } = collection;
  // The state that is changed is the one that is shown: somebody else's change in between is told.
  const read = item === null ? null : await call<Item>("GET", [type, item.name]);
  const now = read?.body ?? null;
  const isDone = await openDialog({
    title: now === null ? `New ${noun}` : `Change "${now.name}"`,
    submit: now === null ? "Create" : "Save",
    isBroad: collection.isBroad === true,
    content: [
      ...(await collection.fields(now)),
      ...(own_password === undefined ? [] : [passwordField(own_password)]),
    ],
    act: async (form) => {
      const save = async (own: Record<string, string>): Promise<void> => {
        const body = { ...collection.toBody(form, now), ...own };
        if (now === null) await call("POST", [type], { body });
        else await call("PATCH", [type, now.name], { body, etag: read?.etag ?? null });
      };
      if (own_password === undefined) return save({});
      await withPassword(form, (own) => save({ [own_password]: own }), own_password);
    },
  });
  if (!isDone) return;
  notify(now === null ? "Created" : "Saved");
  await changed();
}

async function removeItem<Item extends { readonly name: string }>(
  { type, deletion, own_password }: Collection<Item>,
  { name }: Item,
  changed: () => Promise<void>,
): Promise<void> {
  const title = `Delete "${name}"?`;
  const act = async (body?: object): Promise<void> => {
    await call("DELETE", [type, name], { body });
  };
  const isDone =
    own_password === undefined
      ? await confirm(title, deletion, "Delete", () => act())
      : await confirmWithPassword(title, deletion, "Delete", (password) => act({ password }));
  if (!isDone) return;
  notify("Deleted");
  await changed();
}
