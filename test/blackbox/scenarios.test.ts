import { after, describe } from "node:test";
import { exceptionSummary } from "./exceptions.ts";
import { runGroup } from "./group-run.ts";
import { GROUPS } from "./groups.ts";
import { openTarget } from "./target.ts";

/** Three groups at a time: much of a group's time is a service that starts or a leg that waits. */
describe("scenarios", { concurrency: 3 }, () => {
  for (const group of GROUPS) runGroup(group);
});

after(() => console.log(exceptionSummary(openTarget().name)));
