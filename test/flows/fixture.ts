import { chmod, mkdir, mkdtemp, readdir, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { once } from "node:events";
import { pino } from "pino";
import {
  openCatalog,
  type Catalog,
  type CatalogOptions,
  type Flow,
} from "../../src/server/flows/catalog.ts";
import type { FlowSpec, Inspection } from "../../src/shared/wire/protocol.ts";

/** A workplace of one test: PLUGINS_DIR and DATA_DIR in a folder of its own. */
export interface Fixture {
  readonly plugins: string;
  readonly data: string;
  /** Keys that were inspected and retired, in order; "all" where all were at once. */
  readonly inspected: string[];
  readonly retired: string[];
  /** Lines of the log. */
  readonly logged: string[];
  write(path: string, text: string): Promise<void>;
  remove(path: string): Promise<void>;
  open(options?: Partial<CatalogOptions>): Promise<Catalog>;
  /** Resolves with the next change that passes. */
  change(passes: (flow: Flow) => boolean): Promise<Flow>;
  versions(flow: string): Promise<string[]>;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function openFixture(files: Readonly<Record<string, string>> = {}): Promise<Fixture> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "flowhook-flows-")));
  const plugins = join(folder, "plugins");
  const data = join(folder, "data");
  const inspected: string[] = [];
  const retired: string[] = [];
  const logged: string[] = [];
  const waiting = new Set<(flow: Flow) => void>();
  const log = pino(
    { level: "debug", base: null },
    { write: (line: string) => void logged.push(line) },
  );
  const catalogs: Catalog[] = [];

  async function write(path: string, text: string): Promise<void> {
    await mkdir(dirname(join(plugins, path)), { recursive: true });
    await writeFile(join(plugins, path), text);
  }

  for (const [path, text] of Object.entries(files)) await write(path, text);
  return {
    plugins,
    data,
    inspected,
    retired,
    logged,
    write,
    remove: (path) => rm(join(plugins, path), { recursive: true }),
    async open(options) {
      const catalog = await openCatalog({
        plugins_dir: plugins,
        dataDir: data,
        allow: { net: true, read: [], write: [] },
        timeoutMs: 300_000,
        timeoutMaxMs: 3_600_000,
        memory_mb: 128,
        log,
        inspect(spec) {
          inspected.push(spec.key);
          return inspect(spec);
        },
        retire: (key) => void retired.push(key),
        retireAll: () => void retired.push("all"),
        onChange(flow) {
          for (const tell of waiting) tell(flow);
        },
        ...options,
      });
      catalogs.push(catalog);
      return catalog;
    },
    change(passes) {
      const { promise, resolve } = Promise.withResolvers<Flow>();
      function tell(flow: Flow): void {
        if (!passes(flow)) return;
        waiting.delete(tell);
        resolve(flow);
      }
      waiting.add(tell);
      return promise;
    },
    async versions(flow) {
      const names = await readdir(join(data, "versions", flow)).catch((): string[] => []);
      return names.filter((name) => /^[0-9a-f]{16}$/.test(name)).toSorted();
    },
    async [Symbol.asyncDispose]() {
      for (const catalog of catalogs) await catalog[Symbol.asyncDispose]();
      await chmod(folder, 0o700);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Imports a version in a thread of its own, as the sandbox does. */
export async function inspect(spec: FlowSpec): Promise<Inspection> {
  const thread = new Worker(new URL("./inspect-thread.ts", import.meta.url), {
    workerData: pathToFileURL(spec.entry).href,
    execArgv: [],
  });
  try {
    const [inspection]: Inspection[] = await once(thread, "message");
    return inspection ?? { kind: "module" };
  } finally {
    await thread.terminate();
  }
}
