import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { load } from "js-yaml";
import { METRICS, type MetricDescription } from "../../src/server/metrics/metric-table.ts";
import { STATUSES } from "../../src/shared/contract/status.ts";
import { ERRORS } from "../../src/shared/contract/error.ts";
import { runCommand, runProgram } from "../blackbox/command.ts";
import { startService } from "../blackbox/service.ts";
import { findProgram, openTarget } from "../blackbox/target.ts";
import { CASES } from "./promtool-cases.ts";
import { all } from "./session.ts";

const target = openTarget();
const promtool = findProgram("promtool");
const skip = promtool === null ? "no promtool on this machine" : false;

interface Panel {
  readonly title: string;
  readonly type: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

interface Dashboard {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; query: unknown }[] };
}

interface Rules {
  readonly groups: readonly {
    readonly rules: readonly { readonly alert: string; readonly expr: string }[];
  }[];
}

describe("dashboard and alerts", { skip: target.skip ?? false }, () => {
  let folder = "";
  let dashboard: Dashboard;
  let rules: Rules;
  let alerts = "";
  let page = "";

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "flowhook-monitoring-"));
    dashboard = JSON.parse(await print("dashboard")) as Dashboard;
    alerts = await print("alerts");
    rules = load(alerts) as Rules;
    page = await readPage();
  });
  after(() => rm(folder, { recursive: true, force: true }));

  async function print(command: string): Promise<string> {
    const finished = await runCommand(target, [command], { cwd: folder });
    assert.deepEqual([finished.code, finished.stderr], [0, ""], all(finished));
    return finished.stdout;
  }

  /** Of a service that a webhook was called of. */
  async function readPage(): Promise<string> {
    const service = await startService({ flows: ["echo"], target });
    try {
      await service.createWebhook("echo", "echo", { key: null });
      await fetch(`${service.url}/api/latest/webhook/echo/call`, { method: "POST" });
      return await (await fetch(`${service.url}/metrics`)).text();
    } finally {
      await service.stop();
    }
  }

  function expressions(): string[] {
    const panels = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    return [...panels, ...rules.groups.flatMap((group) => group.rules.map(({ expr }) => expr))];
  }

  async function check(name: string, content: string, ...args: string[]): Promise<void> {
    const file = join(folder, name);
    await writeFile(file, content);
    const checked = await runProgram(promtool as string, [...args, file], { cwd: folder });
    assert.equal(checked.code, 0, all(checked));
  }

  test("each metric of an expression is one that there is, with these labels and values", () => {
    for (const expression of expressions()) {
      const names = [...expression.matchAll(/\b(?:flowhook|process|nodejs)_\w+/g)].map(
        ([name]) => name,
      );
      assert.ok(names.length > 0 || expression.includes("up{"), expression);
      for (const name of names)
        assert.ok(isMetric(name) || page.includes(`\n${name} `), `${name} in ${expression}`);
      for (const [, name, selectors = ""] of expression.matchAll(/\b(flowhook_\w+)\{([^}]*)\}/g))
        for (const [, label, given] of selectors.matchAll(/(\w+)=~?"([^"]*)"/g))
          checkLabel(name!, label!, given!);
    }
  });

  test("panels stand beside each other, and each line has a name", () => {
    const panels = dashboard.panels.filter(({ type }) => type !== "row");
    assert.ok(panels.length > 10);
    const places = panels.map(({ gridPos }) => `${gridPos.x} ${gridPos.y}`);
    assert.equal(new Set(places).size, places.length);
    for (const { title, gridPos, targets = [] } of panels) {
      assert.ok(gridPos.x + gridPos.w <= 24, title);
      assert.ok(targets.length > 0, title);
      for (const { legendFormat } of targets) assert.notEqual(legendFormat, "", title);
    }
    const { list } = dashboard.templating;
    assert.deepEqual(
      list.map(({ name }) => name),
      ["source", "instance", "webhook"],
    );
  });

  test("promtool finds nothing wrong with the rules", { skip }, async () => {
    await check("alerts.yaml", alerts, "check", "rules");
  });

  test("promtool understands each expression of the dashboard", { skip }, async () => {
    const filled = expressions().map((expression) =>
      expression.replaceAll("$__rate_interval", "5m").replaceAll(/\$(instance|webhook)/g, ".*"),
    );
    const records = filled.map((expr, at) => ({ record: `panel:${at}`, expr }));
    const text = JSON.stringify({ groups: [{ name: "panels", rules: records }] });
    await check("panels.json", text, "check", "rules");
  });

  test("each alert fires when it should, and not before", { skip }, async () => {
    const known = rules.groups.flatMap((group) => group.rules.map(({ alert }) => alert));
    assert.deepEqual([...new Set(CASES.map(({ alert }) => alert))], known);
    await writeFile(join(folder, "alerts.yaml"), alerts);
    const tests = CASES.flatMap((one) => [
      toTest(one.alert, one.at, one.fires, true),
      toTest(one.alert, one.at, one.quiet, false),
    ]);
    const text = JSON.stringify({ rule_files: ["alerts.yaml"], tests });
    await check("tests.json", text, "test", "rules");
  });

  test("an alert says in words what to do", { skip }, async () => {
    const series = CASES.find(({ alert }) => alert === "FlowhookDiskFull")!.fires;
    const expected = {
      exp_labels: { severity: "critical", instance: "a:8080", job: "flowhook" },
      exp_annotations: {
        summary: "The disk of the database is nearly full",
        description: "256MiB are free. On a full disk calls are refused.",
      },
    };
    const one = { eval_time: "5m", alertname: "FlowhookDiskFull", exp_alerts: [expected] };
    const tests = [{ interval: "1m", input_series: toInput(series), alert_rule_test: [one] }];
    await check(
      "words.json",
      JSON.stringify({ rule_files: ["alerts.yaml"], tests }),
      "test",
      "rules",
    );
  });

  test("promtool finds nothing wrong with what the service prints", { skip }, async () => {
    const args = ["check", "metrics"];
    const checked = await runProgram(promtool as string, args, { cwd: folder, input: page });
    assert.deepEqual([checked.code, all(checked).trim()], [0, ""]);
    const names = [...page.matchAll(/^# TYPE (flowhook_\w+) /gm)].map(([, name]) => name!);
    assert.deepEqual(
      names.filter((name) => !Object.hasOwn(METRICS, name)),
      [],
    );
    const missing = Object.keys(METRICS).filter((name) => !names.includes(name));
    // Of what has not happened, is not set, or is of PostgreSQL.
    assert.deepEqual(missing, [
      "flowhook_signature_total",
      "flowhook_duplicates_total",
      "flowhook_webhook_executions_running",
      "flowhook_webhook_executions_waiting",
      "flowhook_connection_allowance",
      "flowhook_cluster_nodes",
      "flowhook_cluster_waiting",
      "flowhook_flow_versions",
      "flowhook_node_lease_seconds",
      "flowhook_node_given_up_total",
      "flowhook_nodes_lost_total",
      "flowhook_clock_difference_seconds",
    ]);
  });
});

function isMetric(name: string): boolean {
  if (Object.hasOwn(METRICS, name)) return true;
  const [, base = ""] = /^(.+)_(?:bucket|sum|count)$/.exec(name) ?? [];
  return findMetric(base)?.type === "histogram";
}

function findMetric(name: string): MetricDescription | undefined {
  return (METRICS as Readonly<Record<string, MetricDescription>>)[name];
}

/** What Prometheus adds itself. */
const ADDED = ["instance", "job", "le"];

const VALUES: Readonly<Record<string, readonly string[]>> = {
  status: [...STATUSES, "2xx", "3xx", "4xx", "5xx"],
  code: Object.keys(ERRORS),
  state: ["ready", "broken", "draining", "lost"],
};

function checkLabel(name: string, label: string, given: string): void {
  const metric = findMetric(name.replace(/_bucket$/, ""));
  assert.ok([...ADDED, ...(metric?.labels ?? [])].includes(label), `${name}{${label}}`);
  const known = VALUES[label];
  if (known === undefined) return;
  for (const value of given.split("|")) assert.ok(known.includes(value), `${label}="${value}"`);
}

function toTest(
  alert: string,
  at: string,
  series: Readonly<Record<string, string>>,
  fires: boolean,
) {
  const expr = `count by (alertname) (ALERTS{alertname="${alert}", alertstate="firing"})`;
  const sample = { labels: `{alertname="${alert}"}`, value: 1 };
  const exp_samples = fires ? [sample] : [];
  return {
    interval: "1m",
    input_series: toInput(series),
    promql_expr_test: [{ expr, eval_time: at, exp_samples }],
  };
}

function toInput(series: Readonly<Record<string, string>>): object[] {
  return Object.entries(series).map(([name, values]) => ({ series: name, values }));
}
