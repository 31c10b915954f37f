import assert from "node:assert/strict";
import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import { GENERATED, renew } from "../../scripts/docs.ts";
import { findPage, listPages, nearestPage } from "../../src/assets/manual.ts";
import { openAnchors, search, sectionsOf } from "../../src/assets/sections.ts";

const ROOT = join(import.meta.dirname, "../..");
const DOCS = join(ROOT, "src/assets/docs");

const names = listPages().map(({ name }) => name);

/** Every document that people read beside the sources. */
const documents = ["README.md", "CHANGELOG.md", ".github/CONTRIBUTING.md", ".github/SECURITY.md"];
const pageFiles = readdirSync(DOCS)
  .filter((file) => file.endsWith(".md"))
  .map((file) => `src/assets/docs/${file}`);

describe("the pages", () => {
  test("are the files, in the order in which they are read", () => {
    const files = pageFiles.map((file) => file.replace(/^.*\/|\.md$/g, ""));
    assert.deepEqual(names.toSorted(), files.toSorted());
    assert.equal(names[0], "flows");
    assert.deepEqual(names.slice(-2), ["specification", "contract"], "what binds comes last");
  });

  test("start with a title and one line that says what they are about", () => {
    for (const { name, title, summary } of listPages()) {
      assert.match(title, /^[A-Z][\w ]+$/, name);
      assert.match(summary, /^[A-Z].{20,100}\.$/, name);
    }
  });

  test("are found by name, whatever its case, and a misspelt one is told", () => {
    assert.equal(findPage("FLOWS")?.name, "flows");
    assert.equal(findPage("flows.md")?.name, "flows");
    assert.equal(findPage("flow"), undefined);
    assert.equal(nearestPage("confguration"), "configuration");
    assert.equal(nearestPage("xyzzy"), null);
  });

  test("have no sign of the generated parts that readers would see", () => {
    for (const { name, text } of listPages()) assert.doesNotMatch(text, /<!--/, name);
  });
});

test("README.md is short: everything else has a page", () => {
  assert.ok(read("README.md").split("\n").length <= 132);
});

describe("generated parts", () => {
  for (const file of Object.keys(GENERATED))
    test(`${file} has what the program makes: run npm run docs`, () => {
      assert.equal(read(file), renew(file));
    });

  test("stand in the files that are known to have them, and in no other", () => {
    for (const file of [...documents, ...pageFiles]) {
      const found = [...read(file).matchAll(/<!-- (\w+):begin -->/g)].map(([, name]) => name!);
      assert.deepEqual(found, GENERATED[file] ?? [], file);
    }
  });
});

describe("links", () => {
  for (const file of [...documents, ...pageFiles])
    test(`of ${file} lead somewhere`, () => {
      assert.deepEqual(
        linksOf(read(file))
          .map((link) => errorOf(file, link))
          .filter(Boolean),
        [],
      );
    });

  test("that lead nowhere are found", () => {
    const from = "src/assets/docs/flows.md";
    assert.match(errorOf(from, "./no-such-page.md") ?? "", /no file/);
    assert.match(errorOf(from, "./webhooks.md#no-such-section") ?? "", /no section/);
    assert.equal(errorOf(from, "./webhooks.md#the-call"), null);
  });

  test("between pages have the form that /ui/docs knows", () => {
    for (const file of pageFiles)
      for (const link of linksOf(read(file)))
        assert.match(link, /^(https?:\/\/|#|\.\/[a-z-]+\.md(#|$))/, file);
  });
});

test("sections that the sources cite are in the specification and the contract", () => {
  const numbers = (name: string) =>
    new Set(
      sectionsOf(findPage(name)!).map(({ title }) => /^\d+(\.\d+)*(?=[. ])/.exec(title)?.[0]),
    );
  const known = { specification: numbers("specification"), contract: numbers("contract") };
  const cited = globSync("{src,test}/**/*.{ts,tsx}", { cwd: ROOT }).flatMap((file) =>
    [...read(file).matchAll(/\((contract, section|specification|section) (\d+(?:\.\d+)*)/g)].map(
      ([, where, number]) => ({ file, where: where!, number: number! }),
    ),
  );
  assert.ok(cited.length > 50, `${cited.length} citations`);
  for (const { file, where, number } of cited) {
    const page = where.startsWith("contract") ? "contract" : "specification";
    assert.ok(known[page].has(number), `${file} cites section ${number} of the ${page}`);
  }
});

describe("the search", () => {
  test("finds the sections that have all the words, whatever their case", () => {
    const found = search(listPages(), "RETENTION_days oldest");
    assert.ok(found.length > 0);
    for (const { text } of found) assert.match(text, /RETENTION_DAYS[^]*oldest/i);
    assert.deepEqual(search(listPages(), "retention no-such-word"), []);
    assert.deepEqual(search(listPages(), "  "), []);
  });

  test("has what is named so first, with a piece of its text", () => {
    const [first] = search(listPages(), "backup");
    assert.deepEqual([first?.page.name, first?.title], ["backup", "Backup"]);
    assert.match(first?.excerpt ?? "", /flowhook backup \//);
  });

  test("finds a word with and without its hyphen", () => {
    const titles = (query: string) => search(listPages(), query).map(({ title }) => title);
    assert.ok(titles("timeout").includes("Sizes that belong together"), "which says time-out");
    assert.deepEqual(titles("time-out").toSorted(), titles("timeout").toSorted());
  });

  test("takes no sign of a pattern for one", () => {
    assert.deepEqual(search(listPages(), "(a+)+$ [").length, 0);
  });

  test("is soon done with a long query, of which it takes the first words", () => {
    const pages = listPages();
    const long = search(pages, `backup ${"webhook ".repeat(100_000)}`);
    assert.deepEqual(long, search(pages, "backup webhook webhook"));
  });

  test("sees no heading within code", () => {
    const page = { ...findPage("flows")!, text: "# A\n\n```sh\n# no heading\n```\n\n## A\n" };
    assert.deepEqual(
      sectionsOf(page).map(({ title, anchor }) => [title, anchor]),
      [
        ["A", "a"],
        ["A", "a-1"],
      ],
    );
  });
});

function read(file: string): string {
  return readFileSync(join(ROOT, file), "utf8");
}

/** The targets of links and pictures, outside of code. */
function linksOf(markdown: string): string[] {
  const text = markdown.replace(/^```[^]*?^```/gm, "").replace(/`[^`\n]*`/g, "");
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target!);
}

/** Why a link within the repository leads nowhere, or null. */
function errorOf(from: string, link: string): string | null {
  if (/^https?:/.test(link)) return null;
  const [path = "", anchor] = link.split("#");
  const file = path === "" ? from : join(dirname(from), path);
  if (!existsSync(join(ROOT, file))) return `${from}: no file "${link}"`;
  if (anchor === undefined || anchorsOf(read(file)).has(anchor)) return null;
  return `${from}: no section "${link}"`;
}

function anchorsOf(markdown: string): Set<string> {
  const anchorOf = openAnchors();
  const text = markdown.replace(/^```[^]*?^```/gm, "");
  return new Set(
    [...text.matchAll(/^#{1,6} (.+)$/gm)].map(([, title]) => anchorOf(title!.replace(/[*`]/g, ""))),
  );
}
