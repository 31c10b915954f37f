import { useState } from "hono/jsx/dom";
import { call, read, type List } from "../api.ts";
import { Button } from "../button.tsx";
import { confirmWithPassword } from "../dialog.tsx";
import { Check } from "../field.tsx";
import { useLoaded } from "../loaded.ts";
import { notify } from "../notice.tsx";
import { may } from "../page.ts";
import { Badge } from "../status.tsx";
import { Table, type Column } from "../table.tsx";
import { Time } from "../time.tsx";

interface Token {
  readonly id: string;
  readonly user_name: string;
  readonly is_current: boolean;
  readonly created_at: string;
  readonly expires_at: string;
  readonly last_used_at: string | null;
  readonly last_used_from: string | null;
}

/** The own login tokens; an administrator sees everybody's. */
export function Tokens() {
  const [isAll, setAll] = useState(false);
  const query = isAll ? { all: "true" } : {};
  const [list, reload] = useLoaded(() => read<List<Token>>(["token"], query), [isAll]);
  const tokens = list?.items ?? [];
  const own = tokens.find(({ is_current }) => is_current)?.user_name ?? "";
  const act = (token: Token) => <End token={token} end={() => end(token, own, reload)} />;
  const columns: readonly Column<Token>[] = [
    ["User", ({ user_name }) => user_name, "head"],
    ["Since", ({ created_at }) => <Time of={created_at} />, "wide"],
    ["Last used", ({ last_used_at }) => <Time of={last_used_at} />],
    ["From", ({ last_used_from }) => last_used_from ?? "–", "wide"],
    ["", act, "acts"],
  ];
  return (
    <>
      <p class="soft">Each login makes one. A program that calls the API has one, too.</p>
      {may("user.write") ? (
        <Check name="all" label="All users" isChecked={false} onChange={setAll} />
      ) : null}
      <Table caption="Login tokens" columns={columns} items={tokens} rowOf={({ id }) => ({ id })} />
    </>
  );
}

function End({ token, end }: { token: Token; end: () => Promise<void> }) {
  if (token.is_current) return <Badge label="This session" state="idle" />;
  return (
    <Button style="quiet small" act={end}>
      End<span class="hidden-text"> the session of {token.user_name}</span>
    </Button>
  );
}

/** Somebody else's session ends after the own password. */
async function end(
  { id, user_name }: Token,
  own: string,
  reload: () => Promise<void>,
): Promise<void> {
  const remove = async (body?: object): Promise<void> => {
    await call("DELETE", ["token", id], { body });
    notify("The session has ended");
    await reload();
  };
  if (user_name === own) return remove();
  const text = "Whoever uses it has to log in again.";
  const title = `End a session of ${user_name}?`;
  await confirmWithPassword(title, text, "End", (password) => remove({ password }));
}
