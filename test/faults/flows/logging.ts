import { setTimeout as wait } from "node:timers/promises";
import { defineFlow } from "flowhook";

/** Logs a line every `ms`, as many and with so many blanks behind as it is told. */
export default defineFlow({
  async run({ input_value, log }) {
    const { lines, blanks = 0, ms = 100 } = input_value["query"];
    for (let at = 0; at < Number(lines); at += 1) {
      log.info(`line ${at}${" ".repeat(Number(blanks))}`);
      await wait(Number(ms));
    }
  },
});
