import { complain } from "./notice.ts";

/** How long typing rests before the list is asked, in milliseconds. */
const REST_MS = 250;

/**
 * A form of filters: the address carries them, so that a filtered list can be reloaded, kept as a
 * bookmark and handed on.
 */
export async function filterForm(form: HTMLFormElement, apply: () => Promise<void>): Promise<void> {
  restore(form);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const run = () => {
    keep(form);
    apply().catch(complain);
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    run();
  });
  form.addEventListener("input", (event) => {
    clearTimeout(timer);
    const isText = event.target instanceof HTMLInputElement;
    timer = setTimeout(run, isText ? REST_MS : 0);
  });
  await apply();
}

function controlsOf(form: HTMLFormElement): (HTMLInputElement | HTMLSelectElement)[] {
  return [...form.querySelectorAll<HTMLInputElement | HTMLSelectElement>("input, select")];
}

function restore(form: HTMLFormElement): void {
  const query = new URLSearchParams(location.search);
  for (const control of controlsOf(form)) {
    const value = query.get(control.name);
    if (value === null) continue;
    if (control instanceof HTMLSelectElement && !hasChoice(control, value)) {
      control.add(new Option(value, value));
    }
    control.value = value;
  }
}

function hasChoice(select: HTMLSelectElement, value: string): boolean {
  return [...select.options].some((option) => option.value === value);
}

function keep(form: HTMLFormElement): void {
  const query = new URLSearchParams();
  for (const { name, value } of controlsOf(form)) if (value !== "") query.set(name, value);
  history.replaceState(null, "", query.size === 0 ? location.pathname : `?${query}`);
}
