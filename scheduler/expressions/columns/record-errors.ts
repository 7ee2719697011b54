import { textKeyedEntries } from '../../../engine/expression/values/dict.js';
import { PyDict, type PyValue } from '../../../engine/expression/values/python-values.js';

/** The field with the errors of a record's expressions: an object with their messages by field. */
export const errorsField = '_errors';

/** Returns whether the fields to drop, given by their paths, include `_errors`. */
export function dropsErrors(paths: readonly (readonly string[])[]): boolean {
  return paths.some((path) => path.length === 1 && path[0] === errorsField);
}

/** Maximum length in characters of an error message that is stored. */
const maxMessageChars = 500;

/** Returns a message, shortened for storage if it is long. */
export function shortenMessage(message: string): string {
  return message.length <= maxMessageChars ? message : `${message.slice(0, maxMessageChars)}…`;
}

/**
 * Returns the fields and messages in the stored errors of a record, without those of `computedFields`, which are outdated. A value that is
 * no object has no messages.
 */
export function messagesOfOthers(
  storedErrors: PyValue | undefined,
  computedFields: ReadonlySet<string>,
): readonly (readonly [string, PyValue])[] {
  if (!(storedErrors instanceof PyDict)) return [];
  return Array.from(textKeyedEntries(storedErrors)).filter(
    ([name, message]) => message !== null && !computedFields.has(name),
  );
}

/** The errors of the expressions of a chunk, by record and field. */
export class ExpressionErrors {
  readonly #messagesByRow = new Map<number, Map<string, string>>();

  addError(row: number, field: string, message: string): void {
    const messages = this.#messagesByRow.get(row) ?? new Map<string, string>();
    this.#messagesByRow.set(row, messages.set(field, shortenMessage(message)));
  }

  get isEmpty(): boolean {
    return this.#messagesByRow.size === 0;
  }

  /** Returns the records that have errors, in their order. */
  rowsWithErrors(): readonly number[] {
    return Array.from(this.#messagesByRow.keys()).toSorted((a, b) => a - b);
  }

  /** Returns the messages of a record in the order of `fields`. */
  messagesOf(row: number, fields: readonly string[]): readonly (readonly [string, string])[] {
    const messages = this.#messagesByRow.get(row);
    return fields.flatMap((field) => {
      const message = messages?.get(field);
      return message === undefined ? [] : [[field, message] as const];
    });
  }
}
