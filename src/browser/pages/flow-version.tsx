import { read } from "../api.ts";
import { PageHead } from "../head.tsx";
import { PARAMS, pagePath } from "../page.ts";
import type { FlowVersion } from "../resources.ts";
import { SourceView } from "../source-view.tsx";
import { start } from "../start.tsx";
import { Badge } from "../status.tsx";
import { versionPath } from "../version-path.ts";

const NAME = PARAMS["name"] ?? "";
const VERSION = PARAMS["version"] ?? "";
const QUERY = new URLSearchParams(location.search);

start(
  async () => {
    const query = { file: QUERY.get("file") ?? undefined };
    return <VersionPage of={await read<FlowVersion>(["flow", NAME, "version", VERSION], query)} />;
  },
  {
    noun: "version",
    name: VERSION,
    reason: "Versions that serve no more are kept for a time.",
    list: ["flows", "Flows"],
  },
);

/** The files of a version as they ran, with the line that the address names. */
function VersionPage({ of }: { of: FlowVersion }) {
  const { version, is_serving, file, files, source } = of;
  const line = Number(QUERY.get("line"));
  return (
    <>
      <PageHead title={NAME} list={["flows", "Flows"]}>
        <span class="badges">
          {is_serving ? <Badge label="Serves" state="good" /> : null}
          {is_serving ? null : <Badge label="Older version" state="idle" />}
        </span>
      </PageHead>
      <p class="soft">
        Version <code>{version}</code>
        {is_serving ? "" : ", which serves no more. "}
        {is_serving ? null : <a href={pagePath("flows", NAME)}>The flow as it is now</a>}
      </p>
      {files.length === 1 ? null : <Files of={of} />}
      <h2>{file}</h2>
      {source === null ? (
        <p>The file is no text, or too large to be shown.</p>
      ) : (
        <SourceView source={source} errorLine={line > 0 ? line : null} />
      )}
    </>
  );
}

function Files({ of }: { of: FlowVersion }) {
  const { file, files } = of;
  return (
    <nav aria-label="Files" class="files">
      {files.map((path) => (
        <a
          href={versionPath({ ...of, file: path })}
          aria-current={path === file ? "page" : undefined}
        >
          {path}
        </a>
      ))}
    </nav>
  );
}
