import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Figures } from "./alone.ts";
import { load } from "./load.ts";
import {
  callOf,
  createWebhook,
  ECHO,
  HELD,
  PASSWORD,
  request,
  startService,
  using,
} from "./server.ts";

/** What the runs of a flow do, and how many calls per second it has then. */

const define = (run: string, more = ""): string =>
  `import { defineFlow, v } from "flowhook";\nexport default defineFlow({ ${more} async run(flow) { ${run} } });`;

const TEXT = `v.object({ json: v.object({ text: v.string() }) })`;

/** The name of its webhook, which is that of its flow, and its code. */
const RUNS: Readonly<Record<string, string>> = {
  returns: ECHO,
  checks: define("return flow.input_value.json.text;", `input: ${TEXT},`),
  logs: define(`for (let line = 1; line <= 10; line += 1) flow.log.info("line", line);`),
  reads_setting: define(`return await flow.setting("figure");`),
  reads_secret: define(
    `return (await flow.secret("word")).length;`,
    `permissions: { secrets: ["word"] },`,
  ),
  writes_setting: define(`await flow.set_setting("figure", Math.random());`),
  waits_for_flow: define(`return await flow.start_execution("returns", null, { wait: true });`),
  waits_10_ms: define("await new Promise((resolve) => setTimeout(resolve, 10));"),
  waits_for_failure: define(`return await flow.start_execution("fails", null, { wait: true });`),
};

/** Called itself it would answer 500, which the load takes for an error. */
const FAILS = `export default () => { throw new Error("failed"); };`;

const OPERATIONS = ["execution.start", "setting.read", "setting.write", "secret.use"];

export async function measureRuns(seconds: number): Promise<Figures> {
  return using(await startService(HELD, writeRuns), async ({ url }) => {
    const permissions = OPERATIONS.map((permission) => ({ permission }));
    const role = { name: "runs", propagate: true, permissions, password: PASSWORD };
    await request(url, "POST", "/role", role);
    await request(url, "POST", "/setting", { name: "figure", value: 1 });
    await request(url, "POST", "/secret", { name: "word", value: "open sesame" });
    const figures: Record<string, number> = {};
    for (const name of Object.keys(RUNS)) {
      await createWebhook(url, name, { role: role.name });
      const order = { url: callOf(url, name), expected: null };
      await load({ ...order, seconds: 5 });
      figures[name] = (await load({ ...order, seconds })).rate;
    }
    return figures;
  });
}

function writeRuns(folder: string): void {
  for (const [name, code] of Object.entries({ ...RUNS, fails: FAILS }))
    writeFileSync(join(folder, `plugins/${name}.ts`), code);
}
