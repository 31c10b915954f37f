import { readAll } from "../api.ts";
import { useLoaded } from "../loaded.ts";
import { pagePath } from "../page.ts";
import type { Named } from "../resources.ts";
import { Empty, NamedCell, Table, type Column } from "../table.tsx";

interface Bundle extends Named {
  readonly description: string | null;
  readonly directory: string;
  readonly flows: readonly string[];
}

const COLUMNS: readonly Column<Bundle>[] = [
  ["Name", ({ name, description }) => <NamedCell name={name} note={description} />, "head"],
  ["Folder", ({ directory }) => <code>{directory}</code>],
  ["Flows", ({ flows }) => <Flows names={flows} />],
];

export function Bundles() {
  const note = "Folders of the plugins folder with a bundle.yaml; they are changed there.";
  const [bundles] = useLoaded(() => readAll<Bundle>("bundle"));
  if (bundles === null) return null;
  if (bundles.length === 0) return <Empty title="There is no bundle yet">{note}</Empty>;
  return (
    <div>
      <p class="soft">{note}</p>
      <Table caption="Bundles" columns={COLUMNS} items={bundles} />
    </div>
  );
}

function Flows({ names }: { names: readonly string[] }) {
  const links = names.map((name) => <a href={pagePath("flows", name)}>{name}</a>);
  return <span class="boxes">{links}</span>;
}
