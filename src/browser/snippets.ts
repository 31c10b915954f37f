/** How a webhook is called, in words that can be pasted. */

export interface SnippetOptions {
  readonly url: string;
  /** The key where it is known, otherwise what stands for it; null: it needs none. */
  readonly key: string | null;
  readonly require_login: boolean;
}

const BODY = { hello: "world" };

export const SNIPPETS: readonly (readonly [
  name: string,
  write: (options: SnippetOptions) => string,
])[] = [
  ["curl", curl],
  ["JavaScript", javascript],
  ["Python", python],
  ["PowerShell", powershell],
];

function headersOf({ key, require_login }: SnippetOptions): Record<string, string> {
  return {
    ...(key === null ? {} : { Authorization: `Bearer ${key}` }),
    ...(require_login ? { "x-service-token": "YOUR_LOGIN_TOKEN" } : {}),
  };
}

function curl(options: SnippetOptions): string {
  return partsOfCurl(options).join(" \\\n  ");
}

/** A whole call in one line, for a terminal. */
export function curlLine(options: SnippetOptions): string {
  return partsOfCurl(options).join(" ");
}

/** -L follows the redirects that a waiting call answers with; without -X, so that they become GET. */
function partsOfCurl(options: SnippetOptions): readonly string[] {
  // Not --json, which came with curl 7.82.
  const headers = { ...headersOf(options), "Content-Type": "application/json" };
  return [
    `curl -L ${quoteShell(options.url)}`,
    ...Object.entries(headers).map(([name, value]) => `-H ${quoteShell(`${name}: ${value}`)}`),
    `-d ${quoteShell(JSON.stringify(BODY))}`,
  ];
}

function quoteShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function javascript(options: SnippetOptions): string {
  const headers = { "content-type": "application/json", ...headersOf(options) };
  const lines = Object.entries(headers).map(
    ([name, value]) => `    ${JSON.stringify(name)}: ${JSON.stringify(value)},`,
  );
  return `const response = await fetch(${JSON.stringify(options.url)}, {
  method: "POST",
  headers: {
${lines.join("\n")}
  },
  body: JSON.stringify(${JSON.stringify(BODY)}),
});
console.log(response.status, await response.text());`;
}

function python(options: SnippetOptions): string {
  const headers = { "Content-Type": "application/json", ...headersOf(options) };
  const lines = Object.entries(headers).map(
    ([name, value]) => `        ${JSON.stringify(name)}: ${JSON.stringify(value)},`,
  );
  return `import json
from urllib.request import Request, urlopen

request = Request(
    ${JSON.stringify(options.url)},
    data=json.dumps(${JSON.stringify(BODY)}).encode(),
    headers={
${lines.join("\n")}
    },
)
with urlopen(request) as response:
    print(response.status, response.read().decode())`;
}

function powershell(options: SnippetOptions): string {
  const entries = Object.entries(headersOf(options)).map(
    ([name, value]) => `${quotePowerShell(name)} = ${quotePowerShell(value)}`,
  );
  const headers = entries.length === 0 ? "" : ` \`\n  -Headers @{ ${entries.join("; ")} }`;
  return `Invoke-RestMethod -Method Post -Uri ${quotePowerShell(options.url)}${headers} \`
  -ContentType 'application/json' \`
  -Body ${quotePowerShell(JSON.stringify(BODY))}`;
}

function quotePowerShell(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
