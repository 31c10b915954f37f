import type { FieldError } from "../../shared/contract/problem.ts";
import { RequestError } from "../../shared/errors.ts";
import { invalidFields, MOST_FIELDS } from "./field-errors.ts";

/** What is wrong with the webhooks of a document: whoever mends it sees all at once. */
export class ImportFaults {
  readonly #fields: FieldError[] = [];

  /**
   * @returns null where a member of the webhook is wrong
   * @throws what is not, and RequestError invalid where enough is wrong
   */
  async gather<Value>(webhook: string, act: () => Promise<Value>): Promise<Value | null> {
    try {
      return await act();
    } catch (error) {
      for (const { field, message } of fieldsOf(error))
        this.#fields.push({ field, message: `webhook "${webhook}": ${message}` });
      if (this.#fields.length >= MOST_FIELDS) this.throwIfAny();
      return null;
    }
  }

  /** @throws RequestError invalid */
  throwIfAny(): void {
    if (this.#fields.length > 0) throw invalidFields(this.#fields.slice(0, MOST_FIELDS));
  }
}

/** The members that an error is about. @throws the error where there are none */
export function fieldsOf(error: unknown): readonly FieldError[] {
  if (error instanceof RequestError && error.code === "invalid" && error.fields.length > 0)
    return error.fields;
  throw error;
}
