import { el } from "../element.ts";
import { field } from "../field.ts";
import { filterForm } from "../filters.ts";
import { valueOf } from "../form.ts";
import { time } from "../format.ts";
import { pagedFrame } from "../paged-frame.ts";
import { openPagedList } from "../paged-list.ts";
import { badge } from "../status.ts";

interface AuditEntry {
  readonly id: number;
  readonly at: string;
  readonly user_name: string | null;
  readonly address: string;
  readonly action: string;
  readonly target: string | null;
  readonly result: string;
  readonly members: readonly string[];
}

/** Who did what to what, when and from where; refused attempts too. */
export async function showAudit(place: HTMLElement): Promise<void> {
  const form = el(
    "form",
    { class: "filters", role: "search" },
    field({ name: "user_name", label: "User", type: "search" }),
    field({ name: "action", label: "Action", type: "search" }),
    field({ name: "target", label: "Of", type: "search" }),
  );
  const empty = [el("h2", {}, "No entry is here"), el("p", {}, "Change the filters above.")];
  const columns = ["When", "-Who", "Action", "Of", "-Members", "-From", "Result"];
  const frame = pagedFrame("Audit", columns, empty);
  const list = openPagedList<AuditEntry>({
    container: frame,
    path: ["audit"],
    query: () => ({
      user_name: valueOf(form, "user_name"),
      action: valueOf(form, "action"),
      target: valueOf(form, "target"),
    }),
    row: toRow,
  });
  place.replaceChildren(form, frame);
  await filterForm(form, () => list.reload());
}

function toRow(entry: AuditEntry): HTMLElement {
  const { at, user_name, address, action, target, result, members } = entry;
  const isDone = /^2\d\d$/.test(result);
  return el(
    "tr",
    {},
    el("td", {}, time(at)),
    el("td", { class: "wide" }, user_name ?? "–"),
    el("th", { scope: "row", class: "act" }, action),
    el("td", {}, target ?? "–"),
    el("td", { class: "wide" }, members.join(", ")),
    el("td", { class: "wide" }, address),
    el("td", {}, isDone ? badge("Done", "good", result) : badge(result, "bad")),
  );
}
