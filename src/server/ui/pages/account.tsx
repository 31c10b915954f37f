/** @jsxRuntime automatic @jsxImportSource hono/jsx */
import { FormError, TextField } from "../field.tsx";
import { Page, type Visit } from "../shell.tsx";

export function AccountPage({ visit }: { visit: Visit }) {
  return (
    <Page visit={visit} title="Account" module="account">
      <div class="head">
        <h1>{visit.user_name}</h1>
      </div>
      <dl id="who" class="pairs"></dl>
      <section>
        <h2>Change your password</h2>
        <form id="password-form" class="narrow">
          <input
            type="text"
            name="user_name"
            value={visit.user_name}
            autocomplete="username"
            hidden
          />
          <TextField
            name="password"
            label="Password until now"
            type="password"
            autocomplete="current-password"
            required
          />
          <TextField
            name="new_password"
            label="New password"
            hint="At least 12 characters. Your other sessions end."
            type="password"
            autocomplete="new-password"
            required
          />
          <FormError />
          <div class="buttons">
            <button type="submit">Change</button>
          </div>
        </form>
      </section>
      <section>
        <h2>Your sessions</h2>
        <div id="tokens"></div>
      </section>
    </Page>
  );
}
