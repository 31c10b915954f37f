import type { Child } from "hono/jsx/dom";
import { call } from "../api.ts";
import { Button } from "../button.tsx";
import { confirm, confirmWithPassword, openDialog, PasswordField } from "../dialog.tsx";
import { textOf } from "../form-values.ts";
import { complain, notify } from "../notice.tsx";
import { PagedList, usePages } from "../paged-list.tsx";
import { Empty, type Column } from "../table.tsx";

export interface CollectionProps<Item extends { readonly name: string }> {
  /** The segment of the API's path. */
  readonly type: string;
  readonly noun: string;
  readonly plural: string;
  /** What the resource is for. */
  readonly note: string;
  /** Beside the name. */
  readonly columns: readonly Column<Item>[];
  readonly canChange: boolean;
  readonly isBroad?: boolean;
  /** Of its form; null for a new one. */
  readonly fields: (item: Item | null) => Child;
  /** What is left out of a change stays, whoever has changed it meanwhile. */
  readonly toBody: (values: FormData, item: Item | null) => Record<string, unknown>;
  /** Whether the item takes no changes; all do unless this says otherwise. */
  readonly isFixed?: (item: Item) => boolean;
  /** What a deletion does. */
  readonly deletion: string;
  /** The member for the visitor's own password, where changes need it again. */
  readonly ownPassword?: "password" | "own_password";
}

type Done = "Created" | "Saved" | "Deleted";

/** A list of named resources that are created, changed and deleted in dialogs. */
export function Collection<Item extends { readonly name: string }>(props: CollectionProps<Item>) {
  const { type, noun, plural, note, columns, canChange } = props;
  const pages = usePages<Item>([type]);
  // What is new may be on any page; what was there is on the one that is shown.
  const done = (said: Done): void => {
    notify(said);
    (said === "Created" ? pages.reload() : pages.refresh()).catch(complain);
  };
  const edit = (item: Item | null) => save(props, item, done);
  const remove = (item: Item) => removeItem(props, item, done);
  const acts = (item: Item) =>
    props.isFixed?.(item) === true ? null : (
      <Acts name={item.name} change={() => edit(item)} remove={() => remove(item)} />
    );
  const shown: readonly Column<Item>[] = [
    ["Name", ({ name }) => name, "head"],
    ...columns,
    ...(canChange ? [["", acts, "acts"] as const] : []),
  ];
  return (
    <>
      <div class="over">
        <p class="soft">{note}</p>
        {canChange ? <Button act={() => edit(null)}>{`New ${noun}`}</Button> : null}
      </div>
      <PagedList
        pages={pages}
        caption={plural}
        columns={shown}
        rowOf={({ name }) => ({ id: name })}
        empty={<Empty title={`There is no ${noun} yet`}>{note}</Empty>}
      />
    </>
  );
}

function Acts(props: { name: string; change: () => Promise<void>; remove: () => Promise<void> }) {
  const name = <span class="hidden-text"> {props.name}</span>;
  return (
    <div class="buttons">
      <Button style="quiet small" act={props.change}>
        Change{name}
      </Button>
      <Button style="quiet small" act={props.remove}>
        Delete{name}
      </Button>
    </div>
  );
}

/** Asks what to create or change; an answer may come after its dialog was left. */
async function save<Item extends { readonly name: string }>(
  props: CollectionProps<Item>,
  item: Item | null,
  done: (said: Done) => void,
): Promise<void> {
  const { type, noun, fields, toBody, ownPassword, isBroad = false } = props;
  // The state that is changed is the one that is shown: somebody else's change in between is told.
  const read = item === null ? null : await call<Item>("GET", [type, item.name]);
  const now = read?.body ?? null;
  const send = async (values: FormData, etag: string | null): Promise<void> => {
    const own = ownPassword === undefined ? {} : { [ownPassword]: textOf(values, ownPassword) };
    const body = { ...toBody(values, now), ...own };
    if (now === null) await call("POST", [type], { body });
    else await call("PATCH", [type, now.name], { body, etag });
    done(now === null ? "Created" : "Saved");
  };
  const sendOver = async (values: FormData): Promise<void> => {
    if (now !== null) await send(values, (await call<Item>("GET", [type, now.name])).etag);
  };
  await openDialog({
    title: now === null ? `New ${noun}` : `Change "${now.name}"`,
    submit: now === null ? "Create" : "Save",
    isBroad,
    content: [fields(now), ownPassword === undefined ? null : <PasswordField name={ownPassword} />],
    act: (values) => send(values, read?.etag ?? null),
    actOver: now === null ? undefined : sendOver,
  });
}

async function removeItem<Item extends { readonly name: string }>(
  { type, deletion, ownPassword }: CollectionProps<Item>,
  { name }: Item,
  done: (said: Done) => void,
): Promise<void> {
  const title = `Delete "${name}"?`;
  const act = async (body?: object): Promise<void> => {
    await call("DELETE", [type, name], { body });
    done("Deleted");
  };
  if (ownPassword === undefined) return confirm(title, deletion, "Delete", () => act());
  return confirmWithPassword(title, deletion, "Delete", (password) => act({ password }));
}
