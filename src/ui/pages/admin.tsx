/** @jsxRuntime automatic @jsxImportSource hono/jsx */
import { Page, type Visit } from "../shell.tsx";

export function AdminPage({ visit }: { visit: Visit }) {
  return (
    <Page visit={visit} title="Administration" module="admin">
      <h1>Administration</h1>
    </Page>
  );
}
