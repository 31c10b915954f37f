import { CONFIG } from "../../shared/contract/config.ts";
import { defineRoute } from "./route.ts";

export const getConfig = defineRoute({
  method: "GET",
  path: "/config",
  summary: "Each key of the configuration, its value and where that came from; no secrets",
  needs: "config.read",
  answer: CONFIG,
  async act({ configuration: { file, values } }) {
    return { status: 200, body: { file, items: values } };
  },
});
