import { after, describe } from "node:test";
import { exceptionSummary } from "./exceptions.ts";
import { runGroups } from "./group-run.ts";
import { SERVICES } from "./groups.ts";
import { openTarget } from "./target.ts";

/**
 * Three services at a time: much of their time is a process that starts or a leg that waits. Two
 * where a service has three nodes, because some rows are about time.
 */
const AT_A_TIME = openTarget().name === "cluster" ? 2 : 3;

describe("scenarios", { concurrency: AT_A_TIME }, () => {
  for (const groups of SERVICES) runGroups(groups);
});

after(() => console.log(exceptionSummary(openTarget().name)));
