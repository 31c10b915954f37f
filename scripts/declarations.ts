import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "./targets.ts";

/** What `flowhook types` writes beside valibot's own declarations. */
export const DECLARATIONS = join(ROOT, "src/assets/types/flowhook.d.ts");

/** The declarations of the author's contract, made by the compiler from its source. */
export function makeDeclarations(): string {
  const folder = mkdtempSync(join(tmpdir(), "flowhook-declarations-"));
  try {
    const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
    execFileSync(
      process.execPath,
      [tsc, ...OPTIONS.split(" "), "--outDir", folder, "src/shared/author.ts"],
      {
        cwd: ROOT,
        stdio: ["ignore", "inherit", "inherit"],
      },
    );
    const made = readFileSync(join(folder, "author.d.ts"), "utf8");
    return NOTE + made.replace('from "valibot"', 'from "./valibot.js"');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const NOTE =
  '// What flows import as "flowhook". `flowhook types` writes it: do not change it here.\n\n';

const OPTIONS =
  "--ignoreConfig --declaration --emitDeclarationOnly --strict --types node " +
  "--target esnext --module nodenext";
