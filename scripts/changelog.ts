import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./targets.ts";

/** `npm run changelog -- VERSION`: prints what CHANGELOG.md says about a version, for its release. */

/** @throws Error where there is no such section, or nothing in it */
export function sectionOf(changelog: string, version: string): string {
  const sections = changelog.split(/^## /m).slice(1);
  const found = sections.find((section) => section.startsWith(`[${version}]`));
  const text = found?.slice(found.indexOf("\n")).trim() ?? "";
  if (text === "") throw new Error(`CHANGELOG.md says nothing about "${version}"`);
  return `${text}\n`;
}

if (import.meta.main) {
  const changelog = readFileSync(join(ROOT, "CHANGELOG.md"), "utf8");
  process.stdout.write(sectionOf(changelog, process.argv[2] ?? ""));
}
