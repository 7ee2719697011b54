import { budgets } from '../../../engine/core/budgets.js';
import { Float, PyList, type PyValue } from '../../../engine/expression/values/python-values.js';
import type { ColumnBuilder } from '../../../engine/ingest/column-builder.js';
import { isoMicros } from '../../../engine/ingest/iso-date.js';
import {
  hasTextOtherThanDate,
  longestTextBytes,
  textDictionary,
  type TextDictionary,
} from '../../../engine/ingest/text-dictionary.js';
import type { NumberRunKind, ValueColumn } from '../../../engine/ingest/value-column.js';
import type { TextColumn } from './column-values.js';

/*
 * Functions that append the results of an expression for all records of a chunk to an empty column at once. Each returns false, and appends
 * nothing, if the column has to examine each value; `ValueAppender` then appends the values.
 */

/** Appends the result of each record; `indices` holds the index of each record's result. Integers have 32 bits if `hasShortIntegers`. */
export function appendResults(
  column: ValueColumn,
  results: readonly (PyValue | undefined)[],
  indices: Int32Array,
  hasShortIntegers: boolean,
): boolean {
  const kind = commonResultKind(results);
  if (kind === 'text') return appendTexts(column, results as readonly string[], indices);
  if (kind === 'list') return appendLists(column, results as readonly PyList[], indices);
  if (kind === null) return false;
  const numbers = Float64Array.from(results, resultAsNumber);
  const runKind = kind === 'integer' && !hasShortIntegers ? 'long' : kind;
  return appendNumbers(
    column,
    runKind,
    Float64Array.from(indices, (index) => numbers[index]!),
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
  let hasNonDate = false;
  for (let i = 0; i < rows; i++) {
    const [from, to] = [offsets[i]!, offsets[i + 1]!];
    if (to - from > budgets.stringBytes) return false;
    if (hasNonDate || (isValid !== null && !isValid(i))) continue;
    hasNonDate = isoMicros(bytes, from, to) === undefined;
  }
  return appendTo(column, hasNonDate ? column.startTexts(alwaysTrue) : null, (builder) =>
    builder.appendConsecutive(texts, rows, isValid),
  );
}

/**
 * Appends the dictionary entries at `indices`; returns whether it did. `usedIndices` are the distinct ones among these; their texts must fit
 * the type `string`.
 */
export function appendDictionaryEntries(
  column: ValueColumn,
  dictionary: TextDictionary,
  indices: Int32Array,
  usedIndices: readonly number[],
): boolean {
  const builder = hasTextOtherThanDate(dictionary, usedIndices)
    ? column.startTexts(alwaysTrue)
    : null;
  return appendTo(column, builder, (texts) => texts.appendFromDictionary(dictionary, indices));
}

function appendTexts(
  column: ValueColumn,
  texts: readonly (string | null | undefined)[],
  indices: Int32Array,
): boolean {
  const dictionary = textDictionary(texts);
  return appendTo(
    column,
    storesUnchanged(dictionary) ? column.startTexts(alwaysTrue) : null,
    (builder) => builder.appendFromDictionary(dictionary, indices),
  );
}

/**
 * Whether a column of inferred type stores all texts of a dictionary unchanged: none is longer than a string may be, and at least one is
 * not a date.
 */
function storesUnchanged(dictionary: TextDictionary): boolean {
  return longestTextBytes(dictionary) <= budgets.stringBytes && hasTextOtherThanDate(dictionary);
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
  indices: Int32Array,
): boolean {
  const items: (string | null)[] = [];
  const starts = new Int32Array(lists.length);
  const sizes = new Int32Array(lists.length).fill(-1);
  for (const [index, list] of lists.entries()) {
    if (!list) continue;
    starts[index] = items.length;
    sizes[index] = list.items.length;
    for (const item of list.items) items.push(item as string | null);
  }
  const dictionary = textDictionary(items);
  const builder = storesUnchanged(dictionary) ? column.startLists() : null;
  const elements = builder?.items.startTexts(alwaysTrue) ?? null;
  if (builder === null || elements === null) return false;
  const counts = new Int32Array(indices.length);
  let itemCount = 0;
  for (let row = 0; row < indices.length; row++)
    if ((counts[row] = sizes[indices[row]!]!) > 0) itemCount += counts[row]!;
  const itemIndices = new Int32Array(itemCount);
  for (let row = 0, at = 0; row < indices.length; row++) {
    const start = starts[indices[row]!]!;
    for (let k = 0; k < counts[row]!; k++) itemIndices[at++] = start + k;
  }
  elements.appendFromDictionary(dictionary, itemIndices);
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
