/** @jsxRuntime automatic @jsxImportSource hono/jsx */
import { FAILURES, STATUS, STATUSES, UNENDED } from "../../../shared/contract/status.ts";
import { SelectField, TextField } from "../field.tsx";
import { PagedList } from "../list.tsx";
import { Page, type Visit } from "../shell.tsx";

/** `status` as the API takes it: one or several, with commas. */
const STATUS_CHOICES: readonly (readonly [string, string])[] = [
  ["", "Any status"],
  [FAILURES.join(","), "Any failure"],
  [UNENDED.join(","), "Waiting or running"],
  ...STATUSES.toReversed().map((status) => [status, STATUS[status].label] as const),
];

export function ExecutionsPage({ visit }: { visit: Visit }) {
  return (
    <Page visit={visit} title="Executions" module="executions">
      <div class="head">
        <h1>Executions</h1>
        <span id="live" class="soft" role="status"></span>
      </div>
      <form class="filters" role="search" id="filters">
        <SelectField name="status" label="Status" choices={STATUS_CHOICES} />
        <SelectField name="webhook" label="Webhook" choices={[["", "All webhooks"]]} />
        <SelectField name="flow" label="Flow" choices={[["", "All flows"]]} />
        <SelectField name="project_id" label="Project" choices={[["", "All projects"]]} />
        <TextField name="text" label="Message contains" type="search" />
        <TextField name="from" label="From" type="datetime-local" />
        <TextField name="to" label="Until" type="datetime-local" />
      </form>
      <PagedList
        id="executions"
        caption="Executions"
        columns={["Status", "Called", "-Flow", "When", "-Took"]}
        empty={
          <>
            <h2>No execution is here</h2>
            <p>
              Each call of a webhook makes one. <a href={`${visit.prefix}/ui/webhooks`}>Try one</a>,
              or change the filters above.
            </p>
          </>
        }
      />
    </Page>
  );
}
