import { runGroup } from "./group-run.ts";
import { SLOW_GROUPS } from "./groups.ts";

// In a file of its own: its waiting overlaps with the other files.
for (const group of SLOW_GROUPS) runGroup(group);
