import { join } from "node:path";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { Piscina } from "piscina";

/** The same through a Piscina pool in the same process: no record, no wall. */
const filename = join(import.meta.dirname, "pool-task.ts");
// Both threads stay: else the second one ends whenever it has nothing to do, and is started again.
const pool = new Piscina({ filename, minThreads: 2, maxThreads: 2 });
const app = new Hono();
app.post("/", async (c) => c.json((await pool.run(await c.req.json())) as object));
serve({ fetch: app.fetch, port: Number(process.argv[2]), hostname: "127.0.0.1" });
