import { stat } from "node:fs/promises";
import { join } from "node:path";

/** What npm, pnpm and Yarn write at the end of each change of `node_modules`. */
const RECORDS = [".package-lock.json", ".modules.yaml", ".yarn-state.yml", ".yarn-integrity"];

/** Whether a path in `node_modules`, its parts joined by `/`, tells that packages have changed. */
export function isPackagesRecord(path: string): boolean {
  return path === "node_modules" || RECORDS.some((name) => path === `node_modules/${name}`);
}

/** What the log says of it. */
export const PACKAGES_CHANGED = "Packages have changed: the next calls of flows load them anew";

/** Changes when packages are installed or removed beside the flows; null where there are none. */
export async function signPackages(root: string): Promise<string | null> {
  const folder = join(root, "node_modules");
  const paths = [folder, ...RECORDS.map((name) => join(folder, name))];
  const times = paths.map((path) =>
    stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => null,
    ),
  );
  const [own, ...records] = await Promise.all(times);
  return own === null ? null : JSON.stringify([own, ...records]);
}
