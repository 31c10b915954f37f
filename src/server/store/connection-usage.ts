import type { Store } from "./store.ts";
import { prepare, builder } from "./prepared.ts";

/** Statements on the table `connection_usage`. */

/** One connection of a month. */
export const countConnection = prepare<{ month: string }>(({ month }) =>
  builder
    .insertInto("connection_usage")
    .values({ month, used: 1 })
    .onConflict((conflict) =>
      conflict.column("month").doUpdateSet((e) => ({ used: e("connection_usage.used", "+", 1) })),
    ),
);

/** Connections by month. */
export async function connectionsByMonth(store: Store): Promise<Map<string, number>> {
  await store.settled();
  const rows = await store.rows.selectFrom("connection_usage").selectAll().execute();
  const months = new Map<string, number>();
  for (const { month, used } of rows) months.set(month, (months.get(month) ?? 0) + used);
  return months;
}
