import { BroadcastChannel } from "node:worker_threads";
import perform, { program } from "../src/sandbox/entry.ts";

/** Entry of a thread that tells what is compiled of its program, once it is asked (thread-cache.ts). */

const channel = new BroadcastChannel("code");
channel.onmessage = () => channel.postMessage(program.cache());

export default perform;
