/** What services on one store do together. */
export interface SharedStore {
  /**
   * Takes a task, until it is disposed of or the connection is lost.
   *
   * @param isWaited whether to wait while another service has it
   * @returns null where another has it
   */
  hold(task: SharedTask, isWaited: boolean): Promise<AsyncDisposable | null>;
  /** Takes a token of a bucket, if there is one. @throws StoreError */
  takeToken(bucket: TokenBucket): Promise<TokenTaken>;
  /** Keeps a refused call: written within 250 ms, unless there are very many of its webhook. */
  addRefused(refused: StoredRefusal): void;
  /** The newest refused calls of a webhook, the newest first; as JSON text. @throws StoreError */
  listRefused(webhook_id: string, limit: number): Promise<string[]>;
}

/** What only one service does at a time. */
export type SharedTask = "firstStart" | "retention";

/** A bucket of tokens, which is full at its first use. */
export interface TokenBucket {
  /** Whose it is; a bucket with another rate is another one. */
  readonly key: string;
  /** Of one of many who call: forgotten first, so that they cannot fill the store. */
  readonly isPartition: boolean;
  /** So many tokens come in so many seconds. */
  readonly calls: number;
  readonly per_sec: number;
  /** Tokens that it has at most. */
  readonly burst: number;
}

export interface TokenTaken {
  /** Whether there was a token. */
  readonly isTaken: boolean;
  /** Those that are left; of one that is coming, the part that has come. */
  readonly tokens: number;
}

/** A refused call as it is stored. */
export interface StoredRefusal {
  readonly webhook_id: string;
  /** In milliseconds since the epoch. */
  readonly at: number;
  /** JSON text; nothing secret. */
  readonly call: string;
}
