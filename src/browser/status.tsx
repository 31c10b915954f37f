import { STATUS, type Status } from "../shared/contract/status.ts";
import type { ExecutionSummary } from "./resources.ts";

/** Of a badge; the stylesheet knows them. */
type Colour = "good" | "bad" | "busy" | "idle";

function colourOf(status: Status): Colour {
  if (STATUS[status].isFailure) return "bad";
  if (status === "ENDED_SUCCESS") return "good";
  return status === "RUNNING" ? "busy" : "idle";
}

/** The status of an execution, in a word and a colour. */
export function StatusBadge({ status }: { status: Status }) {
  return <Badge label={STATUS[status].label} state={colourOf(status)} title={status} />;
}

export function Badge(props: { label: string; state: Colour; title?: string }) {
  const { label, state, title } = props;
  return (
    <span class={`badge ${state}`} title={title}>
      {label}
    </span>
  );
}

export function EnabledBadge({ isEnabled }: { isEnabled: boolean }) {
  if (isEnabled) return <Badge label="Enabled" state="good" />;
  return <Badge label="Disabled" state="idle" />;
}

/** The last outcomes as a row of marks, the newest on the right. */
export function Outcomes({ newestFirst }: { newestFirst: readonly ExecutionSummary[] }) {
  const bad = newestFirst.filter(({ status }) => STATUS[status].isFailure).length;
  const text = `${bad} of the last ${newestFirst.length} failed`;
  return (
    <span class="outcomes" role="img" aria-label={text}>
      {newestFirst.toReversed().map(({ status }) => (
        <i class={colourOf(status)} title={STATUS[status].label}></i>
      ))}
    </span>
  );
}
