import { pathToFileURL } from "node:url";
import { isRecord, isText, type LogLevel } from "./protocol.ts";

/** What the process that runs an author's tests asks of the command, and what it is answered. */

/** One run of a flow in a test. */
export interface TrialRequest {
  readonly number: number;
  /** Absolute paths of modules that have the given flow as their default export. */
  readonly files: readonly string[];
  /** JSON text. */
  readonly input_value: string;
  readonly raw_body: string | null;
  /** Of the URL that a `fetch` flow sees: its origin, and what follows `/call`; null: as input_value says. */
  readonly origin: string;
  readonly target_end: string | null;
  readonly secrets: Readonly<Record<string, string>>;
  /** JSON texts. */
  readonly settings: Readonly<Record<string, string>>;
  /** Milliseconds since the epoch at which the flow's clock stands; null: the real one runs. */
  readonly fake_time: number | null;
}

export interface TrialResult {
  readonly status: string;
  readonly status_message: string | null;
  /** JSON text; null unless the flow returned. */
  readonly output_value: string | null;
  /** JSON text; null without a custom response. */
  readonly response: string | null;
  readonly log: readonly { readonly level: LogLevel; readonly text: string }[];
  /** As they are after the run: JSON texts. */
  readonly settings: Readonly<Record<string, string>>;
}

export type TrialAnswer =
  | { readonly number: number; readonly ok: true; readonly result: TrialResult }
  | { readonly number: number; readonly ok: false; readonly message: string };

/** Tests are code of their author's: what they send is looked at. */
export function isTrialRequest(value: unknown): value is TrialRequest {
  if (!isRecord(value)) return false;
  const { number, files, input_value, raw_body, origin, target_end, fake_time } = value;
  return (
    Number.isSafeInteger(number) &&
    Array.isArray(files) &&
    files.every((file) => isText(file)) &&
    [input_value, origin].every((text) => isText(text)) &&
    [raw_body, target_end].every((text) => text === null || isText(text)) &&
    (fake_time === null || Number.isFinite(fake_time)) &&
    [value["secrets"], value["settings"]].every(isTexts)
  );
}

function isTexts(value: unknown): boolean {
  return isRecord(value) && Object.values(value).every((text) => isText(text));
}

/** What the process of the tests is started with, as JSON in its last argument. */
export interface TestSetup {
  /** Absolute, symlinks resolved. */
  readonly plugins_dir: string;
  /** Absolute paths of the modules that `flowhook` and `flowhook/testing` mean. */
  readonly author: string;
  readonly testing: string;
  /** Absolute paths of the test files. */
  readonly files: readonly string[];
  /** Only tests whose names have it; null: all. */
  readonly name: string | null;
  readonly reporter: TestReporter;
}

/** Exit code of the process where no test has the name. */
export const NONE_FITS = 3;

/** URLs of the modules that tests import by name. */
export function toModules({ author, testing }: TestSetup): Record<string, string> {
  return { flowhook: pathToFileURL(author).href, "flowhook/testing": pathToFileURL(testing).href };
}

export const TEST_REPORTERS = ["spec", "tap", "dot", "junit"] as const;
export type TestReporter = (typeof TEST_REPORTERS)[number];

/** Under this symbol of globalThis: URLs of the modules in PLUGINS_DIR that tests imported. */
export const IMPORTED = "flowhook.imported";
