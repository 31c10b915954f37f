import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Rules of the linter for names. They are in camelCase, unless they exist in SQL, in JSON that
 * leaves the process, or in the configuration: those are read from the files that say what these
 * look like. And they are made of the field's words, not of metaphors of our own.
 */

const SRC = join(import.meta.dirname, "../src");

/** Files that hold shapes and little else: each name in them is one of SQL, JSON or YAML. */
const SHAPES = [
  "server/store/{schema,shared-schema,execution-row}.ts",
  "server/config/schema.ts",
  "server/metrics/metric-table.ts",
  "server/api/shapes.ts",
  "shared/{author,errors,manifest}.ts",
  "shared/contract/*.ts",
  "shared/wire/*.ts",
];

/** Files with schemas of requests and documents among other things: the keys of those count. */
const SCHEMAS = ["server/api/*.ts", "server/flows/*.ts"];

/** Members of log lines and of options of packages, modules of Node, and values of JSON that are keys of our own tables. */
const OTHERS = `trace_id duration_ms wait_ms free_bytes jump_ms clock_difference_ms newest_at left_out
  async_hooks child_process diagnostics_channel perf_hooks string_decoder trace_events
  signature_missing signature_wrong timestamp_missing timestamp_outside secret_unusable
  leg_signature_wrong application_name statement_timeout query_timeout`;

/** What is said instead of these: slot, prefetch, average, poll, registry, audit, throttle, deps. */
const PRIVATE =
  /^(house|corridor|gate|seat|ahead|near|pace|look|roster|shel(?:f|ves)|desk|stranger|trail)s?$/i;

const SNAKE = /\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b/g;
const SCHEMA_KEY = /\b([a-z][a-z0-9]*(?:_[a-z0-9]+)+): (?:v\.|[A-Z])/g;

const NAMES = new Set([
  ...OTHERS.split(/\s+/),
  ...textsOf(SHAPES).flatMap((text) => text.match(SNAKE) ?? []),
  ...textsOf(SCHEMAS).flatMap((text) => [...text.matchAll(SCHEMA_KEY)].map(([, name]) => name)),
]);

function textsOf(patterns: readonly string[]): string[] {
  const files = patterns.flatMap((pattern) => globSync(pattern, { cwd: SRC }));
  return files.map((file) => readFileSync(join(SRC, file), "utf8"));
}

interface Context {
  report(finding: { node: object; message: string }): void;
}

interface Name {
  readonly name: string;
}

function checkCase(context: Context, node: Name): void {
  // `DATA_DIR` is a constant; `_data` is one word.
  const isSnake = /[a-z0-9]_+[a-z0-9]/i.test(node.name) && /[a-z]/.test(node.name);
  if (!isSnake || NAMES.has(node.name)) return;
  const message = `"${node.name}" is no name of SQL, JSON or the configuration: use camelCase`;
  context.report({ node, message });
}

function checkWords(context: Context, node: Name): void {
  const found = partsOf(node.name).find((part) => PRIVATE.test(part));
  if (found === undefined) return;
  const message = `"${found}" is a metaphor of our own: say it in the field's words`;
  context.report({ node, message });
}

/** `isOpen` is two words; so is `IS_OPEN`. */
function partsOf(name: string): string[] {
  const isUpper = name === name.toUpperCase();
  return name.split(isUpper ? "_" : /_|(?=[A-Z])/);
}

function forNames(act: (context: Context, node: Name) => void) {
  return {
    create: (context: Context) => ({
      Identifier: (node: Name) => act(context, node),
      JSXIdentifier: (node: Name) => act(context, node),
      PrivateIdentifier: (node: Name) => act(context, node),
    }),
  };
}

export default {
  meta: { name: "names" },
  rules: { case: forNames(checkCase), words: forNames(checkWords) },
};
