import { typeError, valueError } from '../values/expression-errors.js';
import { codePointLength, codePointOffset, codeUnitOffset } from '../values/code-points.js';
import { asInt, toClippedSize } from '../values/integers.js';
import { exactArguments, argumentRange } from '../values/native.js';
import type { NativeDeclaration } from '../values/native.js';
import { typeName } from '../values/type-name.js';
import { PyTuple } from '../values/python-values.js';
import type { PyValue, Runtime } from '../values/python-values.js';

/** Reads a position argument: None or a missing argument means the default; a negative position counts from the end. */
function positionArgument(value: PyValue | undefined, missing: number, length: number): number {
  if (value === undefined || value === null) return missing;
  if (asInt(value) === undefined)
    throw typeError('slice indices must be integers or None or have an __index__ method');
  const at = toClippedSize(value);
  return at < 0 ? Math.max(0, at + length) : at;
}

/**
 * Returns the range that the arguments `start` and `end`, in code points, select, as offsets in UTF-16 code units; undefined if it begins
 * after the end of the text or after its own end.
 */
function codeUnitRange(
  text: string,
  start: PyValue | undefined,
  end: PyValue | undefined,
): readonly [number, number] | undefined {
  if (start === undefined && end === undefined) return [0, text.length];
  const length = codePointLength(text);
  const from = positionArgument(start, 0, length);
  const to = Math.min(positionArgument(end, length, length), length);
  if (from > to) return undefined;
  return [codeUnitOffset(text, from), codeUnitOffset(text, to)];
}

/** Reads the text argument of methods such as `find`. */
function needleText(value: PyValue): string {
  if (typeof value !== 'string') throw typeError(`must be str, not ${typeName(value)}`);
  return value;
}

/** Returns the position of a text in another text in code points, or -1. */
function locateText(
  runtime: Runtime,
  text: string,
  value: PyValue,
  start: PyValue | undefined,
  end: PyValue | undefined,
  fromRight: boolean,
): number {
  const wantedText = needleText(value);
  const bounds = codeUnitRange(text, start, end);
  if (bounds === undefined) return -1;
  runtime.budget.chargeSearch(text.length, wantedText.length);
  const part = bounds[1] === text.length ? text : text.slice(0, bounds[1]);
  const at = fromRight ? part.lastIndexOf(wantedText) : part.indexOf(wantedText, bounds[0]);
  return at < bounds[0] ? -1 : codePointOffset(text, at);
}

function finderMethod(fromRight: boolean, isStrict: boolean): NativeDeclaration {
  return argumentRange(1, 3, (runtime, text: string, value: PyValue, start, end) => {
    const at = locateText(runtime, text, value, start, end, fromRight);
    if (at < 0 && isStrict) throw valueError('substring not found');
    return at;
  });
}

function count(
  runtime: Runtime,
  text: string,
  value: PyValue,
  start: PyValue | undefined,
  end: PyValue | undefined,
): number {
  const wantedText = needleText(value);
  const bounds = codeUnitRange(text, start, end);
  if (bounds === undefined) return 0;
  runtime.budget.chargeSearch(text.length, wantedText.length);
  const part = text.slice(bounds[0], bounds[1]);
  if (wantedText === '') return codePointLength(part) + 1;
  let occurrences = 0;
  for (
    let at = part.indexOf(wantedText);
    at >= 0;
    at = part.indexOf(wantedText, at + wantedText.length)
  )
    occurrences += 1;
  return occurrences;
}

function affixTest(name: 'startswith' | 'endswith'): NativeDeclaration {
  const test = (text: string, affix: string, [from, to]: readonly [number, number]) => {
    if (affix.length > to - from) return false;
    return name === 'startswith' ? text.startsWith(affix, from) : text.endsWith(affix, to);
  };
  return argumentRange(1, 3, (_runtime, text: string, affix: PyValue, start, end) => {
    if (typeof affix === 'string' && start === undefined)
      return name === 'startswith' ? text.startsWith(affix) : text.endsWith(affix);
    const affixes = affix instanceof PyTuple ? affix.items : [affix];
    const bounds = codeUnitRange(text, start, end);
    for (const one of affixes) {
      if (typeof one !== 'string')
        throw typeError(
          affix instanceof PyTuple
            ? `tuple for ${name} must only contain str, not ${typeName(one)}`
            : `${name} first arg must be str or a tuple of str, not ${typeName(one)}`,
        );
      if (bounds !== undefined && test(text, one, bounds)) return true;
    }
    return false;
  });
}

function separatorText(value: PyValue): string {
  if (typeof value !== 'string') throw typeError(`must be str, not ${typeName(value)}`);
  if (value === '') throw valueError('empty separator');
  return value;
}

/** The methods of `str` that search. */
export const searchMethods: Readonly<Record<string, NativeDeclaration>> = {
  find: finderMethod(false, false),
  rfind: finderMethod(true, false),
  index: finderMethod(false, true),
  rindex: finderMethod(true, true),
  count: argumentRange(1, 3, count),
  startswith: affixTest('startswith'),
  endswith: affixTest('endswith'),
  partition: exactArguments(1, (runtime, text: string, value: PyValue) => {
    const mark = separatorText(value);
    runtime.budget.chargeText(text.length);
    runtime.budget.chargeSearch(text.length, mark.length);
    const at = text.indexOf(mark);
    if (at < 0) return new PyTuple([text, '', '']);
    return new PyTuple([text.slice(0, at), mark, text.slice(at + mark.length)]);
  }),
  rpartition: exactArguments(1, (runtime, text: string, value: PyValue) => {
    const mark = separatorText(value);
    runtime.budget.chargeText(text.length);
    runtime.budget.chargeSearch(text.length, mark.length);
    const at = text.lastIndexOf(mark);
    if (at < 0) return new PyTuple(['', '', text]);
    return new PyTuple([text.slice(0, at), mark, text.slice(at + mark.length)]);
  }),
};
