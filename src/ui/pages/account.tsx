/** @jsxRuntime automatic @jsxImportSource hono/jsx */
import { Page, type Visit } from "../shell.tsx";

export function AccountPage({ visit }: { visit: Visit }) {
  return (
    <Page visit={visit} title="Account" module="account">
      <h1>Account</h1>
    </Page>
  );
}
