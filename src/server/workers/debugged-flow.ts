import type { FlowSpec } from "../../shared/wire/protocol.ts";

/** The flow that its author looks at with a debugger. */
export interface DebuggedFlow {
  readonly flow: string;
  /** On loopback. */
  readonly port: number;
}

/** With the port where the flow is that one. */
export function withDebugger(spec: FlowSpec, debug: DebuggedFlow | undefined): FlowSpec {
  return debug?.flow === spec.flow ? { ...spec, debug_port: debug.port } : spec;
}
