import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { bundleBrowser } from "../../assets/embedded.ts";
import { listAssets, readAsset } from "../../assets/read.ts";

/** What pages load: the stylesheet and the browser modules, under a path named by their content. */
export interface BrowserFiles {
  /** Changes with the content, so that browsers keep the files for good. */
  readonly digest: string;
  find(name: string): BrowserFile | undefined;
}

export interface BrowserFile {
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly gzipped: Uint8Array<ArrayBuffer>;
}

const TYPES: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
};

/** Those that the build carries; from source they are bundled here. */
export async function openBrowserFiles(): Promise<BrowserFiles> {
  const contents = new Map(await readModules());
  contents.set("ui.css", readAsset("ui.css"));
  const hash = createHash("sha256");
  for (const [name, bytes] of contents) hash.update(name).update(bytes);
  const files = new Map([...contents].map(([name, bytes]) => [name, toFile(name, bytes)]));
  return { digest: hash.digest("hex").slice(0, 16), find: (name) => files.get(name) };
}

async function readModules(): Promise<Iterable<[string, Uint8Array]>> {
  const names = listAssets("ui/");
  if (names.length > 0 || bundleBrowser === null)
    return names.map((name) => [name.slice("ui/".length), readAsset(name)]);
  return bundleBrowser();
}

function toFile(name: string, content: Uint8Array): BrowserFile {
  const type = TYPES[name.slice(name.lastIndexOf(".") + 1)] ?? "application/octet-stream";
  return { type, bytes: new Uint8Array(content), gzipped: new Uint8Array(gzipSync(content)) };
}
