import type { Child } from "hono/jsx/dom";
import { read, type List } from "./api.ts";
import { plural } from "./format.ts";
import { ButtonLink } from "./head.tsx";
import { may, pagePath } from "./page.ts";
import type { Flow, Webhook } from "./resources.ts";
import { Badge } from "./status.tsx";

/** What an empty service has already; null each: the visitor may not see it. */
export interface Begun {
  readonly flows: readonly Flow[] | null;
  readonly webhooks: readonly Webhook[] | null;
}

export async function readBegun(): Promise<Begun> {
  const items = async <Item,>(type: string) => (await read<List<Item>>([type])).items;
  const [flows, webhooks] = await Promise.all([
    may("flow.read") ? items<Flow>("flow") : null,
    may("webhook.read") ? items<Webhook>("webhook") : null,
  ]);
  return { flows, webhooks };
}

/** An empty service says what to do first. */
export function FirstSteps({ begun, folder }: { begun: Begun; folder: string | null }) {
  const [webhook] = begun.webhooks ?? [];
  const isFlow = (begun.flows ?? []).length > 0;
  return (
    <section id="start">
      <h2>Nothing was called yet</h2>
      <ol class="steps">
        <Step title="Write a flow" done={isFlow ? plural(begun.flows?.length ?? 0, "flow") : null}>
          <p>A TypeScript file in the plugins folder is a flow as soon as it is saved there.</p>
          {folder === null ? null : <p class="code">{folder}</p>}
          <ButtonLink style="quiet" to={pagePath("docs", "flows")}>
            How to write a flow
          </ButtonLink>
        </Step>
        <Step title="Create a webhook" done={webhook === undefined ? null : webhook.name}>
          <p>A webhook gives a flow its URL, and says who may call it.</p>
          {may("webhook.write") ? (
            <ButtonLink
              style={isFlow && webhook === undefined ? "" : "quiet"}
              to={pagePath("new-webhook")}
            >
              Create a webhook
            </ButtonLink>
          ) : null}
        </Step>
        <Step title="Make the first call" done={null}>
          <p>Call it from its page, or copy the line for a terminal from there.</p>
          {webhook === undefined ? (
            <p class="soft">There is no webhook to call yet.</p>
          ) : (
            <ButtonLink to={`${pagePath("webhooks", webhook.name)}#try`}>
              Try {webhook.name}
            </ButtonLink>
          )}
        </Step>
      </ol>
      <p class="soft">
        More in the <a href={pagePath("docs", "recipes")}>recipes</a>.
      </p>
    </section>
  );
}

/** @param done what is there already; null: nothing */
function Step(props: { title: string; done: string | null; children: Child }) {
  const { title, done, children } = props;
  return (
    <li>
      <h3 class="first">
        {title} {done === null ? null : <Badge label={done} state="good" />}
      </h3>
      {children}
    </li>
  );
}
