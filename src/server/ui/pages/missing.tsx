/** @jsxRuntime automatic @jsxImportSource hono/jsx */
import { Shell, type Visit } from "../shell.tsx";

export function MissingPage({ visit }: { visit: Visit }) {
  return (
    <Shell visit={visit} title="Not found" module="document">
      <h1>There is nothing here</h1>
      <p>
        The address may be mistyped. <a href={`${visit.prefix}/ui/`}>Go to the overview</a>.
      </p>
    </Shell>
  );
}
