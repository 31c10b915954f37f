/** What somebody has changed in the forms of a page, and not saved. */

/** What each form held before somebody began to change it. */
const before = new WeakMap<HTMLFormElement, string>();
const changed = new WeakSet<HTMLFormElement>();
const saving = new WeakMap<HTMLFormElement, Saving>();

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

/** What the controls of a form that is being saved hold: a text, or whether they are set. */
interface Saving {
  readonly sent: Map<Control, string | boolean>;
  /** Of those that somebody has used since then. */
  readonly typed: Map<Control, string | boolean>;
}

/** Of the window: what was sent of a form is saved, or refused. */
export const SAVE_END = "saveend";

/** The browser asks before it leaves a page with such a form. */
export function watchUnsaved(): void {
  // What comes after a form is drawn, such as a list of choices, is no change of anybody's.
  for (const event of ["focusin", "pointerdown", "keydown", "beforeinput"])
    addEventListener(event, ({ target }) => keep(formOf(target)), { capture: true });
  for (const event of ["input", "change", "click"])
    addEventListener(event, (of) => begin(of), { capture: true });
  addEventListener("beforeunload", (event) => {
    if (hasUnsaved()) event.preventDefault();
  });
}

/** Whether a form of the page is. */
export function hasUnsaved(): boolean {
  return [...document.forms].some(isUnsaved);
}

/** Before a page is left whose forms are of what is gone: nobody is asked about them. */
export function giveUpUnsaved(): void {
  for (const form of document.forms) changed.delete(form);
}

/** Whether somebody typed or chose something else than before or, while it is saved, than was sent. */
export function isUnsaved(form: HTMLFormElement): boolean {
  const now = saving.get(form);
  if (now !== undefined) return [...now.typed].some(([of, held]) => held !== now.sent.get(of));
  return changed.has(form) && before.get(form) !== contentOf(form);
}

/**
 * Whether something newer may be drawn in a form: nothing is lost by that which was typed in it, or
 * sent and may still be refused. What its fields hold then is no change of anybody's.
 */
export function isFree(form: HTMLFormElement): boolean {
  if (saving.has(form) || isUnsaved(form)) return false;
  changed.delete(form);
  return true;
}

/**
 * Waits for what saves a form: from then on what was sent is saved, and nothing typed since. Of a
 * form that is sent again before its answer has come, the last counts.
 */
export async function save(form: HTMLFormElement, work: Promise<unknown>): Promise<void> {
  const sent = new Map(controlsOf(form).map((control) => [control, heldBy(control)]));
  const now: Saving = { sent, typed: new Map() };
  saving.set(form, now);
  try {
    await work;
    if (saving.get(form) === now) takeAsSaved(form, now);
  } finally {
    if (saving.get(form) === now) saving.delete(form);
    dispatchEvent(new Event(SAVE_END));
  }
}

/**
 * Draws a text in its field. What is typed while the form is saved stays, with the caret, what is
 * being composed and what can be undone: what is drawn is then what is saved of the field.
 */
export function fill(field: HTMLInputElement | HTMLTextAreaElement, text: string): void {
  const now = field.form === null ? undefined : saving.get(field.form);
  if (now?.typed.has(field)) now.sent.set(field, text);
  else field.value = text;
}

/** The answer is drawn by now, over what was chosen while it was waited for: that is put back. */
function takeAsSaved(form: HTMLFormElement, { sent, typed }: Saving): void {
  const kept = [...typed.keys()].filter((control) => heldBy(control) === typed.get(control));
  const saved = kept.map((control) => [control, sent.get(control) ?? heldBy(control)] as const);
  before.set(form, contentOf(form, new Map(saved)));
  for (const [control, held] of typed) put(control, held);
  if (typed.size === 0) changed.delete(form);
}

function formOf(target: EventTarget | null): HTMLFormElement | null {
  return target instanceof Element ? target.closest<HTMLFormElement>("form[data-kept]") : null;
}

function keep(form: HTMLFormElement | null): void {
  if (form !== null && !changed.has(form) && !saving.has(form)) before.set(form, contentOf(form));
}

/** A button within a form, which does not send it, changes what there is to fill in. */
function begin({ type, target }: Event): void {
  const isButton = target instanceof Element && target.closest("button[type=button]") !== null;
  const form = formOf(target);
  if (form === null || (type === "click" && !isButton)) return;
  changed.add(form);
  if (isControl(target)) saving.get(form)?.typed.set(target, heldBy(target));
}

/** A file cannot be put back, and is not taken away either. */
function isControl(target: EventTarget | null): target is Control {
  if (target instanceof HTMLInputElement) return target.type !== "file";
  return target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement;
}

function controlsOf(form: HTMLFormElement): readonly Control[] {
  return [...form.elements].filter(isControl);
}

function isBox(control: Control): control is HTMLInputElement {
  return control instanceof HTMLInputElement && ["checkbox", "radio"].includes(control.type);
}

function heldBy(control: Control): string | boolean {
  return isBox(control) ? control.checked : control.value;
}

function put(control: Control, held: string | boolean): void {
  if (heldBy(control) === held) return;
  if (isBox(control)) control.checked = held === true;
  else control.value = String(held);
}

/**
 * The password that proves who somebody is changes nothing.
 *
 * @param over in place of what these controls hold
 */
function contentOf(form: HTMLFormElement, over: Saving["typed"] = new Map()): string {
  const named = controlsOf(form)
    .filter(({ name, autocomplete }) => name !== "" && autocomplete !== "current-password")
    .map((control) => [control, over.get(control) ?? heldBy(control)] as const);
  const set = named.filter(([, held]) => held !== false);
  return JSON.stringify(set.map(([of, held]) => [of.name, isBox(of) ? of.value : held]));
}
