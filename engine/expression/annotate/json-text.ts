import { textKeyedEntries } from '../values/dict.js';
import { limitExceededError } from '../values/expression-limits.js';
import { floatRepr } from '../values/float-text.js';
import { Float, PyDict, PyList } from '../values/python-values.js';
import type { PyValue } from '../values/python-values.js';

/**
 * Returns the JSON text of a plain value: ints with all digits, floats always with a point or an exponent, infinities as the texts
 * `Infinity` and `-Infinity`, NaN as null (specification of expressions, section 5.3). Throws if the text has more than `maxBytes` bytes.
 */
export function jsonOfValue(value: PyValue, maxBytes: number): string {
  const writer = new JsonTextWriter(maxBytes);
  writer.write(value);
  return writer.text();
}

class JsonTextWriter {
  readonly #maxBytes: number;
  readonly #parts: string[] = [];
  #length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  text(): string {
    const text = this.#parts.join('');
    if (Buffer.byteLength(text) > this.#maxBytes) throw this.#tooLarge();
    return text;
  }

  write(value: PyValue): void {
    if (value instanceof PyList) {
      this.#items('[', value.items, (item) => this.write(item), ']');
    } else if (value instanceof PyDict) {
      const entry = ([key, item]: readonly [string, PyValue]): void => {
        this.#add(`${JSON.stringify(key)}:`);
        this.write(item);
      };
      this.#items('{', textKeyedEntries(value), entry, '}');
    } else this.#add(scalarText(value));
  }

  #items<T>(open: string, items: Iterable<T>, write: (item: T) => void, close: string): void {
    this.#add(open);
    let isFirst = true;
    for (const item of items) {
      if (!isFirst) this.#add(',');
      isFirst = false;
      write(item);
    }
    this.#add(close);
  }

  #add(part: string): void {
    this.#length += part.length;
    if (this.#length > this.#maxBytes) throw this.#tooLarge();
    this.#parts.push(part);
  }

  #tooLarge(): Error {
    return limitExceededError(`a result of more than ${this.#maxBytes / 1_000_000} MB`);
  }
}

function scalarText(value: PyValue): string {
  if (value instanceof Float) {
    if (Number.isFinite(value.value)) return floatRepr(value.value);
    if (Number.isNaN(value.value)) return 'null';
    return value.value > 0 ? '"Infinity"' : '"-Infinity"';
  }
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value);
    case 'number':
    case 'bigint':
    case 'boolean':
      return String(value);
    default:
      return 'null';
  }
}
