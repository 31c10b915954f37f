/** @jsxRuntime automatic @jsxImportSource hono/jsx */
import { AreaField, FormError, SelectField, TextField } from "../field.tsx";
import { Page, type Visit } from "../shell.tsx";

export function NewWebhookPage({ visit }: { visit: Visit }) {
  return (
    <Page visit={visit} title="New webhook" module="new-webhook">
      <div class="head">
        <h1>New webhook</h1>
      </div>
      <form id="create" class="narrow">
        <SelectField name="flow" label="Flow" hint="What a call starts." required />
        <TextField
          name="name"
          label="Name"
          hint="Short, meaningful, without spaces: it is part of the URL."
          required
        />
        <p class="preview" id="preview" aria-live="polite"></p>
        <details>
          <summary>More</summary>
          <AreaField name="description" label="Description" rows={2} />
          <SelectField
            name="role"
            label="Role"
            hint="What its executions may do, if the role propagates."
          />
          <SelectField name="project_id" label="Project" />
        </details>
        <FormError />
        <div class="buttons">
          <button type="submit">Create</button>
        </div>
      </form>
      <div id="created"></div>
    </Page>
  );
}
