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

/** Every asset of the source tree: its name, and the file that it is. The build carries these. */
export function listSources(root: string): Map<string, string> {
  const listed = Object.entries(FOLDERS).flatMap(([prefix, folder]) =>
    filesBelow(join(root, folder)).map((path) => {
      const name = path.slice(join(root, folder).length + 1).replaceAll("\\", "/");
      return [prefix + name, path] as const;
    }),
  );
  const single = Object.entries(FILES).map(([name, path]) => [name, join(root, path)] as const);
  return new Map([...listed, ...single]);
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
