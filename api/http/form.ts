import type { JsonObject } from '../../engine/core/types.js';
import { AppError } from '../../engine/core/errors.js';

/**
 * Reads a JSON body key by key and collects every mistake, so that one answer reports all of them (contract 2.2). It is lenient, as the
 * contract requires: null counts as absent, and so does an empty text in place of a whole number, unknown keys are ignored, numbers and
 * booleans may be strings, and a single value may stand for a list. Unless its comment says otherwise, a method that reads a key returns
 * undefined if the key is absent, and also, after it has noted the mistake, if the value does not have the wanted form.
 */
export class Form {
  readonly #values: Readonly<Record<string, unknown>>;
  readonly #errors = new Map<string, (string | object)[]>();

  constructor(body: unknown) {
    if (body === undefined || body === null) this.#values = {};
    else if (isObject(body)) this.#values = body;
    else throw new AppError('invalid', 'the request body must be a JSON object');
  }

  /** Whether the body has the key, even with null. */
  has(key: string): boolean {
    return Object.hasOwn(this.#values, key);
  }

  /** Returns the value of a key as the client sent it; undefined if it is absent or null. */
  raw(key: string): unknown {
    return this.has(key) ? (this.#values[key] ?? undefined) : undefined;
  }

  /** Reads a string; a number is converted to its text. */
  text(key: string): string | undefined {
    const value = this.raw(key);
    if (value === undefined || typeof value === 'string') return value;
    if (typeof value === 'number' || typeof value === 'bigint') return String(value);
    return this.fail(key, 'Not a valid string.');
  }

  /** Reads a string that must be present and not blank; notes a mistake and returns the empty string if it is not. */
  requiredText(key: string): string {
    const value = this.text(key);
    if (value !== undefined && value.trim() !== '') return value;
    this.failAbsent(key);
    return '';
  }

  /** Notes that a key is missing, unless a mistake in it is noted already. Returns undefined. */
  failAbsent(key: string): undefined {
    if (!this.#errors.has(key)) this.fail(key, 'This field is required.');
  }

  /** Reads a string or null; undefined means that the key is absent or its value is a mistake. */
  nullableText(key: string): string | null | undefined {
    if (this.has(key) && this.#values[key] === null) return null;
    return this.text(key);
  }

  boolean(key: string): boolean | undefined {
    const value = this.raw(key);
    if (value === undefined) return undefined;
    return readBoolean(value) ?? this.fail(key, 'Must be a valid boolean.');
  }

  integer(key: string): number | undefined {
    const value = this.raw(key);
    if (value === undefined || value === '') return undefined;
    return readInteger(value) ?? this.fail(key, 'A valid integer is required.');
  }

  /** Reads an id: a positive whole number, or its text; an empty text counts as absent, and `problem` is the message for anything else. */
  id(key: string, problem: string): number | undefined {
    const value = this.raw(key);
    if (value === undefined || value === '') return undefined;
    return readId(value) ?? this.fail(key, problem);
  }

  /** Reads a list of strings, of which any may be given as numbers; a single string or number stands for a list of one. */
  textList(key: string): readonly string[] | undefined {
    const value = this.raw(key);
    if (value === undefined) return undefined;
    const list: readonly unknown[] = Array.isArray(value) ? value : [value];
    const texts = list.map((item) => (typeof item === 'number' ? String(item) : item));
    if (texts.every((item) => typeof item === 'string')) return texts;
    return this.fail(key, 'Must be a list of strings.');
  }

  /** Reads a value that must be one of `choices`, which are case-sensitive. */
  choice<T extends string>(key: string, choices: readonly T[]): T | undefined {
    const value = this.text(key);
    if (value === undefined) return undefined;
    const matchingChoice = choices.find((choice) => choice === value);
    const quotedValue = JSON.stringify(value.slice(0, 100));
    return (
      matchingChoice ??
      this.fail(key, `${quotedValue} is not a valid choice; use ${choices.join(', ')}.`)
    );
  }

  /** Reads a JSON object; `[]`, which R and PHP send for an empty object, is accepted as well. */
  object(key: string): JsonObject | undefined {
    const value = this.raw(key);
    if (value === undefined) return undefined;
    if (Array.isArray(value) && value.length === 0) return {};
    return isObject(value) ? value : this.fail(key, 'Must be a JSON object.');
  }

  /**
   * Reads a list of objects; also one object that has the key `name`, or an object of objects, each of which gets its key as its `name`
   * unless it has one (contract 10.2).
   */
  objectList(key: string): readonly JsonObject[] | undefined {
    const value = this.raw(key);
    if (value === undefined) return undefined;
    const list = asObjects(value);
    return list ?? this.fail(key, 'Must be a list of objects.');
  }

  /** Notes a mistake in a key; `throwIfInvalid` throws it. Returns undefined. */
  fail(key: string, message: string | object): undefined {
    const messages = this.#errors.get(key) ?? [];
    if (!messages.includes(message)) messages.push(message);
    this.#errors.set(key, messages);
    return undefined;
  }

  /** Adds the errors of a thrown field error to those of the form; rethrows any other error. */
  collectErrorsOf(error: unknown): void {
    const formError = error as { code?: unknown; fields?: unknown } | null;
    if (formError?.code !== 'invalid' || !isObject(formError.fields)) throw error;
    for (const [key, value] of Object.entries(formError.fields)) {
      for (const message of Array.isArray(value) ? value : [value]) {
        this.fail(key, message as string | object);
      }
    }
  }

  /**
   * Adds the mistakes of `part`, a form that reads a part of this body, to this form under the one key `key`. `describe` returns the
   * message for each of them, from the key in the part and the messages about that key. Returns whether the part has no mistakes.
   */
  collectErrorsOfPart(
    key: string,
    part: Form,
    describe: (key: string, messages: string) => string,
  ): boolean {
    for (const [name, messages] of part.#errors) {
      this.fail(key, describe(name, messages.join(' ')));
    }
    return part.#errors.size === 0;
  }

  /** Throws all noted mistakes as one error. */
  throwIfInvalid(): void {
    if (this.#errors.size === 0) return;
    const texts = Array.from(this.#errors, ([key, messages]) => `${key}: ${messages.map(messageText).join(' ')}`); // prettier-ignore
    throw new AppError('invalid', texts.join(' '), Object.fromEntries(this.#errors));
  }
}

function messageText(message: string | object): string {
  return typeof message === 'string' ? message : JSON.stringify(message);
}

/** Whether a value is a JSON object; false for a list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Reads an id from a path, a query or a body: a positive whole number below 2^53, as number or text; returns undefined for anything else.
 */
export function readId(value: unknown): number | undefined {
  const number = readInteger(value);
  return number !== undefined && number > 0 ? number : undefined;
}

/** Reads a whole number between -2^53 and 2^53, as number or text; returns undefined for anything else. */
export function readInteger(value: unknown): number | undefined {
  const isText = typeof value === 'string' && /^\s*[+-]?\d{1,16}(\.0*)?\s*$/.test(value);
  const number = isText ? Number(value) : value;
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : undefined;
}

const booleanByText = new Map<string, boolean>([
  ['true', true],
  ['t', true],
  ['1', true],
  ['yes', true],
  ['false', false],
  ['f', false],
  ['0', false],
  ['no', false],
  ['', false], // `redirect=` is false (contract 1.2)
]);

/** Reads a boolean as Python, R, JSON or a query string writes it; returns undefined for anything else. */
export function readBoolean(value: unknown): boolean | undefined {
  if (typeof value === 'boolean') return value;
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  return booleanByText.get(String(value).trim().toLowerCase());
}

function asObjects(value: unknown): readonly JsonObject[] | undefined {
  if (Array.isArray(value)) {
    return value.every(isObject) ? (value as readonly JsonObject[]) : undefined;
  }
  if (!isObject(value)) return undefined;
  const entries = Object.entries(value);
  if (entries.length === 0) return [];
  if (!Object.hasOwn(value, 'name') && entries.every(([, item]) => isObject(item))) {
    return entries.map(([name, item]) => ({ name, ...(item as JsonObject) }));
  }
  return Object.hasOwn(value, 'name') ? [value] : undefined;
}
