import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import lock from "../package-lock.json" with { type: "json" };
import { ROOT, TARGETS } from "./targets.ts";

/** The licences of the software that a build carries, made from the lockfile: `npm run docs`. */
export const NOTICES = join(ROOT, "src/assets/files/third-party-notices.txt");

/** A package that is installed to run the program. */
export interface RuntimePackage {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  /** Its folder, relative to the sources. */
  readonly place: string;
}

/** Packages of one platform each, by the package whose text is theirs too. */
const FAMILIES: readonly (readonly [RegExp, string])[] = [
  [/^@napi-rs\/nice-/, "@napi-rs/nice"],
  [/^node-(bin-)?(darwin|linux|win)-/, installedRuntime()],
];

/** Installed because valibot reads types with it: no build carries a byte of it. */
const NOT_CARRIED = /^(@typescript\/)?typescript\b/;

/** For development alone, and carried all the same: what editors read. */
const CARRIED_TOO = ["@types/node"];
/** They say MIT and their author in package.json, and bring no text. */
const TEXTLESS: readonly string[] = ["@cfworker/json-schema", "pg-types", "pgpass"];

const SWAGGER = ["LICENSE", "NOTICE", "swagger-ui-bundle.js.LICENSE.txt"];

const LINE = "=".repeat(80);

/** Every package of the lockfile that is not for development alone. */
export function listRuntimePackages(): RuntimePackage[] {
  const locked: Record<string, { version?: string; license?: string; dev?: boolean }> =
    lock.packages;
  return Object.entries(locked)
    .filter(([place, { dev }]) => place !== "" && (dev !== true || isCarriedToo(place)))
    .map(([place, { version = "", license = "unknown" }]) => {
      return { name: place.replace(/^.*node_modules\//, ""), version, license, place };
    });
}

function isCarriedToo(place: string): boolean {
  return CARRIED_TOO.some((name) => place === `node_modules/${name}`);
}

export function makeNotices(): string {
  const packages = listRuntimePackages();
  const carried = packages.filter(({ name }) => !NOT_CARRIED.test(name));
  const groups = Map.groupBy(carried, textOf);
  const parts = [...groups].map(([text, members]) => [LINE, ...titles(members), "", text]);
  const rest = packages.filter(({ name }) => NOT_CARRIED.test(name));
  const last = [LINE, "Installed with the sources, and part of no build:", "", ...titles(rest)];
  const first = [readText("LICENSE"), LINE, INTRODUCTION];
  const lines = [...first, ...parts.flat(), LINE, SQLITE, ...last];
  return `${lines.join("\n")}\n`;
}

const INTRODUCTION = `Flowhook carries the software of others. Each part below names packages, and the licence
under which they are used. Made from package-lock.json.
`;

const SQLITE = `SQLite, which better-sqlite3 contains: public domain (https://sqlite.org/copyright.html)
`;

function titles(packages: readonly RuntimePackage[]): string[] {
  return packages.map(({ name, version, license }) => `${name} ${version} (${license})`);
}

/** The texts in a package's folder; the family's where it brings none. */
function textOf({ name, place }: RuntimePackage): string {
  const family = FAMILIES.find(([pattern]) => pattern.test(name))?.[1];
  const folder = family === undefined ? place : `node_modules/${family}`;
  const files = licenseFiles(folder, name);
  if (TEXTLESS.includes(name)) return mitTextOf(folder);
  if (files.length === 0) throw new Error(`"${name}" brings no text of its licence`);
  return files.map((file) => readText(join(folder, file))).join("\n");
}

/** The terms stand in Flowhook's own licence, with another line of copyright. */
function mitTextOf(folder: string): string {
  const { license, author } = JSON.parse(readText(join(folder, "package.json"))) as {
    readonly license?: string;
    readonly author?: string;
  };
  if (license !== "MIT" || author === undefined)
    throw new Error(`Expected the licence MIT and an author in "${folder}/package.json"`);
  return readText("LICENSE").replace(/^Copyright .*$/m, `Copyright (c) ${author}`);
}

function licenseFiles(folder: string, name: string): readonly string[] {
  if (name === "swagger-ui-dist") return SWAGGER;
  return readdirSync(join(ROOT, folder)).filter((file) =>
    /^(licen[cs]e|notice)(\.(md|txt))?$/i.test(file),
  );
}

function readText(path: string): string {
  const text = readFileSync(join(ROOT, path), "utf8").replaceAll("\r\n", "\n");
  return `${text.replace(/[ \t]+$/gm, "").trim()}\n`;
}

/** The text is the same for every platform. */
function installedRuntime(): string {
  const names = Object.values(TARGETS).map(({ runtime }) => runtime);
  const found = names.find((name) => existsSync(join(ROOT, "node_modules", name)));
  if (found === undefined) throw new Error("No runtime of any platform is installed");
  return found;
}
