import { keysOf, originalKey } from './dict.js';
import { floatRepr } from './float-text.js';
import { intText } from './integers.js';
import { isPrintable } from './unicode-characters.js';
import { typeName } from './type-name.js';
import {
  BoundMethod,
  DictView,
  Float,
  Native,
  PyDict,
  PyList,
  PyRange,
  PySet,
  PySlice,
  PyTuple,
  PyType,
} from './python-values.js';
import type { PyValue, Runtime } from './python-values.js';

/** Returns the text of a value like Python's `str()`. */
export function strOf(runtime: Runtime, value: PyValue): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  return reprOf(runtime, value);
}

/** Returns the text of a value like Python's `repr()`. */
export function reprOf(runtime: Runtime, value: PyValue): string {
  if (typeof value === 'string') return stringRepr(runtime, value);
  if (typeof value === 'number') return String(value);
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'bigint') return intText(value, runtime.budget);
  if (value instanceof Float) return floatRepr(value.value);
  return new ReprWriter(runtime).writeNested(value);
}

/** Returns the text of a value like Python's `ascii()`. */
export function asciiOf(runtime: Runtime, value: PyValue): string {
  const text = reprOf(runtime, value);
  runtime.budget.chargeText(text.length);
  let result = '';
  for (const one of text) result += one <= '~' ? one : escapeOf(one.codePointAt(0)!);
  runtime.budget.chargeText(result.length);
  return result;
}

/** Returns a text in quotes, with escapes as in CPython. */
export function stringRepr(runtime: Runtime, text: string): string {
  runtime.budget.chargeText(text.length + 2);
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  if (/^[ !#-&(-[\]-~]*$/.test(text)) return `${quote}${text}${quote}`;
  const maxLength = runtime.budget.limits.stringLength;
  runtime.budget.charge(text.length >>> 3);
  let result = quote;
  for (const one of text) {
    if (one === quote || one === '\\') result += `\\${one}`;
    else if (one >= ' ' && one <= '~') result += one;
    else result += isPrintable(one.codePointAt(0)!) ? one : escapeOf(one.codePointAt(0)!);
    if (result.length > maxLength) break;
  }
  runtime.budget.chargeText(result.length + 1);
  return result + quote;
}

function escapeOf(code: number): string {
  if (code === 9) return '\\t';
  if (code === 10) return '\\n';
  if (code === 13) return '\\r';
  const hex = code.toString(16);
  if (code < 0x100) return `\\x${hex.padStart(2, '0')}`;
  return code < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}

/**
 * Writes nested values like `repr()`. A list, tuple, dict or view that contains itself is written there as `[...]`, `(...)`, `{...}` or
 * `...`.
 */
class ReprWriter {
  readonly #runtime: Runtime;
  readonly #open = new Set<object>();
  #length = 0;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  writeNested(value: PyValue): string {
    const text = this.#write(value);
    this.#runtime.budget.charge(1);
    return text;
  }

  #write(value: PyValue): string {
    if (typeof value !== 'object' || value === null || value instanceof Float)
      return reprOf(this.#runtime, value);
    if (value instanceof PyList)
      return this.#inside(value, '[...]', () => this.#all('[', value.items, ']'));
    if (value instanceof PyTuple)
      return this.#inside(value, '(...)', () =>
        this.#all('(', value.items, value.items.length === 1 ? ',)' : ')'),
      );
    if (value instanceof PyDict) return this.#inside(value, '{...}', () => this.#dict(value));
    if (value instanceof PySet) return this.#set(value);
    if (value instanceof PyRange)
      return `range(${value.start}, ${value.stop}${value.step === 1 ? '' : `, ${value.step}`})`;
    if (value instanceof PySlice)
      return this.#all('slice(', [value.start, value.stop, value.step], ')');
    if (value instanceof DictView) return this.#inside(value, '...', () => this.#view(value));
    if (value instanceof PyType) return `<class '${value.name}'>`;
    if (value instanceof Native)
      return value.owner === undefined
        ? `<built-in function ${value.name}>`
        : `<method '${value.name}' of '${value.owner}' objects>`;
    if (value instanceof BoundMethod)
      return `<built-in method ${value.native.name} of ${typeName(value.self)} object>`;
    return `<${typeName(value)} object>`;
  }

  #inside(value: object, again: string, write: () => string): string {
    if (this.#open.has(value)) return again;
    this.#open.add(value);
    const text = write();
    this.#open.delete(value);
    return text;
  }

  #all(opening: string, values: readonly PyValue[], closing: string): string {
    const texts = values.map((value) => this.#part(value));
    return `${opening}${texts.join(', ')}${closing}`;
  }

  #part(value: PyValue): string {
    const text = this.writeNested(value);
    this.#length += text.length + 2;
    this.#runtime.budget.chargeGrownText(this.#length, text.length + 2);
    return text;
  }

  #dict(dict: PyDict): string {
    const texts = Array.from(
      dict.map,
      ([key, value]) => `${this.#part(originalKey(dict, key))}: ${this.#part(value)}`,
    );
    return `{${texts.join(', ')}}`;
  }

  #set(set: PySet): string {
    const members = Array.from(set.map.values());
    if (members.length === 0) return `${typeName(set)}()`;
    return set.isFrozen ? this.#all('frozenset({', members, '})') : this.#all('{', members, '}');
  }

  #view(view: DictView): string {
    if (view.part === 'keys') return this.#all('dict_keys([', keysOf(view.dict), '])');
    if (view.part === 'values')
      return this.#all('dict_values([', Array.from(view.dict.map.values()), '])');
    const items = Array.from(
      view.dict.map,
      ([key, value]) => new PyTuple([originalKey(view.dict, key), value]),
    );
    return this.#all('dict_items([', items, '])');
  }
}
