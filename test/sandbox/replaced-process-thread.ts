import { parentPort } from "node:worker_threads";
import { replaceProcess } from "../../src/sandbox/process-object.ts";

/** A thread with the process that flows see; it ends with the first message. */

replaceProcess(() => {});
parentPort?.once("message", () => parentPort?.postMessage("heard"));
parentPort?.postMessage("replaced");
