import { readAll } from "../api.ts";
import { el } from "../element.ts";
import { check, field } from "../field.ts";
import { isChecked, valueOf } from "../form.ts";
import { time } from "../format.ts";
import { may } from "../page.ts";
import type { Named } from "../resources.ts";
import { badge } from "../status.ts";
import { showCollection } from "./collection.ts";

interface User extends Named {
  readonly email: string;
  readonly roles: readonly string[];
  readonly is_enabled: boolean;
  readonly active_at: string | null;
}

export function showUsers(place: HTMLElement): Promise<void> {
  return showCollection<User>(place, {
    type: "user",
    noun: "user",
    plural: "Users",
    note: "People and programs that log in. What they may do is the sum of their roles.",
    canChange: may("user.write"),
    columns: [
      { label: "Roles", cell: ({ roles }) => roles.join(", ") || "none" },
      {
        label: "State",
        cell: ({ is_enabled }) =>
          is_enabled ? badge("Enabled", "good") : badge("Disabled", "idle"),
      },
      { label: "-Last active", cell: ({ active_at }) => time(active_at) },
    ],
    fields: fieldsOf,
    toBody,
    own_password: "own_password",
    deletion: "The user's sessions end at once. What the user made stays.",
  });
}

async function fieldsOf(user: User | null): Promise<HTMLElement[]> {
  const roles = await readAll<Named>("role");
  const password =
    user === null
      ? { label: "Password", hint: "At least 12 characters.", required: true }
      : { label: "New password", hint: "Empty: it stays. A new one ends the user's sessions." };
  return [
    field({ name: "name", label: "Name", value: user?.name ?? "", required: true }),
    field({ name: "email", label: "E-mail", type: "email", value: user?.email ?? "" }),
    field({ name: "password", type: "password", autocomplete: "new-password", ...password }),
    el(
      "fieldset",
      {},
      el("legend", {}, "Roles"),
      ...roles.map(({ name }) => check(`role:${name}`, name, user?.roles.includes(name) ?? false)),
      el("p", { class: "fault", "data-fault-of": "roles" }),
    ),
    check("is_enabled", "Enabled", user?.is_enabled ?? true, "A disabled user cannot log in."),
  ];
}

function toBody(form: HTMLElement): Record<string, unknown> {
  const boxes = [...form.querySelectorAll<HTMLInputElement>('[name^="role:"]:checked')];
  const password = valueOf(form, "password");
  return {
    name: valueOf(form, "name"),
    email: valueOf(form, "email"),
    roles: boxes.map(({ name }) => name.slice("role:".length)),
    is_enabled: isChecked(form, "is_enabled"),
    ...(password === "" ? {} : { password }),
  };
}
