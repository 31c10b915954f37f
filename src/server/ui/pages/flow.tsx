/** @jsxRuntime automatic @jsxImportSource hono/jsx */
import { AreaField, FormError } from "../field.tsx";
import { Page, type Visit } from "../shell.tsx";
import { TabPanel, Tabs } from "../tabs.tsx";

export function FlowPage({ visit }: { visit: Visit }) {
  const name = visit.params["name"] ?? "";
  const create = `${visit.prefix}/ui/new-webhook?flow=${encodeURIComponent(name)}`;
  return (
    <Page visit={visit} title={name} module="flow">
      <p class="way">
        <a href={`${visit.prefix}/ui/flows`}>Flows</a>
      </p>
      <div class="head">
        <h1>{name}</h1>
        <span id="badges" class="badges"></span>
        {visit.allowed.includes("webhook.write") ? (
          <a class="button" href={create}>
            Create a webhook from this flow
          </a>
        ) : null}
      </div>
      <p id="description"></p>
      <div id="error"></div>
      <Tabs
        label="Flow"
        tabs={[
          ["source", "Source"],
          ["limits", "Permissions and limits"],
          ["run", "Run"],
        ]}
      />
      <TabPanel id="source" />
      <TabPanel id="limits" />
      <TabPanel id="run">
        <form id="run-form" class="narrow">
          <AreaField
            name="input_value"
            label="Input"
            hint="JSON. The execution has your own permissions."
            rows={8}
            code
            value={'{ "json": { "name": "Ada" } }'}
          />
          <FormError />
          <div class="buttons">
            <button type="submit">Run</button>
          </div>
        </form>
      </TabPanel>
    </Page>
  );
}
