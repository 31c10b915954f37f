import { statSync, type BigIntStats } from "node:fs";
import { stat } from "node:fs/promises";
import { newUnavailable, type StoreError } from "../store-error.ts";

const INTERVAL_MS = 1000;

/**
 * Whether files that are open still lie at their paths. The system goes on to write what was moved,
 * deleted or replaced, and what is deleted is gone with the process.
 */
export class OpenFiles {
  readonly #known = new Map<string, string>();
  readonly #locks = new Map<string, string>();
  readonly #onChange: (error: StoreError | null) => void;
  #timer: NodeJS.Timeout;
  #isClosed = false;
  #error: StoreError | null = null;
  #isUnlocked = false;

  /** @param onChange is told why they are not to be used from now on; null: they lie there again */
  constructor(onChange: (error: StoreError | null) => void) {
    this.#onChange = onChange;
    this.#timer = this.#inspectLater();
  }

  /** From now on; each is there. */
  watch(...paths: readonly string[]): void {
    for (const path of paths) this.#known.set(path, identityOf(statSync(path, { bigint: true })));
  }

  /** Whose lock keeps other processes from the files that are watched. */
  watchLocks(...paths: readonly string[]): void {
    for (const path of paths) this.#locks.set(path, identityOf(statSync(path, { bigint: true })));
  }

  /** Why nothing may be acknowledged that is written to them; null: they are where they were. */
  get error(): StoreError | null {
    return this.#error;
  }

  /** Whether a lock is gone and a file is not: another process may write that one by now. */
  get isUnlocked(): boolean {
    return this.#isUnlocked;
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  /** One at a time: a file system that hangs answers later. */
  #inspectLater(): NodeJS.Timeout {
    return setTimeout(() => void this.#inspect(), INTERVAL_MS).unref();
  }

  async #inspect(): Promise<void> {
    // Before the files: with those of a folder that is moved meanwhile nothing is shared.
    const [lock] = await listLost(this.#locks);
    const files = await listLost(this.#known);
    // Who closes the files may remove them.
    if (this.#isClosed) return;
    this.#timer = this.#inspectLater();
    this.#isUnlocked = lock !== undefined && files.length < this.#known.size;
    const lost = (this.#isUnlocked ? lock : files[0]) ?? lock ?? null;
    if ((lost === null) === (this.#error === null)) return;
    this.#error = lost === null ? null : newUnavailable(messageOf(lost));
    this.#onChange(this.#error);
  }
}

async function listLost(known: ReadonlyMap<string, string>): Promise<string[]> {
  const lost: string[] = [];
  for (const [path, identity] of known) if (await isLost(path, identity)) lost.push(path);
  return lost;
}

/** What cannot be looked at, for whatever other reason, may well be there. */
async function isLost(path: string, identity: string): Promise<boolean> {
  try {
    return identityOf(await stat(path, { bigint: true })) !== identity;
  } catch (error) {
    return ["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "");
  }
}

function identityOf({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`;
}

function messageOf(path: string): string {
  return `"${path}" was moved, deleted or replaced while the service has it open`;
}
