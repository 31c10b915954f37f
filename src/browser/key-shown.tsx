import { CopiedLine } from "./copy.tsx";
import { readExampleBody } from "./example-body.ts";
import { useLoaded } from "./loaded.ts";
import type { Webhook } from "./resources.ts";
import { curlLine } from "./snippets.ts";
import { lacksOf } from "./webhook-use.tsx";

/**
 * A key where it is shown for the only time, with all that a first call needs.
 *
 * @param props.copied once somebody has it, by a button or by hand
 */
export function KeyShown(props: {
  webhook: Webhook;
  value: string;
  copied?: (() => void) | undefined;
}) {
  const { webhook, value, copied } = props;
  const { url, require_login, flow } = webhook;
  const [example] = useLoaded(async () => ({ body: await readExampleBody(flow) }), [flow]);
  return (
    <div onCopy={() => copied?.()}>
      <p>This is shown once. Keep it where your callers' secrets are kept.</p>
      <h3>Key</h3>
      <CopiedLine text={value} copied={copied} />
      <h3>A whole call</h3>
      {lacksOf(webhook).map((lack) => (
        <p class="trouble">{lack}</p>
      ))}
      {example === null ? null : (
        <CopiedLine
          text={curlLine({ url, key: value, require_login, ...example })}
          copied={copied}
        />
      )}
    </div>
  );
}
