import { call } from "./api.ts";
import { openDialog } from "./dialog.ts";
import { button } from "./element.ts";
import { field } from "./field.ts";
import { showAt, valueOf } from "./form.ts";
import { parseExact } from "./json-exact.ts";
import { attempt, notify } from "./notice.ts";
import { may, pagePath } from "./page.ts";
import type { Execution } from "./resources.ts";
import { isEnded } from "../shared/contract/status.ts";

/** Cancel while it runs; replay, also with another input. */
export function actsOf(execution: Execution): HTMLElement[] {
  const acts: HTMLElement[] = [];
  const { id, status } = execution;
  if (!isEnded(status) && may("execution.cancel")) {
    const cancel = button("Cancel", "danger", () =>
      attempt(async () => {
        await call("POST", ["execution", id, "cancel"]);
        notify("Cancelled");
      }, cancel),
    );
    acts.push(cancel);
  }
  if (!may("execution.start")) return acts;
  const replayNow = button("Replay", "quiet", () => attempt(() => replay(id, {}), replayNow));
  acts.push(
    replayNow,
    button("Replay with changes", "quiet", () => replayChanged(execution)),
  );
  return acts;
}

async function replay(id: string, body: Record<string, unknown>): Promise<void> {
  const { body: started } = await call<{ id: string }>("POST", ["execution", id, "replay"], {
    body,
  });
  location.assign(pagePath("executions", started.id));
}

function replayChanged({ id, input_value, flow_version }: Execution): Promise<boolean> {
  const input = JSON.stringify(input_value, null, 2);
  const versions = [
    ["", "The newest"],
    ...(flow_version === null
      ? []
      : [[flow_version, `The one that ran: ${flow_version}`] as const]),
  ] as const;
  return openDialog({
    title: "Replay with changes",
    submit: "Replay",
    isBroad: true,
    content: [
      field({ name: "input_value", label: "Input", rows: 16, value: input, hint: "JSON" }),
      field({ name: "flow_version", label: "Version of the flow", choices: versions, value: "" }),
    ],
    act: async (form) => {
      const input_value = parseInput(form);
      const version = valueOf(form, "flow_version");
      await replay(id, { input_value, ...(version === "" ? {} : { flow_version: version }) });
    },
  });
}

/** @throws Error after the field has said what is wrong */
export function parseInput(form: HTMLElement): unknown {
  try {
    return parseExact(valueOf(form, "input_value"));
  } catch (error) {
    showAt(form, "input_value", `This is not JSON: ${(error as Error).message}`);
    throw new Error("Nothing was started", { cause: error });
  }
}
