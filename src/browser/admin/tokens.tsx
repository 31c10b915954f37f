import { useState } from "hono/jsx/dom";
import { call } from "../api.ts";
import { Button } from "../button.tsx";
import { confirmWithPassword } from "../dialog.tsx";
import { Check } from "../field.tsx";
import { complain, notify } from "../notice.tsx";
import { may, USER } from "../page.ts";
import { PagedList, usePages } from "../paged-list.tsx";
import { Badge } from "../status.tsx";
import { Empty, type Column } from "../table.tsx";
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
  const pages = usePages<Token>(["token"], isAll ? { all: "true" } : {});
  const act = (token: Token) => <End token={token} end={() => end(token, pages.refresh)} />;
  const columns: readonly Column<Token>[] = [
    ["User", ({ user_name }) => user_name, "head"],
    ["Since", ({ created_at }) => <Time of={created_at} />, "wide"],
    ["Last used", ({ last_used_at }) => <Time of={last_used_at} />],
    ["From", ({ last_used_from }) => last_used_from ?? "–", "wide address"],
    ["", act, "acts"],
  ];
  return (
    <>
      <p class="soft">Each login makes one. A program that calls the API has one, too.</p>
      {may("user.write") ? (
        <Check name="all" label="All users" isChecked={false} onChange={setAll} />
      ) : null}
      <PagedList
        pages={pages}
        caption="Login tokens"
        columns={columns}
        rowOf={({ id }) => ({ id })}
        empty={<Empty title="No login token is here">Each login makes one.</Empty>}
      />
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
async function end({ id, user_name }: Token, refresh: () => Promise<void>): Promise<void> {
  const act = async (body?: object): Promise<void> => {
    await call("DELETE", ["token", id], { body });
    notify("The session has ended");
    refresh().catch(complain);
  };
  if (user_name === USER) return act();
  const text = "Whoever uses it has to log in again.";
  const title = `End a session of ${user_name}?`;
  return confirmWithPassword(title, text, "End", (password) => act({ password }));
}
