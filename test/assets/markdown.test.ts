import assert from "node:assert/strict";
import { test } from "node:test";
import { renderMarkdown } from "../../src/server/ui/markdown.ts";

const render = (text: string) => renderMarkdown(text, "/hooks/ui/docs").html;

test("HTML in a page is shown as text, wherever it stands", () => {
  const hostile = "<img src=x onerror=alert(1)><script>alert(1)</script>";
  const places = [hostile, `# ${hostile}`, `- ${hostile}`, `| a |\n|---|\n| ${hostile} |`];
  places.push(`\`${hostile}\``, `\`\`\`\n${hostile}\n\`\`\``, `\`\`\`"${hostile}\ncode\n\`\`\``);
  places.push(`[${hostile}](./flows.md)`, `![${hostile}](x.png)`, `**${hostile}**`);
  for (const place of places) {
    const html = render(place);
    assert.doesNotMatch(html, /<(img|script)/, place);
    assert.doesNotMatch(html.replace(/&lt;.*?&gt;/g, ""), /onerror=/, place);
  }
});

test("links lead to pages and to the web, and nowhere else", () => {
  assert.match(render("[a](./flows.md)"), /<a href="\/hooks\/ui\/docs\/flows">a<\/a>/);
  assert.match(render("[a](./flows.md#input)"), /href="\/hooks\/ui\/docs\/flows#input"/);
  assert.match(render("[a](#input)"), /href="#input"/);
  assert.match(render("[a](https://example.com/?a=1&b=2)"), /href="https:[^"]*&amp;b=2" rel=/);
  for (const target of ["javascript:alert(1)", "data:text/html,x", "//example.com", "../x.md"])
    assert.doesNotMatch(render(`[a](${target})`), /href/, target);
  assert.doesNotMatch(render('[a](https://x.example/"onclick="x)'), /"onclick=/);
});

test("headings have anchors, once each; wide tables and code can be scrolled by keyboard", () => {
  const { html, headings } = renderMarkdown("# A b\n\n## `C` d?\n\n## A b\n", "");
  assert.match(html, /<h1 id="a-b">A b<\/h1>[^]*<h2 id="c-d"><code>C<\/code> d\?<\/h2>/);
  assert.deepEqual(
    headings.map(({ anchor }) => anchor),
    ["a-b", "c-d", "a-b-1"],
  );
  assert.match(render("| a |\n|---|\n| b |"), /role="region"[^>]*tabindex="0"><table>/);
  assert.match(render("```\na\n```"), /<pre tabindex="0">/);
});
