import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundlePostgresThread } from "../../scripts/bundle.ts";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "flowhook-thread-")));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));

/** As it is shipped: from sources each thread would strip the types of its own again. */
export const POSTGRES_THREAD = join(folder, "postgres-thread.cjs");

writeFileSync(POSTGRES_THREAD, await bundlePostgresThread());
