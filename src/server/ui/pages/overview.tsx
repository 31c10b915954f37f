/** @jsxRuntime automatic @jsxImportSource hono/jsx */
import { Page, type Visit } from "../shell.tsx";

export function OverviewPage({ visit }: { visit: Visit }) {
  const canCreate = visit.allowed.includes("webhook.write");
  return (
    <Page visit={visit} title="Overview" module="overview">
      <div class="head">
        <h1>Overview</h1>
        {canCreate ? (
          <a class="button" href={`${visit.prefix}/ui/new-webhook`}>
            New webhook
          </a>
        ) : null}
      </div>
      <div id="start" class="empty" hidden>
        <h2>Nothing was called yet</h2>
        <p>Create a webhook from a flow, enable it, and make its first call right there.</p>
        <p>
          Read <a href={`${visit.prefix}/ui/docs/flows`}>how to write a flow</a>, or the{" "}
          <a href={`${visit.prefix}/ui/docs/recipes`}>recipes</a>.
        </p>
      </div>
      <dl id="tiles" class="tiles"></dl>
      <section id="broken"></section>
      <section>
        <h2>Calls</h2>
        <div id="chart" class="chart"></div>
      </section>
      <section>
        <h2>Latest failures</h2>
        <div id="failures"></div>
      </section>
      <p class="soft foot">
        <span id="version"></span> <a href={`${visit.prefix}/ui/docs`}>Documentation</a> ·{" "}
        <a href={`${visit.prefix}/api/latest/reference`}>Reference of the API</a>
      </p>
    </Page>
  );
}
