import { PageHead } from "../head.tsx";
import { useEffect, useRef, useState } from "hono/jsx/dom";
import { Tokens } from "../admin/tokens.tsx";
import { call, read } from "../api.ts";
import { Field } from "../field.tsx";
import { Form } from "../form.tsx";
import { textOf } from "../form-values.ts";
import { notify } from "../notice.tsx";
import { USER } from "../page.ts";
import { start } from "../start.tsx";
import { Pairs } from "../table.tsx";

interface Me {
  readonly name: string;
  readonly email: string;
  readonly roles: readonly string[];
}

start(async () => <AccountPage me={await read<Me>(["auth", "me"])} />);

function AccountPage({ me: { email, roles } }: { me: Me }) {
  // A new form after each change: what was typed is gone, and the other sessions are read again.
  const [changes, setChanges] = useState(0);
  const place = useRef<HTMLElement | null>(null);
  // The focus was in the form that is gone.
  useEffect(() => {
    if (changes > 0) place.current?.querySelector<HTMLElement>("[name=password]")?.focus();
  }, [changes]);
  const change = async (values: FormData): Promise<void> => {
    const body = {
      password: textOf(values, "password"),
      new_password: textOf(values, "new_password"),
    };
    await call("PUT", ["auth", "password"], { body });
    notify("Your password is changed");
    setChanges(changes + 1);
  };
  return (
    <>
      <PageHead title={USER} />
      <Pairs
        of={[
          ["Roles", roles.join(", ") || "none"],
          ["E-mail", email === "" ? "none" : email],
        ]}
      />
      <section ref={place}>
        <h2>Change your password</h2>
        <Form key={`form-${changes}`} act={change} submit="Change" isGoneAfter>
          <PasswordFields />
        </Form>
      </section>
      <section>
        <h2>Your sessions</h2>
        <Tokens key={`tokens-${changes}`} />
      </section>
    </>
  );
}

function PasswordFields() {
  return (
    <>
      <input type="text" name="user_name" value={USER} autocomplete="username" hidden />
      <Field
        name="password"
        label="Current password"
        type="password"
        autocomplete="current-password"
        isRequired
      />
      <Field
        name="new_password"
        label="New password"
        hint="At least 12 characters. Your other sessions end."
        type="password"
        autocomplete="new-password"
        isRequired
      />
    </>
  );
}
