import { Field } from "../field.tsx";
import { changesOf, jsonOf, textOf } from "../form-values.ts";
import { parseDigits } from "../../shared/json-exact.ts";
import { may } from "../page.ts";
import type { Named } from "../resources.ts";
import { Time } from "../time.tsx";
import { Collection } from "./collection.tsx";
import { Said } from "../said.tsx";
import { escapeUnseen } from "../../shared/unseen.ts";

interface Project extends Named {
  readonly description: string;
  readonly modified_at: string;
}

export function Projects() {
  return (
    <Collection<Project>
      type="project"
      noun="project"
      plural="Projects"
      note="Webhooks and executions belong to a project; a role can be limited to one."
      canChange={may("project.write")}
      columns={[["Description", ({ description }) => description]]}
      fields={(project) => (
        <>
          <Field name="name" label="Name" value={project?.name ?? ""} isRequired />
          <Field name="description" label="Description" value={project?.description ?? ""} />
        </>
      )}
      toBody={(values, project) =>
        changesOf(project, {
          name: textOf(values, "name"),
          description: textOf(values, "description"),
        })
      }
      isFixed={({ name }) => name === "Default"}
      deletion="Only a project that no webhook is in can be deleted. Its executions keep its ID."
    />
  );
}

interface Setting extends Named {
  readonly value: unknown;
  readonly modified_at: string;
}

export function Settings() {
  return (
    <Collection<Setting>
      type="setting"
      noun="setting"
      plural="Settings"
      note="JSON values that flows read with flow.setting(name), and write if their role allows it."
      canChange={may("setting.write")}
      isBroad
      columns={[
        [
          "Value",
          ({ value }) => (
            <code class="line">
              <Said text={JSON.stringify(value)} isCode />
            </code>
          ),
        ],
        ["Changed", ({ modified_at }) => <Time of={modified_at} />, "wide"],
      ]}
      fields={(setting) => (
        <>
          <KeptName item={setting} />
          <Field
            name="value"
            label="Value"
            rows={8}
            hint="JSON"
            value={setting === null ? "" : escapeUnseen(JSON.stringify(setting.value, null, 2))}
            isRequired
          />
        </>
      )}
      toBody={(values, setting) => ({
        ...(setting === null ? { name: textOf(values, "name") } : {}),
        value: jsonOf(values, "value", parseDigits),
      })}
      deletion="Flows that read it get nothing from then on."
    />
  );
}

/** Settings and secrets keep their name: flows ask for them by it. */
function KeptName({ item }: { item: Named | null }) {
  return item === null ? <Field name="name" label="Name" isRequired /> : null;
}

interface Secret extends Named {
  readonly modified_at: string;
}

export function Secrets() {
  return (
    <Collection<Secret>
      type="secret"
      noun="secret"
      plural="Secrets"
      note="Encrypted at rest, and never shown again. A flow gets those that it declares, with flow.secret(name)."
      canChange={may("secret.write")}
      columns={[["Set", ({ modified_at }) => <Time of={modified_at} />]]}
      fields={(secret) => (
        <>
          <KeptName item={secret} />
          <Field name="value" label={secret === null ? "Value" : "New value"} rows={3} isRequired />
        </>
      )}
      toBody={(values, secret) => ({
        ...(secret === null ? { name: textOf(values, "name") } : {}),
        value: textOf(values, "value"),
      })}
      deletion="Flows that use it fail from then on."
    />
  );
}
