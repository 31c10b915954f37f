import { useState } from "hono/jsx/dom";
import { Field, SteadyFields } from "./field.tsx";
import { apiPath } from "./page.ts";

/**
 * The name of a new webhook. While it is typed, it shows the URL that it makes and what is unwise
 * about it; what is not allowed is refused by the service, in its own words.
 */
export function NameField() {
  const [typed, setTyped] = useState("");
  const name = typed.trim();
  const usual = "Short and meaningful: it is part of the URL.";
  const url = `${location.origin}${apiPath("webhook", name, "call")}`;
  return (
    <SteadyFields>
      <Field
        name="name"
        id="name"
        label="Name"
        hint={adviceFor(name) ?? usual}
        isRequired
        onInput={setTyped}
      />
      <p class="preview" id="preview" aria-live="polite">
        {name === "" ? "" : url}
      </p>
    </SteadyFields>
  );
}

/** The first thing that is unwise about a name (contract, section 2); null for a good one. */
function adviceFor(name: string): string | null {
  if (/[/\\?#%]/.test(name)) return "None of / \\ ? # % can be in a name.";
  if (/\s/.test(name)) return "A space becomes %20 in the URL: better use a hyphen.";
  if (/[^\p{L}\p{N}._~-]/u.test(name)) return "This character is encoded in the URL.";
  if (/[^\x20-\x7e]/.test(name)) return "Letters beyond a to z are encoded in the URL.";
  if (name.length > 40) return "A shorter name makes a URL that is easier to handle.";
  return null;
}
