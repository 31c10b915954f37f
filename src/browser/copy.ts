import { button, el } from "./element.ts";
import { notify } from "./notice.ts";

/** A button that copies a text. */
export function copyButton(label: string, text: () => string): HTMLButtonElement {
  return button(label, "quiet small", async () => {
    await copy(text());
    notify("Copied");
  });
}

/** Plain HTTP has no clipboard for pages, so an older way stands by. */
async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = el("textarea", { class: "hidden-text", "aria-hidden": "true" }, text);
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}
