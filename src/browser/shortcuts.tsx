import { Check } from "./field.tsx";
import { areKeysOn, turnKeys } from "./keys.ts";
import { showDialog } from "./dialog.tsx";
import { Pairs } from "./table.tsx";

const SHORTCUTS: readonly (readonly [keys: readonly string[], what: string])[] = [
  [["j", "k"], "In a list, the next and the previous row"],
  [["Enter"], "Opens that row"],
  [["/"], "Goes to the search of a list"],
  [["j", "k"], "On an execution, the older and the newer one"],
  [["?"], "Shows these"],
];

/** What single keys do, and the switch that turns them off (WCAG 2.1, 2.1.4). */
export function showShortcuts(): void {
  showDialog("Keyboard shortcuts", <Shortcuts />);
}

function Shortcuts() {
  return (
    <>
      <Pairs of={SHORTCUTS.map(([keys, what]) => [<Keys of={keys} />, what])} />
      <Check
        name="keys"
        label="Use single keys"
        hint="This browser remembers it. Enter opens what has the focus in any case."
        isChecked={areKeysOn()}
        onChange={turnKeys}
      />
    </>
  );
}

function Keys({ of }: { of: readonly string[] }) {
  return (
    <>
      {of.map((key) => (
        <>
          <kbd>{key}</kbd>{" "}
        </>
      ))}
    </>
  );
}
