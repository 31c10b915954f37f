import { pagePath } from "./page.ts";
import type { FlowVersion } from "./resources.ts";

/** The page of a file of a flow's version, with a line marked. */
export function versionPath(
  { flow, version, file }: Pick<FlowVersion, "flow" | "version" | "file">,
  line?: string,
): string {
  const query = new URLSearchParams({ file, ...(line === undefined ? {} : { line }) });
  return `${pagePath("flows", flow, "versions", version)}?${query}`;
}
