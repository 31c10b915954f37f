import { defineFlow, v } from "flowhook";

export default defineFlow({ input: v.object({ json: v.object({ name: v.string() }) }), run() {} });
