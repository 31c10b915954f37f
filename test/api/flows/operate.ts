import { defineFlow } from "flowhook";

interface Ask {
  readonly operation: "setting" | "set_setting" | "secret" | "start_execution";
  readonly name: string;
  readonly value?: unknown;
  readonly wait?: unknown;
}

/** Does the operation that the payload names, and returns what it gave or how it was refused. */
export default defineFlow({
  permissions: { secrets: ["DECLARED"] },
  run: async (flow) => {
    const { operation, name, value, wait } = flow.input_value.json as Ask;
    try {
      if (operation === "setting") return { gave: await flow.setting(name) };
      if (operation === "secret") return { gave: await flow.secret(name) };
      if (operation === "set_setting")
        return { gave: (await flow.set_setting(name, value)) ?? null };
      if (wait === undefined) return { gave: await flow.start_execution(name, value) };
      return { gave: await flow.start_execution(name, value, { wait: wait as true }) };
    } catch (error) {
      return { refused: (error as Error).message };
    }
  },
});
