import { findPlace } from "../shared/error-place.ts";
import { STATUS } from "../shared/contract/status.ts";
import { read } from "./api.ts";
import { useLoaded } from "./loaded.ts";
import { may } from "./page.ts";
import type { Execution, FlowVersion, LogLine } from "./resources.ts";
import { SourceExcerpt } from "./source-view.tsx";
import { versionPath } from "./version-path.ts";
import { Said } from "./said.tsx";

/** What an execution said last; of a failure, what went wrong and where. */
export function ExecutionMessage(props: { execution: Execution; lines: readonly LogLine[] }) {
  const { execution, lines } = props;
  const { status, status_message } = execution;
  const { label, isFailure } = STATUS[status];
  if (!isFailure)
    return <p class="message">{status_message ? <Said text={status_message} /> : ""}</p>;
  // A run that was cut short has no error of its own that ended it.
  const place = status === "ENDED_ERROR" ? findPlace(lines) : null;
  return (
    <div class="failure" id="failure">
      <p class="reason">
        <Said text={status_message ?? `${label}, without a message`} />
      </p>
      {place === null ? null : <Place of={place} execution={execution} />}
    </div>
  );
}

/** A place in the files of a flow, `lib/order.ts:3:25`: a link and its lines while they are kept. */
function Place({ of, execution }: { of: string; execution: Execution }) {
  const { flow, flow_version } = execution;
  const [file = "", line = ""] = of.split(":");
  const [found] = useLoaded(() => readFile(flow, flow_version, file), [flow, flow_version, file]);
  if (found === null) {
    return (
      <p>
        in <code>{of}</code>
      </p>
    );
  }
  return (
    <>
      <p>
        in{" "}
        <a href={versionPath(found, line)}>
          <code>{of}</code>
        </a>
      </p>
      {found.source === null ? null : (
        <SourceExcerpt source={found.source} errorLine={Number(line)} />
      )}
    </>
  );
}

/** Null: it is kept no more, or the visitor may not read it. */
async function readFile(
  flow: string,
  version: string | null,
  file: string,
): Promise<FlowVersion | null> {
  if (version === null || !may("flow.read")) return null;
  return read<FlowVersion>(["flow", flow, "version", version], { file }).catch(() => null);
}
