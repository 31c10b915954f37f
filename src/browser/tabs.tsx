import { useLayoutEffect, useRef, useState, type Child } from "hono/jsx/dom";
import { isUnsaved, SAVE_END } from "./unsaved.ts";

interface Tab {
  readonly id: string;
  readonly label: string;
  /** Ids of what is in it, which links lead to. */
  readonly holds?: readonly string[];
  /** Made when it is opened for the first time, and kept; told whether it is open now. */
  readonly content: (isOpen: boolean) => Child;
}

/** Tabs (WAI-ARIA Authoring Practices): arrows move, the address names the open one. */
export function Tabs({ label, tabs }: { label: string; tabs: readonly Tab[] }) {
  const ofAddress = () =>
    tabs.find(({ id, holds = [] }) => [id, ...holds].includes(location.hash.slice(1)))?.id;
  const [open, setOpen] = useState(() => ofAddress() ?? tabs[0]?.id ?? "");
  const [opened, setOpened] = useState<readonly string[]>([open]);
  const show = (id: string): void => {
    setOpen(id);
    setOpened((before) => [...new Set([...before, id])]);
  };
  useLayoutEffect(() => {
    const follow = () => show(ofAddress() ?? open);
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, [open]);
  // Nothing was there to go to while it was hidden.
  useLayoutEffect(() => {
    const [, target = ""] = location.hash.split("#");
    if (target !== open) document.getElementById(target)?.scrollIntoView({ block: "center" });
  }, [open]);
  const unsaved = useUnsaved(tabs, open);
  const choose = (id: string): void => {
    history.replaceState(null, "", `#${id}`);
    show(id);
  };
  return (
    <>
      <Strip label={label} tabs={tabs} open={open} unsaved={unsaved} choose={choose} />
      {tabs.map(({ id, content }) => (
        <section
          key={id}
          role="tabpanel"
          id={id}
          aria-labelledby={`${id}-tab`}
          hidden={id !== open}
        >
          {opened.includes(id) ? content(id === open) : null}
        </section>
      ))}
    </>
  );
}

/** The tabs that were left with something changed in them: it is kept there, and not saved. */
function useUnsaved(tabs: readonly Tab[], open: string): readonly string[] {
  const [unsaved, setUnsaved] = useState<readonly string[]>([]);
  useLayoutEffect(() => {
    const update = (): void => {
      const found = tabs.map(({ id }) => id).filter((id) => id !== open && hasUnsavedIn(id));
      setUnsaved((before) => (before.join() === found.join() ? before : found));
    };
    update();
    addEventListener(SAVE_END, update);
    return () => removeEventListener(SAVE_END, update);
  }, [open]);
  return unsaved;
}

function hasUnsavedIn(id: string): boolean {
  return [...(document.getElementById(id)?.querySelectorAll("form") ?? [])].some(isUnsaved);
}

function Strip(props: {
  label: string;
  tabs: readonly Tab[];
  open: string;
  unsaved: readonly string[];
  choose: (id: string) => void;
}) {
  const { label, tabs, open, unsaved, choose } = props;
  const strip = useRef<HTMLElement | null>(null);
  const buttonOf = (id: string) => strip.current?.querySelector<HTMLElement>(`#${id}-tab`);
  const move = ({ key }: KeyboardEvent): void => {
    const by = key === "ArrowRight" ? 1 : key === "ArrowLeft" ? -1 : 0;
    const at = tabs.findIndex(({ id }) => id === open);
    const next = tabs[(at + by + tabs.length) % tabs.length];
    if (by === 0 || next === undefined) return;
    buttonOf(next.id)?.focus();
    choose(next.id);
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} ref={strip} onKeyDown={move}>
      {tabs.map(({ id, label: name }) => (
        <button
          key={id}
          type="button"
          role="tab"
          id={`${id}-tab`}
          aria-controls={id}
          aria-selected={String(id === open)}
          tabindex={id === open ? 0 : -1}
          onClick={() => choose(id)}
        >
          {name}
          {unsaved.includes(id) ? <span class="left-unsaved"> not saved</span> : null}
        </button>
      ))}
    </div>
  );
}
