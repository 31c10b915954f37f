import { readAll } from "../api.ts";
import { el } from "../element.ts";
import { pagePath } from "../page.ts";
import { plainTable } from "../paged-frame.ts";
import type { Named } from "../resources.ts";

interface Bundle extends Named {
  readonly description: string | null;
  readonly directory: string;
  readonly flows: readonly string[];
}

export async function showBundles(place: HTMLElement): Promise<void> {
  const note = "Folders of the plugins folder with a bundle.yaml; they are changed there.";
  const bundles = await readAll<Bundle>("bundle");
  const rows = bundles.map(({ name, description, directory, flows }) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, name, el("p", { class: "soft line" }, description ?? "")),
      el("td", {}, el("code", {}, directory)),
      el(
        "td",
        {},
        el(
          "span",
          { class: "boxes" },
          ...flows.map((flow) => el("a", { href: pagePath("flows", flow) }, flow)),
        ),
      ),
    ),
  );
  const title = el("h2", {}, "There is no bundle yet");
  place.replaceChildren(
    rows.length === 0
      ? el("div", { class: "empty" }, title, el("p", {}, note))
      : el(
          "div",
          {},
          el("p", { class: "soft" }, note),
          plainTable("Bundles", ["Name", "Folder", "Flows"], rows),
        ),
  );
}
