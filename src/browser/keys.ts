/** Of the browser's storage; whatever else is there, single keys act. */
const STORED = "flowhook-keys";
const OFF = "off";

/** Whether single keys do something here: whoever dictates turns them off. */
export function areKeysOn(): boolean {
  try {
    return localStorage.getItem(STORED) !== OFF;
  } catch {
    // The browser stores nothing for this address.
    return wereKeysOn;
  }
}

let wereKeysOn = true;

/** For all pages of this browser; for this page alone where it stores nothing. */
export function turnKeys(isOn: boolean): void {
  wereKeysOn = isOn;
  try {
    localStorage.setItem(STORED, isOn ? "on" : OFF);
  } catch {
    // Nothing is stored.
  }
}

/**
 * Acts on single keys of a page, unless they are turned off, somebody types into a field or a
 * dialog is open.
 *
 * @returns ends it
 */
export function onKeys(acts: Readonly<Record<string, () => void>>): () => void {
  const press = (event: KeyboardEvent): void => {
    const { key, ctrlKey, metaKey, altKey, target } = event;
    const act = Object.hasOwn(acts, key) ? acts[key] : undefined;
    if (act === undefined || ctrlKey || metaKey || altKey || isTyping(target)) return;
    if (!areKeysOn()) return;
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
