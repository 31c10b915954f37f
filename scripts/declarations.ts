import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "./targets.ts";

/** Declarations that `flowhook types` writes beside those of packages, and their sources. */
const MODULES: Readonly<Record<string, { readonly source: string; readonly name: string }>> = {
  "flowhook.d.ts": { source: "shared/author", name: "flowhook" },
  "testing.d.ts": { source: "testing/testing", name: "flowhook/testing" },
};

/** Path and text of each, made by the compiler from its source. */
export function makeDeclarations(): Map<string, string> {
  const folder = mkdtempSync(join(tmpdir(), "flowhook-declarations-"));
  try {
    const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
    const sources = Object.values(MODULES).map(({ source }) => `src/${source}.ts`);
    execFileSync(process.execPath, [tsc, ...OPTIONS.split(" "), "--outDir", folder, ...sources], {
      cwd: ROOT,
      stdio: ["ignore", "inherit", "inherit"],
    });
    const made = Object.entries(MODULES).map(([file, { source, name }]) => {
      const text = readFileSync(join(folder, `${source}.d.ts`), "utf8");
      return [join(ROOT, "src/assets/types", file), noteOf(name) + withNeighbours(text)] as const;
    });
    return new Map(made);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Other declarations lie beside it. */
function withNeighbours(text: string): string {
  return text
    .replace('from "valibot"', 'from "./valibot.js"')
    .replace('from "../shared/author.ts"', 'from "./flowhook.js"');
}

function noteOf(name: string): string {
  return `// What is imported as "${name}". \`flowhook types\` writes it: do not change it here.\n\n`;
}

const OPTIONS =
  "--ignoreConfig --declaration --emitDeclarationOnly --allowImportingTsExtensions --strict " +
  "--types node --target esnext --module nodenext --rootDir src";
