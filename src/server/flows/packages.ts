import { stat } from "node:fs/promises";
import { join } from "node:path";

/** What npm, pnpm and Yarn write at the end of each change of `node_modules`. */
const RECORDS = [".package-lock.json", ".modules.yaml", ".yarn-state.yml", ".yarn-integrity"];

/** Whether a path in `node_modules`, its parts joined by `/`, tells that packages have changed. */
export function isPackagesRecord(path: string): boolean {
  return path === "node_modules" || RECORDS.some((name) => path === `node_modules/${name}`);
}

/** Changes when packages are installed or removed beside the flows. */
export async function signPackages(root: string): Promise<string> {
  const folder = join(root, "node_modules");
  const paths = [folder, ...RECORDS.map((name) => join(folder, name))];
  const times = paths.map((path) =>
    stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => null,
    ),
  );
  return JSON.stringify(await Promise.all(times));
}
