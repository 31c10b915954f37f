import { Button } from "./button.tsx";
import { notify } from "./notice.tsx";

/** A button that copies a text, and says so to whoever has to know. */
export function CopyButton({
  text,
  copied,
}: {
  text: () => string;
  copied?: (() => void) | undefined;
}) {
  const act = async (): Promise<void> => {
    await copy(text());
    copied?.();
    notify("Copied");
  };
  return (
    <Button style="quiet small" act={act}>
      Copy
    </Button>
  );
}

/** A line that is copied as a whole: a URL, a key, an identifier. */
export function CopiedLine({ text, copied }: { text: string; copied?: (() => void) | undefined }) {
  return (
    <p class="secret">
      <code>{text}</code>
      <CopyButton text={() => text} copied={copied} />
    </p>
  );
}

/** Plain HTTP has no clipboard for pages, so an older way stands by. */
async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copySelected(text);
  }
}

/** @throws Error where the browser does not let it */
function copySelected(text: string): void {
  const focused = document.activeElement;
  const area = document.createElement("textarea");
  area.className = "hidden-text";
  area.value = text;
  // Beside what has the focus: a dialog makes the rest of the page inert.
  (focused?.parentElement ?? document.body).append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  if (focused instanceof HTMLElement) focused.focus({ preventScroll: true });
  if (!isCopied) throw new Error("The browser did not copy it: select the text, and copy that");
}
