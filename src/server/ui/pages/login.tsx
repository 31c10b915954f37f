/** @jsxRuntime automatic @jsxImportSource hono/jsx */
import { Brand } from "../icons.tsx";
import { Document, type PageFrame } from "../shell.tsx";

/** The only page without a script: it also works in browsers of calls that need a login. */
export function LoginPage(props: {
  frame: PageFrame;
  next: string | undefined;
  error: string | null;
  name: string;
}) {
  const { frame, next, error, name } = props;
  return (
    <Document frame={frame} title="Log in" module={null} body={{ class: "door" }}>
      <main>
        <p class="brand">
          <Brand />
        </p>
        <h1>Log in</h1>
        {error === null ? null : <p role="alert">{error}</p>}
        {/* To its own address, and so with the part after #, which comes along to the page behind. */}
        <form method="post" action="">
          <input type="hidden" name="next" value={next ?? ""} />
          <div class="field">
            <label for="user_name">User name</label>
            <input
              id="user_name"
              name="user_name"
              value={name}
              autocomplete="username"
              autocapitalize="none"
              spellcheck={false}
              required
              autofocus={name === ""}
            />
          </div>
          <div class="field">
            <label for="password">Password</label>
            <input
              id="password"
              name="password"
              type="password"
              autocomplete="current-password"
              required
              autofocus={name !== ""}
            />
          </div>
          <button type="submit">Log in</button>
        </form>
      </main>
    </Document>
  );
}
