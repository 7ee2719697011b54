import type {
  MemoryColumn,
  ColumnValues,
  SegmentView,
} from '../../../../../engine/query/memory/match/column.js';
import type { FieldRef } from '../../../../../engine/query/predicate/predicate.js';
import type { Column, Columns, Value } from '../../../../../engine/core/types.js';
import type { TestRow } from '../../dataset.js';
import { valuesOf } from '../../naive-fields.js';
import { dateRangeMicros } from '../../naive-values.js';
import type { Random } from '../../random.js';
import { TestDictionary, utf8StringsOf } from '../test-dictionary.js';
import { numberDictionary } from '../random-segment-view.js';

/** The dictionaries of one thread, by field; the segments of the thread share them. */
export type Dictionaries = Map<string, TestDictionary>;

/**
 * Returns the records of a segment as columns in memory, at random in one of the forms in which they may be loaded: strings with or without
 * a dictionary, most often that of the thread, numbers in one of the arrays that can hold them or as indices of distinct numbers, and all
 * with or without flags that say which rows have a value.
 */
export function randomSegmentView(
  random: Random,
  columns: Columns,
  rows: readonly TestRow[],
  dictionaries: Dictionaries,
): SegmentView {
  const columnsByPath = new Map<string, MemoryColumn | undefined>();
  return {
    rows: rows.length,
    column: ({ path }: FieldRef) => {
      const key = JSON.stringify(path);
      if (!columnsByPath.has(key)) {
        const columnsOnPath = columnsAlongPath(columns, path);
        columnsByPath.set(
          key,
          columnsOnPath && randomMemoryColumn(random, columnsOnPath, path, rows, dictionaries),
        );
      }
      return columnsByPath.get(key);
    },
  };
}

function columnsAlongPath(
  columns: Columns,
  path: readonly string[],
): readonly Column[] | undefined {
  const columnsOnPath: Column[] = [];
  let siblings: Columns | undefined = columns;
  for (const name of path) {
    const next: Column | undefined = siblings?.find((column) => column.name === name);
    if (!next) return undefined;
    columnsOnPath.push(next);
    siblings = next.children;
  }
  return columnsOnPath;
}

function randomMemoryColumn(
  random: Random,
  columnsOnPath: readonly Column[],
  path: readonly string[],
  rows: readonly TestRow[],
  dictionaries: Dictionaries,
): MemoryColumn {
  const { type } = columnsOnPath.at(-1)!;
  const values = rows.map((row) => valuesOf(row, path));
  if (columnsOnPath.some(({ isList }) => isList)) {
    const offsets = new Int32Array(rows.length + 1);
    values.forEach((own, row) => (offsets[row + 1] = offsets[row]! + own.length));
    const columnValues = randomColumnValues(random, type, values.flat(), path, dictionaries);
    return { rows: rows.length, offsets, present: undefined, values: columnValues, bytes: 0 };
  }
  const hasOneEach = values.every((own) => own.length === 1) && random.chance(0.7);
  const present = hasOneEach ? undefined : Uint8Array.from(values, (own) => own.length);
  const columnValues = randomColumnValues(random, type, values.map(([value]) => value ?? null), path, dictionaries); // prettier-ignore
  return { rows: rows.length, offsets: undefined, present, values: columnValues, bytes: 0 };
}

function randomColumnValues(
  random: Random,
  type: Column['type'],
  values: readonly Value[],
  path: readonly string[],
  dictionaries: Dictionaries,
): ColumnValues {
  if (type === 'boolean') return { kind: 'flags', flags: Uint8Array.from(values, Number) };
  if (type === 'date') {
    return randomNumberValues(random, values.map((value) => (value === null ? 0n : dateRangeMicros(value as string)![0]))); // prettier-ignore
  }
  if (type === 'integer' || type === 'long')
    return randomNumberValues(
      random,
      values.map((value) => BigInt((value ?? 0) as number | bigint)),
    );
  if (type === 'double' || type === 'float') {
    const numbers = values.map(Number);
    const isFloat = type === 'float' && random.chance(0.7);
    const isDictionary = type === 'double' && !numbers.some((value) => Object.is(value, -0));
    if (isDictionary && random.chance(0.5)) return numberDictionary(random, numbers);
    return {
      kind: 'numbers',
      numbers: isFloat ? Float32Array.from(numbers) : Float64Array.from(numbers),
      hasNonFinite: false,
    };
  }
  return randomStringValues(
    random,
    values.map((value) => (value ?? '') as string),
    path,
    dictionaries,
  );
}

function randomNumberValues(random: Random, values: readonly bigint[]): ColumnValues {
  const isLong = values.some((value) => value > 2n ** 53n || value < -(2n ** 53n));
  if (isLong) return { kind: 'longs', longs: BigInt64Array.from(values) };
  const isShort = values.every((value) => BigInt.asIntN(32, value) === value);
  const numbers = values.map(Number);
  if (numbers.every((value) => value >= 0 && value < 256) && random.chance(0.7))
    return { kind: 'numbers', numbers: Uint8Array.from(numbers), hasNonFinite: false };
  return {
    kind: 'numbers',
    numbers: isShort && random.chance(0.8) ? Int32Array.from(numbers) : Float64Array.from(numbers),
    hasNonFinite: false,
  };
}

function randomStringValues(
  random: Random,
  values: readonly string[],
  path: readonly string[],
  dictionaries: Dictionaries,
): ColumnValues {
  if (random.chance(0.4)) {
    return utf8StringsOf(values);
  }
  const key = JSON.stringify(path);
  let dictionary = dictionaries.get(key);
  if (!dictionary || random.chance(0.1)) {
    dictionary = new TestDictionary();
    dictionaries.set(key, dictionary);
  }
  const { strings } = dictionary;
  const numbers = new Map(strings.map((text, index) => [text, index]));
  const indices = values.map((text) => {
    const index = numbers.get(text) ?? strings.push(text) - 1;
    numbers.set(text, index);
    return index;
  });
  const narrowest = strings.length <= 256 ? Uint8Array : strings.length <= 65_536 ? Uint16Array : Uint32Array; // prettier-ignore
  const IndexArray = random.chance(0.8) ? narrowest : Uint32Array;
  return { kind: 'dictionary', indices: IndexArray.from(indices), dictionary };
}
