/** @jsxRuntime automatic @jsxImportSource hono/jsx */
import { AreaField, CheckField, FormError, SelectField, TextField } from "../field.tsx";
import { Page, type Visit } from "../shell.tsx";
import { TabPanel, Tabs } from "../tabs.tsx";

export function WebhookPage({ visit }: { visit: Visit }) {
  const name = visit.params["name"] ?? "";
  return (
    <Page visit={visit} title={name} module="webhook">
      <p class="way">
        <a href={`${visit.prefix}/ui/webhooks`}>Webhooks</a>
      </p>
      <div class="head">
        <h1>{name}</h1>
        <span id="badges" class="badges"></span>
      </div>
      <Tabs
        label="Webhook"
        tabs={[
          ["use", "Use"],
          ["try", "Try it"],
          ["calls", "Calls"],
          ["settings", "Settings"],
          ["answers", "Bodies and answers"],
          ["delivery", "Delivery"],
          ["access", "Access"],
        ]}
      />
      <TabPanel id="use" />
      <TabPanel id="try" />
      <TabPanel id="calls">
        <div id="chart" class="chart"></div>
        <div id="recent"></div>
        <div id="refused"></div>
      </TabPanel>
      <TabPanel id="settings">
        <SettingsForm />
        <div id="ending" class="buttons ending"></div>
      </TabPanel>
      <TabPanel id="answers" />
      <TabPanel id="delivery" />
      <TabPanel id="access" />
    </Page>
  );
}

function SettingsForm() {
  return (
    <form id="change" class="narrow">
      <TextField name="name" label="Name" hint="A new name is a new URL." required />
      <AreaField name="description" label="Description" rows={2} />
      <SelectField name="flow" label="Flow" required />
      <CheckField
        name="is_productive"
        label="Is productive"
        hint="Unset, executions start in development mode: calls are answered (otherwise 402) while somebody uses this interface, and take nothing from the connection allowance."
      />
      <SelectField
        name="role"
        label="Role"
        hint="Executions have its permissions if it propagates, and none otherwise."
      />
      <SelectField name="place" label="Project or bundle" />
      <SelectField
        name="execution_location"
        label="Execution location"
        hint="Whose project the executions belong to."
        choices={[
          ["webhook", "Webhook"],
          ["flow", "Flow"],
        ]}
      />
      <SelectField
        name="sync_mode"
        label="Synchronous calls"
        choices={[
          ["", "As the service is configured"],
          ["redirect", "Redirect while waiting (303, 302)"],
          ["hold", "Hold one request"],
        ]}
      />
      <FormError />
      <div class="buttons">
        <button type="submit">Save</button>
      </div>
    </form>
  );
}
