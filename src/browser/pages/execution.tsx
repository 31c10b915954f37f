import { PageHead } from "../head.tsx";
import { useLayoutEffect, useState, type Child } from "hono/jsx/dom";
import { isEnded } from "../../shared/contract/status.ts";
import { read, type List } from "../api.ts";
import { CallerAnswer } from "../caller-answer.tsx";
import { CopyButton } from "../copy.tsx";
import { ExecutionActs } from "../execution-acts.tsx";
import { ExecutionMessage } from "../execution-message.tsx";
import { between, duration } from "../format.ts";
import { gather } from "../gathered.ts";
import { JsonView } from "../json-view.tsx";
import { follow } from "../live.ts";
import { LogView } from "../log-view.tsx";
import { Neighbours } from "../neighbours.tsx";
import { complain } from "../notice.tsx";
import { may, PARAMS, pagePath } from "../page.ts";
import type { Execution, ExecutionSummary, LogLine } from "../resources.ts";
import { nameDocument, start } from "../start.tsx";
import { Badge, StatusBadge } from "../status.tsx";
import { Pairs } from "../table.tsx";
import { ExactTime, zoneName } from "../time.tsx";

const ID = PARAMS["id"] ?? "";

interface Shown {
  readonly execution: Execution;
  readonly lines: readonly LogLine[];
}

start(
  async () => {
    const first = await readAll();
    nameDocument(first.execution.webhook ?? first.execution.flow);
    return <ExecutionPage first={first} />;
  },
  {
    noun: "execution",
    name: ID,
    reason: "Executions that have ended are kept for a time, and then deleted.",
    list: ["executions", "Executions"],
  },
);

/** The log of one that has ended; while one runs, its lines come by themselves. */
async function readAll(): Promise<Shown> {
  const execution = await read<Execution>(["execution", ID]);
  return { execution, lines: isEnded(execution.status) ? await readLog() : [] };
}

async function readLog(): Promise<readonly LogLine[]> {
  const lines: LogLine[] = [];
  let cursor: string | undefined;
  do {
    const query: Record<string, string | undefined> = { limit: "500", cursor };
    const page: List<LogLine> = await read<List<LogLine>>(["execution", ID, "log"], query);
    lines.push(...page.items);
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return lines;
}

function ExecutionPage({ first }: { first: Shown }) {
  const [{ execution, lines }, setShown] = useState(first);
  useLayoutEffect(() => {
    if (isEnded(first.execution.status)) return;
    return followIt(
      (added) => setShown((now) => ({ ...now, lines: [...now.lines, ...added] })),
      (now) => setShown(({ lines: before }) => ({ lines: before, ...now })),
    );
  }, []);
  const { id, status, webhook, flow, is_productive, is_async } = execution;
  return (
    <>
      <PageHead title={webhook ?? flow} list={["executions", "Executions"]}>
        <span id="badges" class="badges">
          <span role="status">
            <StatusBadge status={status} />
          </span>
          {is_productive ? null : <Badge label="Development" state="busy" />}
          {is_async ? <Badge label="Asynchronous" state="idle" /> : null}
        </span>
        <ExecutionActs execution={execution} />
      </PageHead>
      <Neighbours of={execution} />
      <ExecutionMessage execution={execution} lines={lines} />
      <section id="response">
        <CallerAnswer execution={execution} />
      </section>
      <section id="log">
        <LogView lines={lines} name={id} isRunning={!isEnded(status)} />
      </section>
      <div class="halves">
        <div>
          <section id="steps">
            <h2>Steps</h2>
            <Steps execution={execution} />
            <Pairs of={factsOf(execution)} />
          </section>
        </div>
        <div>
          <section>
            <JsonView value={execution.input_value} label="the input" title="Input" />
          </section>
          {isEnded(status) ? (
            <section id="output">
              <JsonView value={execution.output_value} label="the output" title="Output" />
            </section>
          ) : null}
        </div>
      </div>
    </>
  );
}

/** Lines and states as they come; at the end everything is read once more. */
function followIt(
  addLines: (lines: readonly LogLine[]) => void,
  change: (now: Partial<Shown> & { execution: Execution }) => void,
): () => void {
  let last = 0;
  let isWhole = false;
  const take = gather<{ id: string; line: LogLine }>(
    ({ id }) => id,
    (gathered) => {
      if (!isWhole) addLines(gathered.map(({ line }) => line));
    },
    100,
  );
  /** The end has the whole log; what was asked for before it says less. */
  const refresh = async (hasEnded: boolean): Promise<void> => {
    const now = hasEnded
      ? await readAll()
      : { execution: await read<Execution>(["execution", ID]) };
    if (isWhole) return;
    isWhole = hasEnded;
    change(now);
  };
  const live = follow(["execution", ID, "events"], {
    // After an interruption lines may come twice.
    log: (data, id) => {
      if (Number(id) <= last) return;
      last = Number(id);
      take({ id, line: data as LogLine });
    },
    // Where the end cannot be read, the stream tells of it once more when it comes back.
    status: (data) => {
      const hasEnded = isEnded((data as ExecutionSummary).status);
      refresh(hasEnded).then(() => hasEnded && live.close(), complain);
    },
  });
  return () => live.close();
}

function Steps({ execution: { created_at, started_at, ended_at } }: { execution: Execution }) {
  const rows = [
    ["Recorded", created_at, null],
    ["Started", started_at, between(created_at, started_at)],
    ["Ended", ended_at, between(started_at ?? created_at, ended_at)],
  ] as const;
  return (
    <table class="steps">
      <tbody>
        {rows.map(([name, at, after]) => (
          <tr>
            <th scope="row">{name}</th>
            <td>{at === null ? "not yet" : <ExactTime of={at} />}</td>
            <td class="figure soft">{after === null ? "" : `after ${duration(after)}`}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Version({ of, version }: { of: string; version: string }) {
  const code = <code>{version}</code>;
  return may("flow.read") ? <a href={pagePath("flows", of, "versions", version)}>{code}</a> : code;
}

function factsOf(execution: Execution): (readonly [string, Child])[] {
  const { id, webhook, flow, flow_version, role, node, created_at } = execution;
  const { parent_id, replay_of } = execution;
  const link = (path: string, text: string) => <a href={path}>{text}</a>;
  const copied = (
    <span class="secret">
      <code>{id}</code>
      <CopyButton text={() => id} />
    </span>
  );
  const facts: (readonly [string, Child])[] = [
    ["ID", copied],
    ["Webhook", webhook === null ? "none" : link(pagePath("webhooks", webhook), webhook)],
    ["Flow", link(pagePath("flows", flow), flow)],
    ["Version", flow_version === null ? "none" : <Version of={flow} version={flow_version} />],
    ["Role", role ?? "none"],
    ["Time zone", zoneName(created_at)],
  ];
  if (node !== null) facts.push(["Node", node]);
  if (parent_id !== null)
    facts.push(["Started by", link(pagePath("executions", parent_id), parent_id)]);
  if (replay_of !== null)
    facts.push(["Replay of", link(pagePath("executions", replay_of), replay_of)]);
  return facts;
}
