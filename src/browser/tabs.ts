/** Tabs (WAI-ARIA Authoring Practices): arrows move, the address names the open one. */
export function openTabs(list: HTMLElement, onShow: (name: string) => void = () => {}): void {
  const tabs = [...list.querySelectorAll<HTMLElement>("[role=tab]")];
  const nameOf = (tab: HTMLElement) => tab.getAttribute("aria-controls") ?? "";

  function show(chosen: HTMLElement): void {
    for (const tab of tabs) {
      const isChosen = tab === chosen;
      tab.setAttribute("aria-selected", String(isChosen));
      tab.tabIndex = isChosen ? 0 : -1;
      const panel = document.getElementById(nameOf(tab));
      if (panel !== null) panel.hidden = !isChosen;
    }
    onShow(nameOf(chosen));
  }

  function move(by: number): void {
    const at = tabs.findIndex((tab) => tab.getAttribute("aria-selected") === "true");
    const next = tabs[(at + by + tabs.length) % tabs.length];
    if (next === undefined) return;
    next.focus();
    choose(next);
  }

  function choose(tab: HTMLElement): void {
    history.replaceState(null, "", `#${nameOf(tab)}`);
    show(tab);
  }

  for (const tab of tabs) tab.addEventListener("click", () => choose(tab));
  list.addEventListener("keydown", ({ key }) => {
    if (key === "ArrowRight") move(1);
    if (key === "ArrowLeft") move(-1);
  });
  const fromAddress = () => tabs.find((tab) => `#${nameOf(tab)}` === location.hash);
  addEventListener("hashchange", () => {
    const tab = fromAddress();
    if (tab !== undefined) show(tab);
  });
  const first = fromAddress() ?? tabs[0];
  if (first !== undefined) show(first);
}
