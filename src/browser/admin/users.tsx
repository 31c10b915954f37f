import { readAll } from "../api.ts";
import { Check, ErrorLine, Field, SteadyFields } from "../field.tsx";
import { changesOf, textOf, textsOf } from "../form-values.ts";
import { useLoaded } from "../loaded.ts";
import { may } from "../page.ts";
import type { Named } from "../resources.ts";
import { EnabledBadge } from "../status.tsx";
import { Time } from "../time.tsx";
import { Collection } from "./collection.tsx";

interface User extends Named {
  readonly email: string;
  readonly roles: readonly string[];
  readonly is_enabled: boolean;
  readonly active_at: string | null;
}

export function Users() {
  return (
    <Collection<User>
      type="user"
      noun="user"
      plural="Users"
      note="People and programs that log in. What they may do is the sum of their roles."
      canChange={may("user.write")}
      columns={[
        ["Roles", (user) => <Roles user={user} />],
        ["State", ({ is_enabled }) => <EnabledBadge isEnabled={is_enabled} />, "wide"],
        ["Last active", ({ active_at }) => <Time of={active_at} />, "wide"],
      ]}
      fields={(user) => <UserFields user={user} />}
      toBody={toBody}
      ownPassword="own_password"
      deletion="The user's sessions end at once. What the user made stays."
    />
  );
}

/** On a phone with the state below them, where there is no column for that. */
function Roles({ user: { roles, is_enabled } }: { user: User }) {
  return (
    <>
      {roles.join(", ") || "none"}
      <div class="phone">
        <EnabledBadge isEnabled={is_enabled} />
      </div>
    </>
  );
}

function UserFields({ user }: { user: User | null }) {
  const [roles] = useLoaded(() => readAll<Named>("role"));
  const offered = rolesFor(user, roles ?? []);
  const password =
    user === null
      ? { label: "Password", hint: "At least 12 characters.", isRequired: true }
      : { label: "New password", hint: "Empty: it stays. A new one ends the user's sessions." };
  return (
    <SteadyFields>
      <Field name="name" label="Name" value={user?.name ?? ""} isRequired />
      <Field name="email" label="E-mail" type="email" value={user?.email ?? ""} />
      <Field name="password" type="password" autocomplete="new-password" {...password} />
      <fieldset>
        <legend>Roles</legend>
        {offered.map((name) => (
          <Check
            key={name}
            name="roles"
            value={name}
            label={name}
            isChecked={user?.roles.includes(name) ?? false}
          />
        ))}
        <ErrorLine name="roles" />
      </fieldset>
      <Check
        name="is_enabled"
        label="Enabled"
        isChecked={user?.is_enabled ?? true}
        hint="A disabled user cannot log in."
      />
    </SteadyFields>
  );
}

/** Those of the user first, which are boxes whether or not the list of all has come: none is lost. */
function rolesFor(user: User | null, all: readonly Named[]): readonly string[] {
  return [...new Set([...(user?.roles ?? []), ...all.map(({ name }) => name)])];
}

function toBody(values: FormData, user: User | null): Record<string, unknown> {
  const password = textOf(values, "password");
  return changesOf(user, {
    name: textOf(values, "name"),
    email: textOf(values, "email"),
    roles: textsOf(values, "roles"),
    is_enabled: values.has("is_enabled"),
    ...(password === "" ? {} : { password }),
  });
}
