import { budgets } from '../../../engine/core/budgets.js';
import { Float, PyList, type PyValue } from '../../../engine/expression/values/python-values.js';
import type { ColumnBuilder } from '../../../engine/ingest/column-builder.js';
import { isoMicros } from '../../../engine/ingest/iso-date.js';
import {
  hasTextOtherThanDate,
  longestText,
  textDictionary,
  type TextDictionary,
} from '../../../engine/ingest/text-dictionary.js';
import type { NumberRunKind, ValueColumn } from '../../../engine/ingest/value-column.js';
import type { TextColumn } from './column-values.js';

/*
 * Functions that append the results of an expression for all records of a chunk to an empty column at once. Each returns false, and appends
 * nothing, if the column has to examine each value; `ValueAppender` then appends the values.
 */

/** Appends the result of each record; `codes` holds the index of each record's result. Integers have 32 bits if `areShort`. */
export function appendResults(
  column: ValueColumn,
  results: readonly (PyValue | undefined)[],
  codes: Int32Array,
  areShort: boolean,
): boolean {
  const kind = commonResultKind(results);
  if (kind === 'text') return appendTexts(column, results as readonly string[], codes);
  if (kind === 'list') return appendLists(column, results as readonly PyList[], codes);
  if (kind === null) return false;
  const numbers = Float64Array.from(results, resultAsNumber);
  const run = kind === 'integer' && !areShort ? 'long' : kind;
  return appendNumbers(
    column,
    run,
    Float64Array.from(codes, (code) => numbers[code]!),
  );
}

/** Appends numbers, with null for NaN. */
export function appendNumbers(
  column: ValueColumn,
  kind: NumberRunKind,
  numbers: Float64Array,
): boolean {
  if (!numbers.some((number) => number === number)) return false;
  return appendTo(column, column.startNumbers(kind), (builder) => builder.appendNumbers(numbers));
}

/** Appends the first `rows` texts of a column. */
export function appendTextColumn(column: ValueColumn, texts: TextColumn, rows: number): boolean {
  const { bytes, offsets, isValid } = texts;
  let hasPlain = false;
  for (let i = 0; i < rows; i++) {
    const [from, to] = [offsets[i]!, offsets[i + 1]!];
    if (to - from > budgets.stringBytes) return false;
    if (hasPlain || (isValid !== null && !isValid(i))) continue;
    hasPlain = isoMicros(bytes, from, to) === undefined;
  }
  return appendTo(column, hasPlain ? column.startTexts(alwaysTrue) : null, (builder) =>
    builder.appendConsecutive(texts, rows, isValid),
  );
}

/**
 * Appends the dictionary entries at the indices `codes`; returns whether it did. `used` lists the distinct indices, whose texts must fit
 * the type `string`.
 */
export function appendDictionaryEntries(
  column: ValueColumn,
  dictionary: TextDictionary,
  codes: Int32Array,
  used: readonly number[],
): boolean {
  const builder = hasTextOtherThanDate(dictionary, used) ? column.startTexts(alwaysTrue) : null;
  return appendTo(column, builder, (texts) => texts.appendFromDictionary(dictionary, codes));
}

function appendTexts(
  column: ValueColumn,
  texts: readonly (string | null | undefined)[],
  codes: Int32Array,
): boolean {
  const dictionary = textDictionary(texts);
  return appendTo(
    column,
    storesUnchanged(dictionary) ? column.startTexts(alwaysTrue) : null,
    (builder) => builder.appendFromDictionary(dictionary, codes),
  );
}

/**
 * Whether a column of inferred type stores all texts of a dictionary unchanged: none is longer than a string may be, and at least one is
 * not a date.
 */
function storesUnchanged(dictionary: TextDictionary): boolean {
  return longestText(dictionary) <= budgets.stringBytes && hasTextOtherThanDate(dictionary);
}

/** Calls `append` with the builder of a column, unless the builder is null; returns whether it did. */
function appendTo<B extends ColumnBuilder>(
  column: ValueColumn,
  builder: B | null,
  append: (builder: B) => void,
): boolean {
  if (builder === null) return false;
  append(builder);
  column.padTo(builder.length);
  return true;
}

const alwaysTrue = (): boolean => true;

function appendLists(
  column: ValueColumn,
  lists: readonly (PyList | null | undefined)[],
  codes: Int32Array,
): boolean {
  const items: (string | null)[] = [];
  const starts = new Int32Array(lists.length);
  const sizes = new Int32Array(lists.length).fill(-1);
  for (const [code, list] of lists.entries()) {
    if (!list) continue;
    starts[code] = items.length;
    sizes[code] = list.items.length;
    for (const item of list.items) items.push(item as string | null);
  }
  const dictionary = textDictionary(items);
  const builder = storesUnchanged(dictionary) ? column.startLists() : null;
  const elements = builder?.items.startTexts(alwaysTrue) ?? null;
  if (builder === null || elements === null) return false;
  const counts = new Int32Array(codes.length);
  let all = 0;
  for (let row = 0; row < codes.length; row++)
    if ((counts[row] = sizes[codes[row]!]!) > 0) all += counts[row]!;
  const itemCodes = new Int32Array(all);
  for (let row = 0, at = 0; row < codes.length; row++) {
    const start = starts[codes[row]!]!;
    for (let k = 0; k < counts[row]!; k++) itemCodes[at++] = start + k;
  }
  elements.appendFromDictionary(dictionary, itemCodes);
  builder.items.padTo(elements.length);
  builder.endLists(counts);
  column.padTo(builder.length);
  return true;
}

type ResultKind = 'text' | 'list' | 'boolean' | 'integer' | 'double';

/** Returns the common kind of all results that are not None; null if all results are None or if they have no common kind. */
function commonResultKind(results: readonly (PyValue | undefined)[]): ResultKind | null {
  let kind: ResultKind | null = null;
  for (const result of results) {
    if (result === null || result === undefined) continue;
    const ownKind = resultKindOf(result);
    if (ownKind === null || (kind !== null && ownKind !== kind)) return null;
    kind = ownKind;
  }
  return kind;
}

function resultKindOf(value: PyValue): ResultKind | null {
  if (typeof value === 'string') return 'text';
  if (typeof value === 'number') return 'integer';
  if (typeof value === 'boolean') return 'boolean';
  if (value instanceof Float) return Number.isFinite(value.value) ? 'double' : null;
  const isList = value instanceof PyList && value.items.every(isTextOrNone);
  return isList ? 'list' : null;
}

function isTextOrNone(value: PyValue): boolean {
  return value === null || typeof value === 'string';
}

/** Returns a result as a number; NaN for None. */
function resultAsNumber(value: PyValue | undefined): number {
  if (value instanceof Float) return value.value;
  return typeof value === 'number' || typeof value === 'boolean' ? Number(value) : Number.NaN;
}
