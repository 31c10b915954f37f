import type { AuditChange } from "../shared/contract/audit-entry.ts";
import { Said } from "./said.tsx";

/** Members from what to what they changed, a line each. */
export function Changes({ of }: { of: readonly AuditChange[] }) {
  return (
    <>
      {of.map((change) => (
        <p class="change">
          {change.member}: <Difference of={change} />
        </p>
      ))}
    </>
  );
}

/** Of two lists, what was taken away and what came; null is nothing. */
function Difference({ of: { from, to } }: { of: AuditChange }) {
  const isOfLists = Array.isArray(from) && Array.isArray(to);
  const before = isOfLists ? without(from, to) : toTexts(from);
  const after = isOfLists ? without(to, from) : toTexts(to);
  if (before.length === 0 && after.length === 0) return "in another order";
  return (
    <>
      {before.length === 0 ? null : (
        <del>
          <Said text={before.join(", ")} isCode />
        </del>
      )}
      {before.length === 0 || after.length === 0 ? null : " → "}
      {after.length === 0 ? null : (
        <ins>
          <Said text={after.join(", ")} isCode />
        </ins>
      )}
    </>
  );
}

function toTexts(value: unknown): readonly string[] {
  return value === null ? [] : [JSON.stringify(value)];
}

function without(list: readonly unknown[], other: readonly unknown[]): readonly string[] {
  const others = new Set(other.map((item) => JSON.stringify(item)));
  return list.map((item) => JSON.stringify(item)).filter((item) => !others.has(item));
}
