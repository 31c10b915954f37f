/** What a build carries. `npm run build` puts another module in the place of this one. */
export interface Embedded {
  readonly mode: "bundle" | "binary";
  /** The platform it was built for, `linux-x64` for example; its addons are the only ones inside. */
  readonly target: string;
  /** SHA-256 in hex of every asset's content. */
  readonly digests: Readonly<Record<string, string>>;
  /** The assets of a bundle: base64 of Brotli, each in a function so that it is parsed when used. */
  readonly texts: Readonly<Record<string, () => string>>;
}

/** Null: the program runs from its source. */
export const EMBEDDED: Embedded | null = null;

/** Bundles the user interface's browser modules; null in a build, which carries them as assets. */
export const bundleBrowser: (() => Promise<ReadonlyMap<string, Uint8Array>>) | null = async () =>
  (await import("../../scripts/browser.ts")).bundleBrowser();
