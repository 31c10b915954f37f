import { toRole } from "../server/api/role.ts";
import type { Role } from "../shared/contract/role.ts";
import { listRoles as readRoles } from "../server/store/people.ts";
import { readConfiguration } from "./configuration.ts";
import { requireDatabase } from "./data-folder.ts";
import { openStoreOf } from "./store.ts";
import { printList, type Column, type ListOptions } from "./table.ts";

const COLUMNS: readonly Column<Role>[] = [
  { title: "NAME", of: ({ name }) => name },
  { title: "PROPAGATES", of: ({ propagate }) => propagate },
  { title: "PERMISSIONS", of: ({ permissions }) => permissions.map(describe).join(", ") },
];

/** By name, as `GET /role` has them. @throws CommandError where there is no database */
export async function listRoles(options: { config?: string } & ListOptions): Promise<void> {
  const loaded = readConfiguration(options);
  requireDatabase(loaded);
  await using store = await openStoreOf(loaded, true);
  const roles = (await readRoles(store)).map(toRole);
  printList(roles, COLUMNS, { ...options, empty: "No roles: the service has not started yet" });
}

function describe({ permission, project_id }: Role["permissions"][number]): string {
  return project_id === null ? permission : `${permission} (project ${project_id})`;
}
