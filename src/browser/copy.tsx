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
    copyByCommand(text);
  }
}

/**
 * Gives the text to the browser's own copying, which takes any length at once: a field that holds it
 * would be laid out first, which lasts for minutes with some megabytes.
 *
 * @throws Error where the browser does not let it
 */
function copyByCommand(text: string): void {
  const give = (event: ClipboardEvent): void => {
    event.clipboardData?.setData("text/plain", text);
    event.preventDefault();
  };
  // Without a selection some browsers copy only where this is said.
  const allow = (event: Event): void => event.preventDefault();
  document.addEventListener("beforecopy", allow, { capture: true });
  document.addEventListener("copy", give, { capture: true });
  const isCopied = document.execCommand("copy");
  document.removeEventListener("copy", give, { capture: true });
  document.removeEventListener("beforecopy", allow, { capture: true });
  if (!isCopied) throw new Error("The browser did not copy it: select the text, and copy that");
}
