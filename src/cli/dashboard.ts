import { ROWS, type PanelTable } from "./dashboard-panels.ts";
import { printJson } from "./table.ts";

/**
 * Prints a dashboard for Grafana 10 and later. It asks for its data source when it is imported, and
 * keeps its address when it is imported again.
 */
export function printDashboard(): void {
  printJson({
    uid: "flowhook",
    title: "Flowhook",
    tags: ["flowhook"],
    schemaVersion: 39,
    editable: true,
    graphTooltip: 1,
    refresh: "30s",
    time: { from: "now-6h", to: "now" },
    templating: { list: VARIABLES },
    panels: placePanels(),
  });
}

const SOURCE = { type: "prometheus", uid: "${source}" };

const VARIABLES = [
  { name: "source", label: "Data source", type: "datasource", query: "prometheus" },
  choice("instance", "Service", "label_values(flowhook_build_info, instance)"),
  choice(
    "webhook",
    "Webhook",
    'label_values(flowhook_executions_ended_total{instance=~"$instance"}, webhook)',
  ),
];

/** One or several values of a label; all of them at first. */
function choice(name: string, label: string, query: string) {
  return {
    name,
    label,
    type: "query",
    datasource: SOURCE,
    query: { query, refId: name },
    // When the time range changes: webhooks come and go.
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    // Also what has no such label.
    allValue: ".*",
    current: { text: "All", value: "$__all" },
  };
}

const HEIGHT = 8;
const COLUMNS = 24;

/** Panels from left to right, as many as fit beside each other; each row has a title. */
function placePanels(): object[] {
  const placed: object[] = [];
  let y = 0;
  for (const row of ROWS) {
    placed.push({
      id: placed.length + 1,
      type: "row",
      title: row.title,
      collapsed: false,
      panels: [],
      gridPos: { x: 0, y, w: COLUMNS, h: 1 },
    });
    y += 1;
    let x = 0;
    for (const panel of row.panels) {
      if (x + panel.width > COLUMNS) [x, y] = [0, y + HEIGHT];
      placed.push(toPanel(panel, placed.length + 1, { x, y, w: panel.width, h: HEIGHT }));
      x += panel.width;
    }
    y += HEIGHT;
  }
  return placed;
}

function toPanel({ title, description, unit, lines }: PanelTable, id: number, gridPos: object) {
  return {
    id,
    type: "timeseries",
    title,
    description,
    datasource: SOURCE,
    gridPos,
    fieldConfig: {
      defaults: { unit, min: 0, custom: { fillOpacity: 10, showPoints: "never" } },
      overrides: [],
    },
    options: {
      legend: { displayMode: "list", placement: "bottom", showLegend: true },
      tooltip: { mode: "multi", sort: "desc" },
    },
    targets: lines.map(([expr, legendFormat], at) => ({
      refId: String.fromCodePoint(65 + at),
      datasource: SOURCE,
      expr,
      legendFormat,
      range: true,
    })),
  };
}
