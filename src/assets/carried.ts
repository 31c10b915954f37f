import { readdirSync } from "node:fs";
import { join } from "node:path";

/** Folders of the source tree whose files are assets, by the prefix that their names get. */
const FOLDERS: Readonly<Record<string, string>> = {
  "": "src/assets/files",
  "docs/": "src/assets/docs",
  "demo/": "plugins",
  "types/": "src/assets/types",
};

/**
 * Files of packages: what pages refer to, so that they work without a network, and what the
 * declarations for editors refer to.
 */
const FILES: Readonly<Record<string, string>> = {
  "types/valibot.d.ts": "node_modules/valibot/dist/index.d.mts",
  "vendor/swagger-ui.css": "node_modules/swagger-ui-dist/swagger-ui.css",
  "vendor/swagger-ui-bundle.js": "node_modules/swagger-ui-dist/swagger-ui-bundle.js",
};

const NODE_TYPES = "node_modules/@types/node";

/** Modules of Node that no flow may import: an editor is not to offer them. */
const NOT_FOR_FLOWS =
  /^(child_process|cluster|domain|ffi|inspector|module|quic|repl|sea|sqlite|trace_events|v8|vfs|vm|wasi|worker_threads|ts\d)\b/;

/** Every asset of the source tree: its name, and the file that it is. The build carries these. */
export function listSources(root: string): Map<string, string> {
  const listed = Object.entries(FOLDERS).flatMap(([prefix, folder]) =>
    filesBelow(join(root, folder)).map((path) => {
      const name = path.slice(join(root, folder).length + 1).replaceAll("\\", "/");
      return [prefix + name, path] as const;
    }),
  );
  const single = Object.entries(FILES).map(([name, path]) => [name, join(root, path)] as const);
  return new Map([...listed, ...single, ...listNodeTypes(root)]);
}

/** Declarations of Node for editors; the licence lies beside them. */
function listNodeTypes(root: string): (readonly [string, string])[] {
  const folder = join(root, NODE_TYPES);
  return filesBelow(folder)
    .map((path) => [path.slice(folder.length + 1).replaceAll("\\", "/"), path] as const)
    .filter(([name]) => /(\.d\.ts|^LICENSE)$/.test(name) && !NOT_FOR_FLOWS.test(name))
    .map(([name, path]) => [`types/node/${name}`, path] as const);
}

function filesBelow(folder: string): string[] {
  return (
    readdirSync(folder, { recursive: true, withFileTypes: true })
      // Pictures are for whoever reads README.md beside the sources.
      .filter((entry) => entry.isFile() && !entry.name.endsWith(".png"))
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
  );
}
