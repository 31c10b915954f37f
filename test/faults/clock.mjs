import { readFileSync } from "node:fs";

/** Loaded before the service: its time of day is off by the milliseconds that a file tells. */
const real = Date.now;
Date.now = () => real() + Number(readFileSync(process.env["CLOCK_FILE"], "utf8"));
