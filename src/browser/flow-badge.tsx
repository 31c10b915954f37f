import type { Flow } from "./resources.ts";
import { Badge } from "./status.tsx";

/** Broken flows may have an older version that serves all the same. */
export function FlowBadge({ flow }: { flow: Flow }) {
  if (flow.state === "ready") return <Badge label="Ready" state="good" />;
  const label = flow.version === null ? "Broken" : "Broken, an older version serves";
  return <Badge label={label} state="bad" />;
}
