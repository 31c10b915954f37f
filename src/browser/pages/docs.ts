import { start } from "../start.ts";

// The server makes the pages of the documentation, and searches them.
start(async () => {});
