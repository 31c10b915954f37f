import { serve } from "@hono/node-server";
import { Hono } from "hono";

/** Hono on @hono/node-server: a JSON echo; no flow, no record. */
const app = new Hono();
app.post("/", async (c) => c.json({ echo: (await c.req.json()) as unknown }));
serve({ fetch: app.fetch, port: Number(process.argv[2]), hostname: "127.0.0.1" });
