import { isEnded } from "../shared/contract/status.ts";
import { whyUnsent } from "../shared/unsent.ts";
import { JsonView } from "./json-view.tsx";
import { IS_EARLIER } from "./page.ts";
import type { Execution } from "./resources.ts";
import { Said } from "./said.tsx";

/** Of the webhook's key when it was called, the record says nothing. */
const EARLIER =
  "RESPONSE_MATRIX is earlier: a caller who waited for the end got its status and message or, where the webhook has a key, the record of this execution.";

/** What was sent to the caller, and what was made for one and not sent. */
export function CallerAnswer({ execution }: { execution: Execution }) {
  const { response } = execution;
  const unsent = response === null ? null : whyUnsent(execution);
  return (
    <>
      <h2>What the caller got</h2>
      {unsent === null ? (
        <Sent execution={execution} />
      ) : (
        <>
          <p class="trouble">{unsent}</p>
          <JsonView value={response} label="the unsent response" title="Unsent response" />
        </>
      )}
    </>
  );
}

function Sent({ execution }: { execution: Execution }) {
  const { webhook, is_async, status, status_message, response, output_value } = execution;
  if (webhook === null) return <p>No answer: no call started this execution.</p>;
  if (is_async)
    return <p>An answer with the ID of this execution, at once: the call was asynchronous.</p>;
  if (!isEnded(status)) return <p>Nothing yet: the call waits for the end.</p>;
  if (IS_EARLIER && (status !== "ENDED_SUCCESS" || response === null)) return <p>{EARLIER}</p>;
  if (status !== "ENDED_SUCCESS")
    return <Answer status={500} body={`${status}: ${status_message ?? ""}`} />;
  if (response === null)
    return (
      <>
        <Answer status={200} body={null} />
        <JsonView value={output_value} label="the answer" />
      </>
    );
  return (
    <>
      <Answer status={response.status} body={null} />
      <JsonView value={response} label="the response" title="Response" />
    </>
  );
}

/** Whether somebody still waited for it is not recorded. */
function Answer({ status, body }: { status: number; body: string | null }) {
  return (
    <p class="answered">
      <strong>{status}</strong>{" "}
      {body === null ? null : (
        <code>
          <Said text={body} isCode />
        </code>
      )}
      <span class="soft">if the caller waited for the end</span>
    </p>
  );
}
