import type { Flow } from "./resources.ts";
import { Badge } from "./status.tsx";

/** Where nodes have different versions of it in their folders; nothing while they agree. */
export function DifferingBadge({ flow: { versions } }: { flow: Flow }) {
  if (versions.length === 0) return null;
  const title = versions.map(({ node, version }) => `${node}: ${version}`).join("\n");
  return <Badge label="Nodes differ" state="busy" title={title} />;
}

/** Broken flows may have an older version that serves all the same. */
export function FlowBadge({ flow }: { flow: Flow }) {
  if (flow.state === "ready") return <Badge label="Ready" state="good" />;
  const label = flow.version === null ? "Broken" : "Broken, an older version serves";
  return <Badge label={label} state="bad" />;
}
