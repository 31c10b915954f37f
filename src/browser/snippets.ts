/** How a webhook is called, in words that can be pasted. */

export interface SnippetOptions {
  readonly url: string;
  /** The key where it is known, otherwise what stands for it; null: it needs none. */
  readonly key: string | null;
  readonly require_login: boolean;
  /** What is sent as JSON. */
  readonly body: unknown;
}

export const SNIPPETS: readonly (readonly [
  name: string,
  write: (options: SnippetOptions) => string,
])[] = [
  ["curl", curl],
  ["JavaScript", javascript],
  ["Python", python],
  ["PowerShell", powershell],
  ["Java", java],
  ["Go", go],
  ["C#", csharp],
];

/** A webhook whose calls are signed: one command signs as its sender would, with any scheme. */
export const SIGNED_SNIPPETS: typeof SNIPPETS = [["flowhook", signingCommand]];

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
    `-d ${quoteShell(JSON.stringify(options.body))}`,
  ];
}

/** It asks who signs, and for the secret, which the service does not tell. */
function signingCommand({ url, key, body }: SnippetOptions): string {
  const [base = "", call = ""] = url.split("/api/latest/webhook/");
  const name = decodeURIComponent(call.replace(/\/call$/, ""));
  const word = quoteShell(name);
  // One that looks like an option stands behind all of them.
  const [first, last] = name.startsWith("-") ? ["", [`-- ${word}`]] : [` ${word}`, []];
  const words = [
    `flowhook call${first} --sign --url ${quoteShell(base)}`,
    ...(key === null ? [] : [`--key ${quoteShell(key)}`]),
    `-d ${quoteShell(JSON.stringify(body))}`,
    ...last,
  ];
  return `flowhook login ${quoteShell(base)}\n${words.join(" \\\n  ")}`;
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
  body: JSON.stringify(${JSON.stringify(options.body)}),
});
console.log(response.status, await response.text());`;
}

function python(options: SnippetOptions): string {
  const headers = { "Content-Type": "application/json", ...headersOf(options) };
  const lines = Object.entries(headers).map(
    ([name, value]) => `        ${JSON.stringify(name)}: ${JSON.stringify(value)},`,
  );
  return `from urllib.request import Request, urlopen

request = Request(
    ${JSON.stringify(options.url)},
    data=${quotePython(JSON.stringify(options.body))}.encode(),
    headers={
${lines.join("\n")}
    },
)
with urlopen(request) as response:
    print(response.status, response.read().decode())`;
}

function quotePython(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

/** Windows PowerShell sends text in Latin-1 unless the type names another charset. */
function powershell(options: SnippetOptions): string {
  const entries = Object.entries(headersOf(options)).map(
    ([name, value]) => `${quotePowerShell(name)} = ${quotePowerShell(value)}`,
  );
  const headers = entries.length === 0 ? "" : ` \`\n  -Headers @{ ${entries.join("; ")} }`;
  return `Invoke-RestMethod -Method Post -Uri ${quotePowerShell(options.url)}${headers} \`
  -ContentType 'application/json; charset=utf-8' \`
  -Body ${quotePowerShell(JSON.stringify(options.body))}`;
}

/** PowerShell takes curly single quotes for straight ones. */
function quotePowerShell(text: string): string {
  return `'${text.replaceAll(/['\u2018-\u201b]/g, "$&$&")}'`;
}

/** Its client follows 5 redirects unless told, and a call that waits has one for each leg. */
function java(options: SnippetOptions): string {
  const headers = linesOf(options, (name, value) => `            .header(${name}, ${value})`);
  return `import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

public class Call {
    public static void main(String[] arguments) throws Exception {
        System.setProperty("jdk.httpclient.redirects.retrylimit", "50");
        HttpClient client = HttpClient.newBuilder()
            .followRedirects(HttpClient.Redirect.NORMAL)
            .build();
        HttpRequest request = HttpRequest.newBuilder()
            .uri(URI.create(${JSON.stringify(options.url)}))
${headers}
            .POST(HttpRequest.BodyPublishers.ofString(${quotedBody(options)}))
            .build();
        HttpResponse<String> response =
            client.send(request, HttpResponse.BodyHandlers.ofString());
        System.out.println(response.statusCode() + " " + response.body());
    }
}`;
}

function go(options: SnippetOptions): string {
  const headers = linesOf(options, (name, value) => `\trequest.Header.Set(${name}, ${value})`);
  return `package main

import (
\t"fmt"
\t"io"
\t"log"
\t"net/http"
\t"strings"
)

func main() {
\tbody := strings.NewReader(${quotedBody(options)})
\trequest, err := http.NewRequest("POST", ${JSON.stringify(options.url)}, body)
\tif err != nil {
\t\tlog.Fatal(err)
\t}
${headers}
\tresponse, err := http.DefaultClient.Do(request)
\tif err != nil {
\t\tlog.Fatal(err)
\t}
\tdefer response.Body.Close()
\ttext, err := io.ReadAll(response.Body)
\tif err != nil {
\t\tlog.Fatal(err)
\t}
\tfmt.Println(response.StatusCode, string(text))
}`;
}

function csharp(options: SnippetOptions): string {
  const lines = Object.entries(headersOf(options)).map(
    ([name, value]) => `request.Headers.Add(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`,
  );
  return `using System;
using System.Net.Http;
using System.Text;

using var client = new HttpClient();
using var request = new HttpRequestMessage(HttpMethod.Post, ${JSON.stringify(options.url)});
${lines.join("")}request.Content = new StringContent(
    ${quotedBody(options)}, Encoding.UTF8, "application/json");
using var response = await client.SendAsync(request);
Console.WriteLine((int)response.StatusCode);
Console.WriteLine(await response.Content.ReadAsStringAsync());`;
}

/** A line for each header, its name and value as literals of Java, Go and C#, which are JSON's. */
function linesOf(options: SnippetOptions, write: (name: string, value: string) => string): string {
  const headers = { "Content-Type": "application/json", ...headersOf(options) };
  return Object.entries(headers)
    .map(([name, value]) => write(JSON.stringify(name), JSON.stringify(value)))
    .join("\n");
}

/** The body as a literal of Java, Go and C#. */
function quotedBody({ body }: SnippetOptions): string {
  return JSON.stringify(JSON.stringify(body));
}
