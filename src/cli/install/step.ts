/** One thing that is done to the machine, unless it is done already. */
export interface Step {
  /** As an order: `make the folder /etc/flowhook`. */
  readonly what: string;
  /** Whether a service that runs has what was there before, until it is started again. */
  readonly isRead?: true;
  /** @param isChanged whether a step before it had to do something that is read at the start */
  readonly isDone: (isChanged?: boolean) => boolean;
  readonly act: () => void | Promise<void>;
}

/**
 * Does what is not done yet, in order, and says what becomes of each.
 *
 * @param isDry nothing is done: what would be is printed
 */
export async function takeSteps(steps: readonly Step[], isDry: boolean): Promise<void> {
  let isChanged = false;
  for (const { what, isRead = false, isDone, act } of steps) {
    if (isDone(isChanged)) {
      print("no need", what);
      continue;
    }
    isChanged ||= isRead;
    if (!isDry) await act();
    print(isDry ? "would" : "did", what);
  }
}

function print(state: string, what: string): void {
  process.stdout.write(`${state.padEnd("no need".length)}  ${what}\n`);
}
