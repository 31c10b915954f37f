/** What somebody has changed in the forms of a page, and not saved. */

/** What each form held before somebody began to change it. */
const before = new WeakMap<HTMLFormElement, string>();
const changed = new WeakSet<HTMLFormElement>();
const saving = new WeakSet<HTMLFormElement>();

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
  for (const form of document.forms) before.delete(form);
}

/** Whether something else is typed or chosen than before; not while it is being saved. */
export function isUnsaved(form: HTMLFormElement): boolean {
  const held = before.get(form);
  return held !== undefined && !saving.has(form) && held !== contentOf(form);
}

/** Waits for what saves a form: from then on what it holds is saved. */
export async function save(form: HTMLFormElement, work: Promise<unknown>): Promise<void> {
  saving.add(form);
  try {
    await work;
    before.delete(form);
    changed.delete(form);
  } finally {
    saving.delete(form);
  }
}

function formOf(target: EventTarget | null): HTMLFormElement | null {
  return target instanceof Element ? target.closest<HTMLFormElement>("form[data-kept]") : null;
}

function keep(form: HTMLFormElement | null): void {
  if (form !== null && !changed.has(form)) before.set(form, contentOf(form));
}

/** A button within a form, which does not send it, changes what there is to fill in. */
function begin({ type, target }: Event): void {
  const isButton = target instanceof Element && target.closest("button[type=button]") !== null;
  const form = formOf(target);
  if (form !== null && (type !== "click" || isButton)) changed.add(form);
}

/** The password that proves who somebody is changes nothing. */
function contentOf(form: HTMLFormElement): string {
  const proofs = form.querySelectorAll<HTMLInputElement>("[autocomplete=current-password]");
  const names = new Set([...proofs].map(({ name }) => name));
  return JSON.stringify([...new FormData(form)].filter(([name]) => !names.has(name)));
}
