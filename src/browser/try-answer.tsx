import { read } from "./api.ts";
import { CopyButton } from "./copy.tsx";
import { between, duration } from "./format.ts";
import { parseDigits } from "../shared/json-exact.ts";
import { JsonView } from "./json-view.tsx";
import type { CallAnswer } from "./legs.ts";
import { useLoaded } from "./loaded.ts";
import { may, pagePath } from "./page.ts";
import type { Execution, Webhook } from "./resources.ts";
import { Badge, StatusBadge } from "./status.tsx";
import { Pairs } from "./table.tsx";
import { Said } from "./said.tsx";

/** The answer as it came. */
export function TryAnswer({ answer }: { answer: CallAnswer }) {
  return (
    <div>
      <Body answer={answer} />
      <details>
        <summary>Headers of the answer</summary>
        <Pairs of={answer.headers} />
      </details>
    </div>
  );
}

/** Its status, and what to do about one that comes from the service and not from the flow. */
export function Verdict({ status, webhook }: { status: number; webhook: Webhook }) {
  return (
    <p class="badges">
      <Badge label={String(status)} state={status < 400 ? "good" : "bad"} />
      <span>{adviceFor(status, webhook)}</span>
    </p>
  );
}

function adviceFor(status: number, webhook: Webhook): string {
  if (status === 401) return whyRefused(webhook);
  if (status === 402) return "The webhook is in development, and nobody has been active here.";
  if (status === 404) return "There is no enabled webhook at this URL: enable it first.";
  if (status === 405) return `It takes ${(webhook.methods ?? []).join(", ")} alone.`;
  return "";
}

/** What callers send beside the call, which one from here may lack. */
function whyRefused({ signature, is_key_required, require_login }: Webhook): string {
  const needs = [
    ...(signature?.mode === "enforce" ? ["signature"] : []),
    ...(is_key_required ? ["key"] : []),
  ];
  if (needs.length > 0) return `Its ${needs.join(" or its ")} is missing or wrong.`;
  return require_login ? "Your session has ended: sign in again." : "";
}

/** The execution behind an answer. */
export function ExecutionLine({ id }: { id: string }) {
  const isAllowed = may("execution.read");
  const [found] = useLoaded(() =>
    isAllowed ? read<Execution>(["execution", id]).catch(() => null) : Promise.resolve(null),
  );
  if (!isAllowed) return <p class="soft">Execution {id}</p>;
  return (
    <p class="badges">
      {found === null ? null : (
        <>
          <StatusBadge status={found.status} />
          <span class="soft">ran {duration(between(found.started_at, found.ended_at))}</span>
        </>
      )}
      <a href={pagePath("executions", id)}>Open its execution</a>
    </p>
  );
}

function Body({ answer }: { answer: CallAnswer }) {
  const { text, finalUrl } = answer;
  const type = answer.headers.find(([name]) => name === "content-type")?.[1] ?? "";
  if (text === "") return <p class="soft">The answer has no body.</p>;
  if (/json/.test(type)) return <Json text={text} />;
  if (/html|svg|xml/.test(type) && finalUrl !== null) return <Framed url={finalUrl} text={text} />;
  return <Source text={text} />;
}

function Json({ text }: { text: string }) {
  try {
    return <JsonView value={parseDigits(text)} label="the answer" />;
  } catch {
    return <Source text={text} />;
  }
}

function Source({ text }: { text: string }) {
  return (
    <div class="json-frame">
      <div class="json-tools">
        <CopyButton text={() => text} />
      </div>
      <pre tabindex={0}>
        <Said text={text} isCode />
      </pre>
    </div>
  );
}

/**
 * A page of a flow: the final leg once more, in a frame of an opaque origin, so that its scripts
 * have nothing of this page and nothing of the visitor's session.
 */
function Framed({ url, text }: { url: string; text: string }) {
  return (
    <div>
      <iframe
        class="answer"
        title="The answer as a page"
        sandbox="allow-forms allow-scripts"
        referrerpolicy="no-referrer"
        src={url}
      />
      <details>
        <summary>Its source</summary>
        <Source text={text} />
      </details>
    </div>
  );
}
