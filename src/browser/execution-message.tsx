import { findPlace } from "../shared/error-place.ts";
import { STATUS } from "../shared/contract/status.ts";
import { read } from "./api.ts";
import { useLoaded } from "./loaded.ts";
import { may, pagePath } from "./page.ts";
import type { Execution, Flow, LogLine } from "./resources.ts";

/** What an execution said last; of a failure, what went wrong and where. */
export function ExecutionMessage(props: { execution: Execution; lines: readonly LogLine[] }) {
  const { execution, lines } = props;
  const { status, status_message } = execution;
  const { label, isFailure } = STATUS[status];
  if (!isFailure) return <p class="message">{status_message ?? ""}</p>;
  // A run that was cut short has no error of its own that ended it.
  const place = status === "ENDED_ERROR" ? findPlace(lines) : null;
  return (
    <div class="failure" id="failure">
      <p class="reason">{status_message ?? `${label}, without a message`}</p>
      {place === null ? null : (
        <p>
          in <Place of={place} execution={execution} />
        </p>
      )}
    </div>
  );
}

/** A place in the files of a flow, `lib/order.ts:3:25`; a link where its line can be shown. */
function Place({ of, execution }: { of: string; execution: Execution }) {
  const [file = "", line = ""] = of.split(":");
  const [flow] = useLoaded(() => readFlow(execution.flow), [execution.flow]);
  if (flow === null || !isShown(flow, file, execution)) return <code>{of}</code>;
  const query = new URLSearchParams({ version: flow.version ?? "", line });
  return (
    <a href={`${pagePath("flows", flow.name)}?${query}#source`}>
      <code>{of}</code>
    </a>
  );
}

/** The flow's page shows its own file alone, as it is now. */
function isShown({ file, state, version }: Flow, of: string, { flow_version }: Execution): boolean {
  return file === of && state === "ready" && version === flow_version;
}

/** Null: it is gone, or the visitor may not read it. */
async function readFlow(name: string): Promise<Flow | null> {
  return may("flow.read") ? read<Flow>(["flow", name]).catch(() => null) : null;
}
