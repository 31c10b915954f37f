import { isEnded } from "../shared/contract/status.ts";
import { call } from "./api.ts";
import { Button } from "./button.tsx";
import { confirm, openDialog } from "./dialog.tsx";
import { Field } from "./field.tsx";
import { jsonOf, textOf } from "./form-values.ts";
import { parseDigits } from "../shared/json-exact.ts";
import { goTo } from "./leaving.ts";
import { notify } from "./notice.tsx";
import { may, pagePath } from "./page.ts";
import type { Execution } from "./resources.ts";
import { escapeUnseen } from "../shared/unseen.ts";

/** Cancel while it runs; replay, also with another input. */
export function ExecutionActs({ execution }: { execution: Execution }) {
  const { id, status, webhook, flow } = execution;
  return (
    <div class="buttons">
      {isEnded(status) ? null : <CancelButton key="cancel" id={id} of={webhook ?? flow} />}
      {may("execution.start") ? (
        <>
          <Button key="replay" style="quiet" act={() => replay(id, {})}>
            Replay
          </Button>
          <Button key="change" style="quiet" act={() => replayChanged(execution)}>
            Replay with changes
          </Button>
        </>
      ) : null}
    </div>
  );
}

/**
 * Of one that has not ended; nothing where the visitor may not cancel it.
 *
 * @param props.of the name of what was called
 */
export function CancelButton({ id, of }: { id: string; of: string }) {
  if (!may("execution.cancel")) return null;
  const text = `It stops where it is, and what it has done stays done. Its ID is ${id}.`;
  const cancel = async (): Promise<void> => {
    await call("POST", ["execution", id, "cancel"]);
    notify("Cancelled");
  };
  const ask = () =>
    confirm(`Cancel the execution of "${of}"?`, text, "Cancel it", cancel, "Let it run");
  return (
    <Button style="danger" act={ask}>
      Cancel
    </Button>
  );
}

async function replay(id: string, body: Record<string, unknown>): Promise<void> {
  const path = ["execution", id, "replay"];
  const { body: started } = await call<{ id: string }>("POST", path, { body });
  await goTo(pagePath("executions", started.id));
}

function replayChanged({ id, input_value, flow_version }: Execution): Promise<void> {
  const input = escapeUnseen(JSON.stringify(input_value, null, 2));
  const versions = [
    ["", "The newest"] as const,
    ...(flow_version === null
      ? []
      : [[flow_version, `The one that ran: ${flow_version}`] as const]),
  ];
  return openDialog({
    title: "Replay with changes",
    submit: "Replay",
    isBroad: true,
    content: (
      <>
        <Field name="input_value" label="Input" rows={16} value={input} hint="JSON" />
        <Field name="flow_version" label="Version of the flow" choices={versions} />
      </>
    ),
    act: async (values) => {
      const version = textOf(values, "flow_version");
      await replay(id, {
        input_value: jsonOf(values, "input_value", parseDigits),
        ...(version === "" ? {} : { flow_version: version }),
      });
    },
  });
}
