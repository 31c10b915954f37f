/** @jsxRuntime automatic @jsxImportSource hono/jsx */
import type { Child } from "hono/jsx";

export function Tabs(props: {
  label: string;
  tabs: readonly (readonly [id: string, label: string])[];
}) {
  return (
    <div class="tabs" role="tablist" aria-label={props.label}>
      {props.tabs.map(([id, label], at) => (
        <button
          type="button"
          role="tab"
          id={`${id}-tab`}
          aria-controls={id}
          aria-selected={at === 0 ? "true" : "false"}
        >
          {label}
        </button>
      ))}
    </div>
  );
}

export function TabPanel(props: { id: string; children?: Child }) {
  const { id, children } = props;
  return (
    <section role="tabpanel" id={id} aria-labelledby={`${id}-tab`} hidden>
      {children}
    </section>
  );
}
