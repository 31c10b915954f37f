/** @jsxRuntime automatic @jsxImportSource hono/jsx */
import { SelectField, TextField } from "../field.tsx";
import { PagedList } from "../list.tsx";
import { Page, type Visit } from "../shell.tsx";

export function WebhooksPage({ visit }: { visit: Visit }) {
  const canCreate = visit.allowed.includes("webhook.write");
  const create = `${visit.prefix}/ui/new-webhook`;
  return (
    <Page visit={visit} title="Webhooks" module="webhooks">
      <div class="head">
        <h1>Webhooks</h1>
        {canCreate ? (
          <a class="button" href={create}>
            New webhook
          </a>
        ) : null}
      </div>
      <form class="filters" role="search" id="filters">
        <TextField name="text" label="Name contains" type="search" />
        <SelectField name="flow" label="Flow" choices={[["", "All flows"]]} />
        <SelectField
          name="is_enabled"
          label="State"
          choices={[
            ["", "Any state"],
            ["true", "Enabled"],
            ["false", "Disabled"],
          ]}
        />
      </form>
      <PagedList
        id="webhooks"
        caption="Webhooks"
        columns={["Name", "-Flow", "State", "-Last call", "Recent outcome"]}
        empty={
          <>
            <h2>No webhook is here</h2>
            <p>A webhook is a URL that starts a flow. Create one, or change the filters above.</p>
          </>
        }
      />
    </Page>
  );
}
