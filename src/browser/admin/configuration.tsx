import type { Configuration } from "../resources.ts";
import { read } from "../api.ts";
import { useLoaded } from "../loaded.ts";
import { pagePath } from "../page.ts";
import { Check } from "../field.tsx";
import { useState } from "hono/jsx/dom";
import { Empty, Table, type Column } from "../table.tsx";

type Key = Configuration["items"][number];

/** @param file whose path stands above the list, so that its name says enough in it */
function columnsOf(file: string | null): readonly Column<Key>[] {
  const short = (place: string | null) =>
    file !== null && place?.startsWith(file) === true
      ? `${file.split(/[\\/]/).at(-1)}${place.slice(file.length)}`
      : place;
  const toSource = ({ source, place, overrides }: Key) => (
    <Source source={source} place={short(place)} overrides={short(overrides)} />
  );
  return [
    ["Key", ({ key }) => <code>{key}</code>, "head"],
    ["Value", (item) => <Value of={item} />],
    ["Comes from", toSource],
  ];
}

/** What the service was started with, and who said so. */
export function ConfigurationKeys() {
  const [configuration] = useLoaded(() => read<Configuration>(["config"]));
  const [isGiven, setGiven] = useState(false);
  if (configuration === null) return null;
  const { file, items } = configuration;
  const shown = isGiven ? items.filter(({ source }) => source !== "default") : items;
  return (
    <>
      <p class="soft">
        {file === null ? (
          "No configuration file was read."
        ) : (
          <>
            Read from <code>{file}</code>.
          </>
        )}{" "}
        Changes take effect with the next start. <a href={docs()}>What each key means</a>.
      </p>
      <Check
        name="given"
        label="Only what is not the default"
        isChecked={false}
        onChange={setGiven}
      />
      {shown.length === 0 ? (
        <Empty title="Every key has its default">Nothing was given.</Empty>
      ) : (
        <Table
          caption="Configuration"
          columns={columnsOf(file)}
          items={shown}
          rowOf={({ key }) => ({ id: key })}
        />
      )}
    </>
  );
}

function docs(): string {
  return pagePath("docs", "configuration");
}

const SECRET: readonly string[] = ["ADMIN_PASSWORD", "DATA_KEY"];

function Value({ of: { key, value, source } }: { of: Key }) {
  if (SECRET.includes(key) && source !== "default") return <span class="soft">hidden</span>;
  if (value === null) return <span class="soft">none</span>;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text === "" ? <span class="soft">empty</span> : <code>{text}</code>;
}

function Source({ source, place, overrides }: Pick<Key, "source" | "place" | "overrides">) {
  if (source === "default") return <span class="soft">default</span>;
  return (
    <>
      {place}
      {overrides === null ? null : <span class="soft line">instead of {overrides}</span>}
    </>
  );
}
