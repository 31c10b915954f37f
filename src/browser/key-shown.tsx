import { CopiedLine } from "./copy.tsx";
import { readExampleBody } from "./example-body.ts";
import { useLoaded } from "./loaded.ts";
import type { Webhook } from "./resources.ts";
import { curlLine } from "./snippets.ts";

/** A key where it is shown for the only time, with all that a first call needs. */
export function KeyShown({ webhook, value }: { webhook: Webhook; value: string }) {
  const { url, require_login, flow } = webhook;
  const [example] = useLoaded(async () => ({ body: await readExampleBody(flow) }), [flow]);
  return (
    <>
      <p>This is shown once. Keep it where your callers' secrets are kept.</p>
      <h3>Key</h3>
      <CopiedLine text={value} />
      <h3>A whole call</h3>
      {example === null ? null : (
        <CopiedLine text={curlLine({ url, key: value, require_login, ...example })} />
      )}
    </>
  );
}
