import type { Flow } from "../flows/catalog.ts";
import { RequestError } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import type { JobOwner } from "../request/job-thread.ts";
import { toJobOwner, type Admission } from "./call.ts";
import type { SchemaVerdict } from "./schema-check.ts";

/** An input and the schema of the flow's version, as they cross to a thread. */
export interface SchemaJob {
  /** `<flow>@<version>`. */
  readonly version: string;
  /** JSON text. */
  readonly schema: string;
  /** JSON text of the input_value. */
  readonly input: string;
}

/** @throws RequestError invalid_input where it takes too long or too much, overloaded */
export type CheckSchema = (job: SchemaJob, owner: JobOwner) => Promise<SchemaVerdict>;

/**
 * Checks the input of a call whose webhook has `input_check: refuse` (contract, section 8, number 10).
 *
 * @throws RequestError invalid_input, overloaded
 */
export type InputCheck = (admission: Admission, flow: Flow | undefined) => Promise<void>;

export function openInputCheck(deps: {
  readonly checkSchema: CheckSchema;
  readonly log: Log;
}): InputCheck {
  const warn = openWarnings(deps.log);
  return async (admission, flow) => {
    // Nothing serves: its execution says so.
    if (flow === undefined || flow.spec === null) return;
    const schema = flow.manifest?.schemas?.input ?? null;
    if (schema === null || schema.json === null)
      return warn(admission, flow.spec.key, schema?.reason ?? "The flow has no input schema");
    const { client: _client, isWanted } = toJobOwner(admission.call);
    const job = { version: flow.spec.key, schema: schema.json, input: admission.input.input_value };
    // The turns are of webhooks: it is their flows that decide what a check costs.
    const verdict = await deps.checkSchema(job, { client: admission.webhook.id, isWanted });
    if (verdict.unusable !== null) return warn(admission, flow.spec.key, verdict.unusable);
    if (verdict.errors.length > 0) throw refuse(verdict.errors);
  };
}

function refuse(fields: SchemaVerdict["errors"]): RequestError {
  const told = fields.slice(0, MOST_TOLD).map(({ field, message }) => {
    return field === "" ? message : `${field}: ${message}`;
  });
  const more = fields.length > told.length ? `; and ${fields.length - told.length} more` : "";
  return new RequestError(
    "invalid_input",
    `The input does not fit the flow's schema: ${told.join("; ")}${more}`,
    { fields: [...fields] },
  );
}

/** Fields in the line of the log, and in the list of refused calls. */
const MOST_TOLD = 3;

/** Webhooks whose warnings are remembered. */
const MOST_WARNED = 10_000;

/** One line for each version of a flow that a webhook calls unchecked. */
function openWarnings(log: Log) {
  const warned = new Map<string, string>();
  return ({ webhook }: Admission, version: string, reason: string): void => {
    if (warned.get(webhook.id) === version) return;
    if (warned.size >= MOST_WARNED) warned.clear();
    warned.set(webhook.id, version);
    log.warn(
      { webhook: webhook.name, flow: webhook.flow, version, reason },
      "Input is not checked before the run: the flow has no JSON Schema of it",
    );
  };
}
