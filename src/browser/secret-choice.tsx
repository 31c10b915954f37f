import { readAll } from "./api.ts";
import { Check, ErrorLine, Field, Group } from "./field.tsx";
import { FieldError, listOf, textsOf } from "./form-values.ts";
import { useLoaded } from "./loaded.ts";
import { may, pagePath } from "./page.ts";
import type { Named } from "./resources.ts";

const USE = "Any of them admits, so that one can be replaced without a refused call.";

interface Props {
  readonly name: string;
  readonly chosen: readonly string[];
}

/** One or more of the secrets that there are; typed by whoever may not list them. */
export function SecretChoice({ name, chosen }: Props) {
  if (may("secret.write")) return <ListedSecrets name={name} chosen={chosen} />;
  const hint = `Names of secrets, separated by commas: your roles do not list them. ${USE}`;
  return <Field name={name} label="Secrets" hint={hint} value={chosen.join(", ")} isRequired />;
}

function ListedSecrets({ name, chosen }: Props) {
  const [secrets] = useLoaded(() => readAll<Named>("secret"));
  if (secrets === null) return null;
  const names = secrets.map((secret) => secret.name);
  const gone = chosen.filter((secret) => !names.includes(secret));
  return (
    <Group title="Secrets">
      {names.length === 0 ? (
        <p class="hint">
          There is no secret yet. <a href={pagePath("admin", "secrets")}>Make one</a> first.
        </p>
      ) : (
        <p class="hint">{USE}</p>
      )}
      <div class="picks">
        {[...names, ...gone].map((secret) => (
          <Check
            key={secret}
            name={name}
            label={gone.includes(secret) ? `${secret} (not there any more)` : secret}
            value={secret}
            isChecked={chosen.includes(secret)}
          />
        ))}
      </div>
      <ErrorLine name={name} />
    </Group>
  );
}

/** @throws FieldError where none is chosen */
export function secretsOf(values: FormData, name: string): readonly string[] {
  if (!may("secret.write")) return listOf(values, name);
  const chosen = textsOf(values, name);
  if (chosen.length === 0) throw new FieldError(name, "Choose at least one");
  return chosen;
}
