import {
  CONFLICTS,
  IMPORTED,
  MOST_DOCUMENT_BYTES,
} from "../../shared/contract/webhook-document.ts";
import * as v from "valibot";
import { networkOf } from "../access/network.ts";
import { RequestError } from "../../shared/errors.ts";
import type { Unit } from "../store/statement.ts";
import type { Api } from "./api.ts";
import { requireStill } from "./access.ts";
import { importedOf } from "./audit-changes.ts";
import { readDocument } from "./import-document.ts";
import { commitNamed } from "./named.ts";
import { plan } from "./import-plan.ts";
import { flag } from "./parameters.ts";
import { defineRoute } from "./route.ts";

/** @throws RequestError conflict, changed_meanwhile where the unit was planned by what is no more so */
async function commitImport({ store }: Api, unit: Unit): Promise<void> {
  try {
    await commitNamed(store, "import", unit);
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    if (error.code !== "conflict" && error.code !== "changed_meanwhile") throw error;
    throw new RequestError(error.code, CHANGED, { cause: error });
  }
}

const CHANGED =
  "Webhooks, roles, projects or secrets were made, changed or deleted meanwhile, and nothing was " +
  "imported. Import the document again";

/** A document up to this size is parsed at once, in bytes. */
const AT_ONCE = 16 * 1024;

export const importWebhooks = defineRoute({
  method: "POST",
  path: "/import",
  summary: "Import webhooks from YAML: disabled, with new keys; all of them or none",
  needs: "webhook.write",
  action: "webhook.import",
  query: v.strictObject({
    dry_run: v.optional(flag("Only say what would be done"), "false"),
    conflicts: v.optional(
      v.pipe(
        v.picklist(CONFLICTS, `expected one of ${CONFLICTS.join(", ")}`),
        v.description("What is done about a webhook whose name is taken"),
      ),
      "skip",
    ),
  }),
  answer: IMPORTED,
  async act(api, { principal, query, bytes, address, outgoing }) {
    const document = (await bytes(MOST_DOCUMENT_BYTES)) ?? Buffer.alloc(0);
    const webhooks =
      document.length <= AT_ONCE
        ? readDocument(document)
        : await api.largeBodies.document(document, {
            client: networkOf(address),
            isWanted: () => !outgoing.destroyed,
          });
    const importer = await requireStill(api.logins, principal);
    const { steps, unit } = await plan(api, importer, webhooks, query.conflicts);
    if (!query.dry_run && unit.length > 0) {
      await commitImport(api, unit);
      for (const { row, statements } of steps)
        if (statements.length > 0) api.executions.queues.limit(row);
    }
    const items = steps.map(({ statements: _statements, row: _row, key, ...step }) =>
      key === undefined || query.dry_run ? step : { ...step, key },
    );
    const target = items.map(({ name }) => name).join(", ");
    const changes = query.dry_run ? [] : importedOf(items);
    return { status: 200, body: { dry_run: query.dry_run, items }, target, changes };
  },
});
