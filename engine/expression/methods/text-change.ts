import { ExpressionError, typeError, valueError } from '../values/expression-errors.js';
import { codePointLength, codePointsOf } from '../values/code-points.js';
import { getItem, itemsOf, setItem } from '../values/dict.js';
import { asInt, toSize } from '../values/integers.js';
import {
  exactArguments,
  namedArguments,
  argumentRange,
  variadicArguments,
} from '../values/native.js';
import type { NativeDeclaration } from '../values/native.js';
import { typeName } from '../values/type-name.js';
import { PyDict } from '../values/python-values.js';
import type { PyValue, Runtime } from '../values/python-values.js';
import { formatMap, formatText } from './str-format.js';
import { subscript } from '../operators/subscript.js';

function textArgument(name: string, at: number, value: PyValue): string {
  if (typeof value !== 'string')
    throw typeError(`${name}() argument ${at} must be str, not ${typeName(value)}`);
  return value;
}

function replace(
  runtime: Runtime,
  text: string,
  from: PyValue,
  to: PyValue,
  count: PyValue | undefined,
): string {
  const oldText = textArgument('replace', 1, from);
  const replacement = textArgument('replace', 2, to);
  const maxCount = count === undefined ? -1 : toSize(count);
  if (maxCount === 0) return text;
  if (oldText === '') return insertBetweenCharacters(runtime, text, replacement, maxCount);
  runtime.budget.chargeSearch(text.length, oldText.length);
  const first = text.indexOf(oldText);
  if (first < 0) return text;
  if (text.indexOf(oldText, first + oldText.length) < 0) {
    runtime.budget.chargeText(text.length + replacement.length - oldText.length);
    return text.slice(0, first) + replacement + text.slice(first + oldText.length);
  }
  const parts: string[] = [];
  let at = 0;
  for (let foundAt = text.indexOf(oldText); foundAt >= 0; foundAt = text.indexOf(oldText, at)) {
    if (maxCount >= 0 && parts.length >= maxCount) break;
    parts.push(text.slice(at, foundAt));
    at = foundAt + oldText.length;
  }
  parts.push(text.slice(at));
  runtime.budget.chargeText(
    text.length + (parts.length - 1) * (replacement.length - oldText.length),
  );
  runtime.budget.charge(parts.length >>> 2);
  return parts.join(replacement);
}

/** Evaluates `replace('', x, most)`: inserts `x` before each character and at the end, at most `most` times unless that is negative. */
function insertBetweenCharacters(
  runtime: Runtime,
  text: string,
  replacement: string,
  most: number,
): string {
  const points = codePointsOf(text);
  const maxReplacements = most < 0 ? points.length + 1 : Math.min(most, points.length + 1);
  runtime.budget.chargeText(text.length + maxReplacements * replacement.length);
  let result = '';
  for (let i = 0; i < points.length; i++)
    result += (i < maxReplacements ? replacement : '') + points[i]!;
  return maxReplacements > points.length ? result + replacement : result;
}

function fillCharacter(value: PyValue | undefined): string {
  if (value === undefined) return ' ';
  if (typeof value !== 'string')
    throw typeError(`The fill character must be a unicode character, not ${typeName(value)}`);
  if (codePointLength(value) !== 1)
    throw typeError('The fill character must be exactly one character long');
  return value;
}

function justificationMethod(place: (missing: number, width: number) => number): NativeDeclaration {
  return argumentRange(1, 2, (runtime, text: string, width: PyValue, fill) => {
    const size = toSize(width);
    const character = fillCharacter(fill);
    const padding = size - codePointLength(text);
    if (padding <= 0) return text;
    runtime.budget.chargeText(size * character.length);
    const leftPadding = place(padding, size);
    return character.repeat(leftPadding) + text + character.repeat(padding - leftPadding);
  });
}

function zeroFill(runtime: Runtime, text: string, width: PyValue): string {
  const size = toSize(width);
  const padding = size - codePointLength(text);
  if (padding <= 0) return text;
  runtime.budget.chargeText(size);
  const hasSign = text.startsWith('+') || text.startsWith('-');
  return hasSign
    ? text.charAt(0) + '0'.repeat(padding) + text.slice(1)
    : '0'.repeat(padding) + text;
}

function expandTabs(runtime: Runtime, text: string, size: number): string {
  let column = 0;
  let result = '';
  runtime.budget.charge(text.length >>> 3);
  for (const one of text) {
    if (one === '\t') {
      const blanks = size > 0 ? size - (column % size) : 0;
      runtime.budget.chargeGrownText(result.length + blanks, blanks);
      result += ' '.repeat(blanks);
      column += blanks;
      continue;
    }
    column = one === '\n' || one === '\r' ? 0 : column + 1;
    result += one;
  }
  return result;
}

function translate(runtime: Runtime, text: string, table: PyValue): string {
  let result = '';
  runtime.budget.chargeText(text.length);
  runtime.budget.charge(text.length >>> 2);
  const translations = new Map<string, string>();
  for (const one of text) {
    let translation = translations.get(one);
    if (translation === undefined) {
      translation = translateCharacter(runtime, one, table);
      translations.set(one, translation);
    }
    if (translation.length > 1)
      runtime.budget.chargeGrownText(result.length + translation.length, translation.length - 1);
    result += translation;
  }
  return result;
}

function translateCharacter(runtime: Runtime, character: string, table: PyValue): string {
  const code = character.codePointAt(0)!;
  let replacement: PyValue | undefined;
  if (table instanceof PyDict) replacement = getItem(table, code);
  else
    try {
      replacement = subscript(runtime, table, code);
    } catch (error) {
      const isMissing = error instanceof ExpressionError && error.exception === 'IndexError';
      if (!isMissing) throw error;
    }
  if (replacement === undefined) return character;
  if (replacement === null) return '';
  if (typeof replacement === 'string') return replacement;
  const int = asInt(replacement);
  if (int === undefined) throw typeError('character mapping must return integer, None or str');
  if (int < 0 || int > 0x10ffff) throw valueError('character mapping must be in range(0x110000)');
  return String.fromCodePoint(Number(int));
}

/** Evaluates `str.maketrans(x[, y[, z]])`. */
export function makeTranslation(
  _runtime: Runtime,
  x: PyValue,
  y: PyValue | undefined,
  z: PyValue | undefined,
): PyDict {
  const table = new PyDict();
  if (y === undefined) {
    if (!(x instanceof PyDict))
      throw typeError('if you give only one argument to maketrans it must be a dict');
    for (const { items } of itemsOf(x)) setItem(table, translationKey(items[0]!), items[1]!);
    return table;
  }
  if (typeof x !== 'string')
    throw typeError('first maketrans argument must be a string if there is a second argument');
  const to = codePointsOf(makeTransArgument(2, y));
  const removedPoints = z === undefined ? [] : codePointsOf(makeTransArgument(3, z));
  const from = codePointsOf(x);
  if (from.length !== to.length)
    throw valueError('the first two maketrans arguments must have equal length');
  for (const [i, one] of from.entries())
    setItem(table, one.codePointAt(0)!, to[i]!.codePointAt(0)!);
  for (const one of removedPoints) setItem(table, one.codePointAt(0)!, null);
  return table;
}

function makeTransArgument(at: number, value: PyValue): string {
  if (typeof value !== 'string')
    throw typeError(`maketrans() argument ${at} must be str, not ${typeName(value)}`);
  return value;
}

function translationKey(key: PyValue): PyValue {
  if (typeof key === 'string') {
    if (codePointLength(key) !== 1)
      throw valueError('string keys in translate table must be of length 1');
    return key.codePointAt(0)!;
  }
  const int = asInt(key);
  if (int === undefined) throw typeError('keys in translate table must be strings or integers');
  return int;
}

/** The methods of `str` that replace, remove, pad or format parts of a text. */
export const strTransformMethods: Readonly<Record<string, NativeDeclaration>> = {
  replace: argumentRange(2, 3, replace),
  removeprefix: exactArguments(1, (runtime, text: string, prefix: PyValue) => {
    if (typeof prefix !== 'string')
      throw typeError(`removeprefix() argument must be str, not ${typeName(prefix)}`);
    runtime.budget.chargeText(text.length);
    return text.startsWith(prefix) ? text.slice(prefix.length) : text;
  }),
  removesuffix: exactArguments(1, (runtime, text: string, suffix: PyValue) => {
    if (typeof suffix !== 'string')
      throw typeError(`removesuffix() argument must be str, not ${typeName(suffix)}`);
    runtime.budget.chargeText(text.length);
    return suffix !== '' && text.endsWith(suffix) ? text.slice(0, -suffix.length) : text;
  }),
  ljust: justificationMethod(() => 0),
  rjust: justificationMethod((missing) => missing),
  center: justificationMethod((missing, width) => (missing >> 1) + (missing & width & 1)),
  zfill: exactArguments(1, zeroFill),
  expandtabs: namedArguments(0, 1, ['tabsize'], (runtime, text: string, size) =>
    expandTabs(runtime, text, size === undefined ? 8 : toSize(size)),
  ),
  translate: exactArguments(1, translate),
  format: variadicArguments((runtime, [text, ...args], keywords) =>
    formatText(runtime, text as string, args, keywords),
  ),
  format_map: exactArguments(1, (runtime, text: string, mapping: PyValue) =>
    formatMap(runtime, text, mapping),
  ),
};
