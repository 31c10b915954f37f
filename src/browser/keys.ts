/**
 * Acts on single keys of a page, unless somebody types into a field or a dialog is open.
 *
 * @returns ends it
 */
export function onKeys(acts: Readonly<Record<string, () => void>>): () => void {
  const press = (event: KeyboardEvent): void => {
    const { key, ctrlKey, metaKey, altKey, target } = event;
    const act = Object.hasOwn(acts, key) ? acts[key] : undefined;
    if (act === undefined || ctrlKey || metaKey || altKey || isTyping(target)) return;
    event.preventDefault();
    act();
  };
  document.addEventListener("keydown", press);
  return () => document.removeEventListener("keydown", press);
}

function isTyping(target: EventTarget | null): boolean {
  const isField = target instanceof HTMLElement && target.closest("input, textarea, select");
  return Boolean(isField) || document.querySelector("dialog[open]") !== null;
}
