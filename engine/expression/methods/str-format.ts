import {
  attributeError,
  ExpressionError,
  indexError,
  suggestSimilar,
  typeError,
  valueError,
} from '../values/expression-errors.js';
import { getItem } from '../values/dict.js';
import { asciiOf, reprOf, strOf } from '../values/repr.js';
import { typeName } from '../values/type-name.js';
import { PyDict } from '../values/python-values.js';
import type { Keywords, PyValue, Runtime } from '../values/python-values.js';
import { subscript } from '../operators/subscript.js';
import { formatValue } from '../formatting/format-value.js';

/** The values for the fields of a format text. */
interface FormatArguments {
  readonly positional: readonly PyValue[];
  /** Returns the value of a named argument; undefined if there is no such argument. */
  readonly named: (name: string) => PyValue | undefined;
  /** Whether the values are the mapping of `format_map`, which allows no positional fields. */
  readonly isMapping: boolean;
}

/** Evaluates `text.format(*args, **keywords)`. */
export function formatText(
  runtime: Runtime,
  text: string,
  positional: readonly PyValue[],
  keywords: Keywords | undefined,
): string {
  const values = { positional, named: (name: string) => keywords?.get(name), isMapping: false };
  return new TextFormatter(runtime, values).format(text, 2);
}

/** Evaluates `text.format_map(mapping)`. */
export function formatMap(runtime: Runtime, text: string, mapping: PyValue): string {
  const valueNamed = (name: string) =>
    mapping instanceof PyDict ? getItem(mapping, name) : subscript(runtime, mapping, name);
  return new TextFormatter(runtime, { positional: [], named: valueNamed, isMapping: true }).format(
    text,
    2,
  );
}

class TextFormatter {
  readonly #runtime: Runtime;
  readonly #values: FormatArguments;
  #automatic = 0;
  #numbering: 'automatic' | 'manual' | undefined;

  constructor(runtime: Runtime, values: FormatArguments) {
    this.#runtime = runtime;
    this.#values = values;
  }

  format(text: string, depth: number): string {
    if (depth < 0 || (depth === 0 && text.includes('{')))
      throw valueError('Max string recursion exceeded');
    let result = '';
    for (let i = 0; i < text.length;) {
      const at = nextBrace(text, i);
      result += text.slice(i, at);
      if (at >= text.length) break;
      const brace = text[at]!;
      if (text[at + 1] === brace) {
        result += brace;
        i = at + 2;
        continue;
      }
      if (brace === '}') throw valueError("Single '}' encountered in format string");
      if (at + 1 >= text.length) throw valueError("Single '{' encountered in format string");
      const end = fieldEnd(text, at + 1);
      const field = this.#field(text.slice(at + 1, end), depth);
      result += field;
      this.#runtime.budget.chargeGrownText(result.length, field.length);
      i = end + 1;
    }
    return result;
  }

  #field(field: string, depth: number): string {
    const end = nameEnd(field);
    const name = field.slice(0, end);
    let restOfField = field.slice(end);
    let conversion = '';
    if (restOfField.startsWith('!')) {
      if (restOfField.length < 2)
        throw valueError('end of string while looking for conversion specifier');
      conversion = String.fromCodePoint(restOfField.codePointAt(1)!);
      restOfField = restOfField.slice(1 + conversion.length);
      if (restOfField !== '' && !restOfField.startsWith(':'))
        throw valueError("expected ':' after conversion specifier");
    }
    const value = this.#lookUp(name);
    const spec = restOfField.startsWith(':') ? restOfField.slice(1) : '';
    const converted = conversion === '' ? value : this.#convert(value, conversion);
    return formatValue(
      this.#runtime,
      converted,
      /[{}]/.test(spec) ? this.format(spec, depth - 1) : spec,
    );
  }

  #convert(value: PyValue, conversion: string): string {
    if (conversion === 's') return strOf(this.#runtime, value);
    if (conversion === 'r') return reprOf(this.#runtime, value);
    if (conversion === 'a') return asciiOf(this.#runtime, value);
    const code = conversion.codePointAt(0)!;
    throw valueError(
      code > 32 && code < 127
        ? `Unknown conversion specifier ${conversion}`
        : `Unknown conversion specifier \\x${code.toString(16)}`,
    );
  }

  #lookUp(name: string): PyValue {
    const first = /^[^.[]*/.exec(name)![0];
    let value = this.#first(first);
    let restOfName = name.slice(first.length);
    while (restOfName !== '') {
      if (restOfName.startsWith('.')) {
        const attribute = /^[^.[]*/.exec(restOfName.slice(1))![0];
        if (attribute === '') throw valueError('Empty attribute in format string');
        value = attributeOf(value, attribute);
        restOfName = restOfName.slice(1 + attribute.length);
      } else if (restOfName.startsWith('[')) {
        const end = restOfName.indexOf(']');
        if (end < 0) throw valueError("Missing ']' in format string");
        const key = restOfName.slice(1, end);
        if (key === '') throw valueError('Empty attribute in format string');
        value = subscript(this.#runtime, value, /^\d+$/.test(key) ? Number(key) : key);
        restOfName = restOfName.slice(end + 1);
        if (restOfName !== '' && !/^[.[]/.test(restOfName))
          throw valueError("Only '.' or '[' may follow ']' in format field specifier");
      }
    }
    return value;
  }

  #first(name: string): PyValue {
    const isNumber = /^\d+$/.test(name);
    if (name !== '' && !isNumber) {
      const value = this.#values.named(name);
      if (value === undefined) throw new ExpressionError('KeyError', reprOf(this.#runtime, name));
      return value;
    }
    if (this.#values.isMapping) throw valueError('Format string contains positional fields');
    const numbering = isNumber ? 'manual' : 'automatic';
    if (this.#numbering !== undefined && this.#numbering !== numbering)
      throw valueError(
        isNumber
          ? 'cannot switch from automatic field numbering to manual field specification'
          : 'cannot switch from manual field specification to automatic field numbering',
      );
    this.#numbering = numbering;
    const index = isNumber ? Number(name) : this.#automatic++;
    if (index > Number.MAX_SAFE_INTEGER)
      throw valueError('Too many decimal digits in format string');
    const value = this.#values.positional[index];
    if (value === undefined)
      throw indexError(`Replacement index ${index} out of range for positional args tuple`);
    return value;
  }
}

/** Returns an attribute of a value in a format text, where it can only be a field of a record or object. */
function attributeOf(value: PyValue, name: string): PyValue {
  if (name.startsWith('__')) throw attributeError(`attribute '${name}' is not allowed`);
  if (!(value instanceof PyDict))
    throw attributeError(`'${typeName(value)}' object has no attribute '${name}'`);
  const field = getItem(value, name);
  if (field === undefined) throw missingFieldError(value, name);
  return field;
}

/** Returns the error for a field that the record does not have. */
export function missingRecordFieldError(
  name: string,
  suggest: () => readonly string[],
): ExpressionError {
  return attributeError(`record has no field '${name}'`, suggest);
}

/** Returns the error for a field that a dict does not have; its message calls the record `record`. `methods` are suggested as well. */
export function missingFieldError(
  dict: PyDict,
  name: string,
  methods: Iterable<string> = [],
): ExpressionError {
  const suggest = suggestSimilar(name, () => [...dict.map.keys(), ...methods]);
  if (dict.isRecord) return missingRecordFieldError(name, suggest);
  if (typeof name !== 'string') throw typeError('attribute name must be string');
  return attributeError(`'dict' object has no attribute '${name}'`, suggest);
}

function nextBrace(text: string, from: number): number {
  let i = from;
  while (i < text.length && text[i] !== '{' && text[i] !== '}') i += 1;
  return i;
}

/** Returns the end of a field: the position of its closing brace, after any nested fields. */
function fieldEnd(text: string, from: number): number {
  let depth = 1;
  let inBrackets = false;
  for (let i = from; i < text.length; i++) {
    const character = text[i];
    if (character === '[' && depth === 1) inBrackets = true;
    else if (character === ']') inBrackets = false;
    else if (inBrackets) continue;
    else if (character === '{') depth += 1;
    else if (character === '}' && --depth === 0) return i;
  }
  throw valueError("expected '}' before end of string");
}

/** Returns the end of the name in a field: the position of the first `!` or `:` outside brackets, or the end of the field. */
function nameEnd(field: string): number {
  let inBrackets = false;
  for (let i = 0; i < field.length; i++) {
    const character = field[i];
    if (character === '[') inBrackets = true;
    else if (character === ']') inBrackets = false;
    else if (inBrackets) continue;
    else if (character === '{') throw valueError("unexpected '{' in field name");
    else if (character === '!' || character === ':') return i;
  }
  return field.length;
}
