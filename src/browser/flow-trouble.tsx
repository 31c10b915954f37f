import { ApiError, read } from "./api.ts";
import { useLoaded, useRefresh } from "./loaded.ts";
import { may, pagePath } from "./page.ts";
import type { Flow } from "./resources.ts";

/** Why each call of a webhook fails, whatever is sent; nothing where its flow serves. */
export function FlowTrouble({ flow }: { flow: string }) {
  const [found, reload] = useLoaded(async () => ({ fault: await readFault(flow) }), [flow]);
  const fault = found?.fault ?? null;
  useRefresh(reload, fault !== null);
  if (fault === null) return null;
  return (
    <div class="trouble" id="flow-trouble">
      {fault === "gone" ? (
        <p>
          The flow {flow} is not in the plugins folder, so each call fails. Put its file back, or
          choose another flow in the <a href="#settings">settings</a>.
        </p>
      ) : (
        <p>
          The flow <a href={pagePath("flows", flow)}>{flow}</a> is broken, and no version of it
          serves, so each call fails.
        </p>
      )}
    </div>
  );
}

async function readFault(flow: string): Promise<"gone" | "broken" | null> {
  if (!may("flow.read")) return null;
  try {
    const { version, versions } = await read<Flow>(["flow", flow]);
    // Another node may serve one.
    return version === null && versions.length === 0 ? "broken" : null;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return "gone";
    throw error;
  }
}
