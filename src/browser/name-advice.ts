import { apiPath } from "./page.ts";

/**
 * Shows, while a name is typed, the URL that it makes and what is unwise about it. What is not
 * allowed is refused by the service, in its own words.
 */
export function adviseName(input: HTMLInputElement, preview: HTMLElement): void {
  const show = (): void => {
    const name = input.value.trim();
    const url = `${location.origin}${apiPath("webhook", name, "call")}`;
    preview.textContent = name === "" ? "" : url;
    input.toggleAttribute("data-advised", adviceFor(name) !== null);
    const hint = document.getElementById(`${input.name}-hint`);
    if (hint !== null) hint.textContent = adviceFor(name) ?? hint.dataset["text"] ?? "";
  };
  const hint = document.getElementById(`${input.name}-hint`);
  if (hint !== null) hint.dataset["text"] = hint.textContent ?? "";
  input.addEventListener("input", show);
  show();
}

/** The first thing that is unwise about a name (contract, section 2); null for a good one. */
function adviceFor(name: string): string | null {
  if (/[/\\?#%]/.test(name)) return "None of / \\ ? # % can be in a name.";
  if (/\s/.test(name)) return "A space becomes %20 in the URL: better use a hyphen.";
  if (/[^\p{L}\p{N}._~-]/u.test(name)) return "This character is encoded in the URL.";
  if (/[^\x20-\x7e]/.test(name)) return "Letters beyond a to z are encoded in the URL.";
  if (name.length > 40) return "A shorter name makes a URL that is easier to handle.";
  return null;
}
