import { showTokens } from "../admin/tokens.ts";
import { call, read } from "../api.ts";
import { withPassword } from "../dialog.ts";
import { el, need } from "../element.ts";
import { onSubmit, valueOf } from "../form.ts";
import { notify } from "../notice.ts";
import { start } from "../start.ts";

interface Me {
  readonly name: string;
  readonly email: string;
  readonly roles: readonly string[];
}

start(async () => {
  const form = need("#password-form", HTMLFormElement);
  onSubmit(form, () =>
    withPassword(form, async (password) => {
      const body = { password, new_password: valueOf(form, "new_password") };
      await call("PUT", ["auth", "password"], { body });
      form.reset();
      notify("Your password is changed");
      await showTokens(need("#tokens", HTMLElement));
    }),
  );
  const { email, roles } = await read<Me>(["auth", "me"]);
  need("#who", HTMLElement).replaceChildren(
    el("dt", {}, "Roles"),
    el("dd", {}, roles.join(", ") || "none"),
    el("dt", {}, "E-mail"),
    el("dd", {}, email === "" ? "none" : email),
  );
  await showTokens(need("#tokens", HTMLElement));
});
