import { useRef, type Child } from "hono/jsx/dom";
import { complain } from "./notice.tsx";

/** A button that acts on this page. It acts once at a time, and complains about what is thrown. */
export function Button(props: {
  style?: string;
  /** Whether it is the chosen one of its group. */
  isPressed?: boolean;
  isDisabled?: boolean;
  act: () => unknown;
  children: Child;
}) {
  const { style = "", isPressed, isDisabled = false, act, children } = props;
  const isActing = useRef(false);
  const run = async (): Promise<void> => {
    if (isActing.current) return;
    isActing.current = true;
    try {
      await act();
    } catch (error) {
      complain(error);
    } finally {
      isActing.current = false;
    }
  };
  return (
    <button
      type="button"
      class={style}
      disabled={isDisabled}
      aria-pressed={isPressed === undefined ? undefined : String(isPressed)}
      onClick={() => void run()}
    >
      {children}
    </button>
  );
}

/** One of a few is chosen. */
export function Choices(props: {
  label: string;
  names: readonly string[];
  chosen: number;
  choose: (at: number) => void;
}) {
  const { label, names, chosen, choose } = props;
  return (
    <div class="choices" role="group" aria-label={label}>
      {names.map((name, at) => (
        <Button style="choice" isPressed={at === chosen} act={() => choose(at)}>
          {name}
        </Button>
      ))}
    </div>
  );
}
