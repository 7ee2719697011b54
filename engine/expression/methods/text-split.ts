import { typeError, valueError } from '../values/expression-errors.js';
import { isWhiteSpace, stripWhiteSpace } from '../values/unicode-characters.js';
import { toSize } from '../values/integers.js';
import { itemsIn } from '../values/iteration.js';
import { exactArguments, namedArguments, argumentRange } from '../values/native.js';
import type { NativeDeclaration } from '../values/native.js';
import { typeName } from '../values/type-name.js';
import { isTruthy } from '../values/truth.js';
import {
  DictView,
  PyDict,
  PyIterator,
  PyList,
  PyRange,
  PySet,
  PyTuple,
} from '../values/python-values.js';
import type { PyValue, Runtime } from '../values/python-values.js';

function splitWhiteSpace(text: string, most: number): string[] {
  const parts: string[] = [];
  let at = 0;
  for (;;) {
    while (at < text.length && isWhiteSpace(text.charCodeAt(at))) at += 1;
    if (at >= text.length) return parts;
    if (most >= 0 && parts.length >= most) {
      parts.push(text.slice(at));
      return parts;
    }
    const from = at;
    while (at < text.length && !isWhiteSpace(text.charCodeAt(at))) at += 1;
    parts.push(text.slice(from, at));
  }
}

function splitWhiteSpaceRight(text: string, most: number): string[] {
  const parts: string[] = [];
  let at = text.length;
  for (;;) {
    while (at > 0 && isWhiteSpace(text.charCodeAt(at - 1))) at -= 1;
    if (at <= 0) break;
    if (most >= 0 && parts.length >= most) {
      parts.push(text.slice(0, at));
      break;
    }
    const end = at;
    while (at > 0 && !isWhiteSpace(text.charCodeAt(at - 1))) at -= 1;
    parts.push(text.slice(at, end));
  }
  return parts.reverse();
}

function trimWhiteSpaceRight(text: string): string {
  return stripWhiteSpace(`.${text}`).slice(1);
}

function trimWhiteSpaceLeft(text: string): string {
  return stripWhiteSpace(`${text}.`).slice(0, -1);
}

function splitBy(text: string, separator: string, most: number): string[] {
  // For longer texts and separators, the JavaScript engine's `split` is faster than the loop below.
  if (most < 0 && (separator.length > 1 || text.length > 200)) return text.split(separator);
  const parts: string[] = [];
  let from = 0;
  const room = most < 0 ? Infinity : most;
  while (parts.length < room) {
    const at = text.indexOf(separator, from);
    if (at < 0) break;
    parts.push(text.slice(from, at));
    from = at + separator.length;
  }
  parts.push(text.slice(from));
  return parts;
}

function splitByRight(text: string, separator: string, most: number): string[] {
  if (most < 0) {
    // `rsplit` searches from the end, where it may find other overlapping occurrences than `split`; single characters do not overlap.
    if (separator.length === 1) return text.split(separator);
  }
  const parts: string[] = [];
  let end = text.length;
  const room = most < 0 ? Infinity : most;
  while (parts.length < room) {
    const at = end < separator.length ? -1 : text.lastIndexOf(separator, end - separator.length);
    if (at < 0) break;
    parts.push(text.slice(at + separator.length, end));
    end = at;
  }
  parts.push(text.slice(0, end));
  return parts.reverse();
}

function split(
  runtime: Runtime,
  text: string,
  separator: PyValue | undefined,
  most: PyValue | undefined,
  fromRight: boolean,
): PyValue {
  const limit = most === undefined ? -1 : toSize(most);
  runtime.budget.chargeText(text.length);
  let parts: string[];
  if (separator === undefined || separator === null)
    parts = fromRight ? splitWhiteSpaceRight(text, limit) : splitWhiteSpace(text, limit);
  else if (typeof separator !== 'string')
    throw typeError(`must be str or None, not ${typeName(separator)}`);
  else if (separator === '') throw valueError('empty separator');
  else {
    runtime.budget.chargeSearch(text.length, separator.length);
    parts = fromRight ? splitByRight(text, separator, limit) : splitBy(text, separator, limit);
  }
  runtime.budget.chargeElements(parts.length);
  return new PyList(parts);
}

function splitLines(text: string, keepsEnds: boolean): string[] {
  // oxlint-disable-next-line no-control-regex -- the separators of Python are among them
  const pattern = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/g;
  const lines: string[] = [];
  let from = 0;
  for (const lineEnd of text.matchAll(pattern)) {
    const end = lineEnd.index + lineEnd[0].length;
    lines.push(text.slice(from, keepsEnds ? end : lineEnd.index));
    from = end;
  }
  if (from < text.length) lines.push(text.slice(from));
  return lines;
}

function join(runtime: Runtime, separator: string, value: PyValue): string {
  const isIterable =
    typeof value === 'string' ||
    value instanceof PyList ||
    value instanceof PyTuple ||
    value instanceof PyIterator ||
    value instanceof PyDict ||
    value instanceof PySet ||
    value instanceof PyRange ||
    value instanceof DictView;
  if (!isIterable) throw typeError('can only join an iterable');
  const items = itemsIn(runtime, value);
  let length = separator.length * Math.max(0, items.length - 1);
  for (let i = 0; i < items.length; i++) {
    const item = items[i]!;
    if (typeof item !== 'string')
      throw typeError(`sequence item ${i}: expected str instance, ${typeName(item)} found`);
    length += item.length;
  }
  runtime.budget.chargeText(length);
  runtime.budget.charge(items.length);
  // For a few parts, a loop is faster; for longer lists, the JavaScript engine's `join` is.
  if (items.length > 8) return items.join(separator);
  let text = items.length > 0 ? (items[0] as string) : '';
  for (let i = 1; i < items.length; i++) text += separator + (items[i] as string);
  return text;
}

function strip(
  text: string,
  characters: PyValue | undefined,
  left: boolean,
  right: boolean,
  name: string,
): string {
  if (characters === undefined || characters === null) {
    if (left && right) return stripWhiteSpace(text);
    return left ? trimWhiteSpaceLeft(text) : trimWhiteSpaceRight(text);
  }
  if (typeof characters !== 'string') throw typeError(`${name} arg must be None or str`);
  const set = new Set(Array.from(characters));
  let start = 0;
  let end = text.length;
  if (left)
    while (start < end) {
      const character = String.fromCodePoint(text.codePointAt(start)!);
      if (!set.has(character)) break;
      start += character.length;
    }
  if (right)
    while (end > start) {
      const isPair = end - start > 1 && (text.charCodeAt(end - 1) & 0xfc00) === 0xdc00;
      const character = text.slice(isPair ? end - 2 : end - 1, end);
      if (!set.has(character)) break;
      end -= character.length;
    }
  return text.slice(start, end);
}

function stripMethod(name: string, left: boolean, right: boolean): NativeDeclaration {
  return argumentRange(0, 1, (runtime, text: string, characters) => {
    runtime.budget.chargeText(text.length);
    return strip(text, characters, left, right, name);
  });
}

/** The methods of `str` that split, join or strip texts. */
export const splitMethods: Readonly<Record<string, NativeDeclaration>> = {
  split: namedArguments(0, 2, ['sep', 'maxsplit'], (runtime, text: string, separator, most) =>
    split(runtime, text, separator, most, false),
  ),
  rsplit: namedArguments(0, 2, ['sep', 'maxsplit'], (runtime, text: string, separator, most) =>
    split(runtime, text, separator, most, true),
  ),
  splitlines: namedArguments(0, 1, ['keepends'], (runtime, text: string, keepsEnds) => {
    runtime.budget.chargeText(text.length);
    const lines = splitLines(text, keepsEnds !== undefined && isTruthy(keepsEnds));
    runtime.budget.chargeElements(lines.length);
    return new PyList(lines);
  }),
  join: exactArguments(1, (runtime, separator: string, items: PyValue) =>
    join(runtime, separator, items),
  ),
  strip: stripMethod('strip', true, true),
  lstrip: stripMethod('lstrip', true, false),
  rstrip: stripMethod('rstrip', false, true),
};
