/** @jsxRuntime automatic @jsxImportSource hono/jsx */
import { Page, type Visit } from "../shell.tsx";

export function FlowsPage({ visit }: { visit: Visit }) {
  return (
    <Page visit={visit} title="Flows" module="flows">
      <div class="head">
        <h1>Flows</h1>
        <div class="buttons">
          {visit.allowed.includes("flow.reload") ? (
            <button type="button" class="quiet" id="reload">
              Reload
            </button>
          ) : null}
        </div>
      </div>
      <p class="soft">
        Files of the plugins folder. A change is taken up by itself; a broken version leaves the
        last good one serving.
      </p>
      <div id="flows"></div>
    </Page>
  );
}
