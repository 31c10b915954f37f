/** @jsxRuntime automatic @jsxImportSource hono/jsx */
import { Page, type Visit } from "../shell.tsx";

export function MissingPage({ visit }: { visit: Visit }) {
  return (
    <Page visit={visit} title="Not found" module="missing">
      <h1>There is nothing here</h1>
      <p>
        The address may be mistyped. <a href={`${visit.prefix}/ui/`}>Go to the overview</a>.
      </p>
    </Page>
  );
}
