import { after, describe } from "node:test";
import { exceptionSummary } from "./exceptions.ts";
import { runGroup } from "./group-run.ts";
import { GROUPS } from "./groups.ts";
import { openTarget } from "./target.ts";

/**
 * Three groups at a time: much of a group's time is a service that starts or a leg that waits. Two
 * where a service has three nodes, because some rows are about time.
 */
const AT_A_TIME = openTarget().name === "cluster" ? 2 : 3;

describe("scenarios", { concurrency: AT_A_TIME }, () => {
  for (const group of GROUPS) runGroup(group);
});

after(() => console.log(exceptionSummary(openTarget().name)));
