/** One thing that is done to the machine, unless it is done already. */
export interface Step {
  /** As an order: `make the folder /etc/flowhook`. */
  readonly what: string;
  readonly isDone: () => boolean;
  readonly act: () => void | Promise<void>;
}

/**
 * Does what is not done yet, in order, and says what becomes of each.
 *
 * @param isDry nothing is done: what would be is printed
 */
export async function takeSteps(steps: readonly Step[], isDry: boolean): Promise<void> {
  for (const { what, isDone, act } of steps) {
    if (isDone()) print("no need", what);
    else if (isDry) print("would", what);
    else {
      await act();
      print("did", what);
    }
  }
}

function print(state: string, what: string): void {
  process.stdout.write(`${state.padEnd("no need".length)}  ${what}\n`);
}
