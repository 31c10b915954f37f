/** Tables of a store that several services use: PostgreSQL only. */
export interface SharedSchema {
  key_check: KeyCheckTable;
  node: NodeTable;
  flow_file: FlowFileTable;
  flow_version: FlowVersionTable;
  node_flow: NodeFlowTable;
  flow_offers: FlowOffersTable;
  attempt: AttemptTable;
  refused_call: RefusedCallTable;
}

/** The services that share the database. */
export interface NodeTable {
  /** New at each start. */
  id: string;
  /** NODE_NAME. */
  name: string;
  version: string;
  /** Of DATA_DIR: the number in its node.id, and its lock's place on the machine's disks. */
  folder_id: string;
  folder_place: string;
  /** Of its keys; see shared/id.ts. */
  slot: number;
  state: "ready" | "draining";
  running: number;
  waiting: number;
  started_at: number;
  /** By the database's clock. */
  lease_until: number;
}

/** One row. */
export interface KeyCheckTable {
  id: number;
  /** HMAC-SHA-256 with their data key, base64url. */
  hmac: string;
}

/** The files of flows that nodes offer each other. */
export interface FlowFileTable {
  /** SHA-256, hexadecimal. */
  hash: string;
  bytes: Uint8Array;
  /** When a node that offers it last said so, by the clock of the database. */
  offered_at: number;
}

/** A version of a flow, as a node has taken it up. */
export interface FlowVersionTable {
  flow: string;
  version: string;
  /** Path of the flow's file among its files. */
  entry: string;
  /** JSON list of {path, hash}. */
  files: string;
  /** HMAC of the rest with the data key, base64url: who writes tables brings no code in. */
  seal: string;
  offered_at: number;
}

/** What the own folder of a node has; it stays when the node is gone. */
export interface NodeFlowTable {
  /** Of the node's DATA_DIR, which outlives its starts. */
  folder_id: string;
  flow: string;
  /** The one that serves there. */
  version: string;
  /** JSON text of the bundle that it belongs to; null: none. */
  bundle: string | null;
  node_id: string;
  node_name: string;
  /** Since when this version serves there, by the clock of the database. */
  taken_at: number;
  /** HMAC of the rest but the time: who writes tables offers no other version. */
  seal: string;
}

/** One row. */
export interface FlowOffersTable {
  /** Raised in each transaction that changes node_flow. */
  revision: number;
}

/** Failed logins. */
export interface AttemptTable {
  /** Address, or address and SHA-256 of the name. */
  key: string;
  failures: number;
  failed_at: number;
}

/** Refused calls of webhooks. */
export interface RefusedCallTable {
  seq: number;
  webhook_id: string;
  at: number;
  /** JSON text. */
  call: string;
}
