import { defineFlow } from "flowhook";

/**
 * A page for people, with a form that posts back to itself. Open it in a browser:
 *
 *   $URL/status-page/call
 */
export default defineFlow({
  description: "A status page in HTML with a form",

  run(flow) {
    const { method, json, query } = flow.input_value;
    // A form's fields arrive as `json`: an object of strings.
    const fields = method === "POST" ? json : query;
    const note = text(fields, "note");
    flow.webhook_html_response(page(note, text(fields, "service") || "shop", flow.execution.id));
    return { note };
  },
});

// No script: a page from a flow runs apart from the service's own pages and cannot use their
// login, but it needs none for this. `action="?"` posts to the address that the page came from,
// whatever prefix a proxy put before it, and without its query: that one names the execution
// whose answer this page is, and would bring the same page again.
function page(note: string, service: string, execution: string): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Status of ${escape(service)}</title>
    <link rel="stylesheet" href="/default-styling.css">
  </head>
  <body>
    <main>
      <h1>Status of ${escape(service)}</h1>
      <p>Everything runs.${note === "" ? "" : ` Last note: <q>${escape(note)}</q>`}</p>
      <form method="post" action="?" enctype="application/x-www-form-urlencoded">
        <label for="service">Service</label>
        <input id="service" name="service" value="${escape(service)}" maxlength="60" required>
        <label for="note">Note</label>
        <input id="note" name="note" value="${escape(note)}" maxlength="200" autofocus>
        <button type="submit">Save the note</button>
      </form>
      <footer><small>Made by execution ${escape(execution)}</small></footer>
    </main>
  </body>
</html>
`;
}

/** Whatever was sent, as a short text. */
function text(fields: unknown, name: string): string {
  if (typeof fields !== "object" || fields === null || !Object.hasOwn(fields, name)) return "";
  const value: unknown = Reflect.get(fields, name);
  return typeof value === "string" ? value.slice(0, 200) : "";
}

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Everything that came from outside goes through here, in texts and in attributes alike. */
function escape(value: string): string {
  return value.replace(/[&<>"']/g, (sign) => ESCAPES[sign] ?? "");
}
