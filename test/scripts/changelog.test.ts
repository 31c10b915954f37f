import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import manifest from "../../package.json" with { type: "json" };
import lock from "../../package-lock.json" with { type: "json" };
import { sectionOf } from "../../scripts/changelog.ts";
import { ROOT } from "../../scripts/targets.ts";

const changelog = readFileSync(join(ROOT, "CHANGELOG.md"), "utf8");

test("the changelog has a section for what is to come, and for the version of package.json", () => {
  const titles = [...changelog.matchAll(/^## (.+)$/gm)].map(([, title]) => title!);
  assert.equal(titles[0], "[Unreleased]");
  assert.ok(titles.some((title) => title.startsWith(`[${manifest.version}] - `)));
  for (const title of titles.slice(1))
    assert.match(title, /^\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d$/, "a version and its day");
});

test("the lockfile is of the same version", () => {
  assert.equal(lock.version, manifest.version);
});

test("a release gets its own section, and fails without one", () => {
  const text =
    "# Changelog\n\n## [0.2.0] - 2026-12-01\n\n### Added\n\n- B\n\n## [0.1.0] - x\n\n- A\n";
  assert.equal(sectionOf(text, "0.2.0"), "### Added\n\n- B\n");
  assert.equal(sectionOf(text, "0.1.0"), "- A\n");
  assert.throws(() => sectionOf(text, "0.3.0"), /nothing about "0\.3\.0"/);
});
