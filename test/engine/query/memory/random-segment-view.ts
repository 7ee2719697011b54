import type {
  MemoryColumn,
  ColumnValues,
  SegmentView,
} from '../../../../engine/query/memory/match/column.js';
import { stringHashes } from '../../../../engine/query/memory/string-hashes.js';
import type { Column, Columns, Value } from '../../../../engine/core/types.js';
import type { TestRow } from '../dataset.js';
import { valuesOf } from '../naive-fields.js';
import { dateRangeMicros } from '../naive-values.js';
import { TestDictionary, utf8StringsOf } from './test-dictionary.js';
import type { Random } from '../random.js';

/** Returns the records of a segment as columns, each column in one of its possible forms in memory. */
export function randomSegmentView(
  random: Random,
  columns: Columns,
  rows: readonly TestRow[],
  dictionaries: Map<string, TestDictionary>,
  depth = 0,
): SegmentView {
  const columnsByKey = new Map<string, MemoryColumn | undefined>();
  const hasHashes = random.chance(0.5);
  const column = ({ path }: { readonly path: readonly string[] }): MemoryColumn | undefined => {
    const key = path.join('\n');
    if (columnsByKey.has(key)) return columnsByKey.get(key);
    let dictionary = dictionaries.get(key);
    if (dictionary === undefined) dictionaries.set(key, (dictionary = new TestDictionary()));
    const memoryColumn = randomMemoryColumn(random, columns, path.slice(depth), rows, dictionary);
    columnsByKey.set(key, memoryColumn);
    return memoryColumn;
  };
  return {
    rows: rows.length,
    column,
    hashes: (field) => {
      const memoryColumn = column(field);
      return hasHashes && memoryColumn?.values.kind === 'strings'
        ? stringHashes(memoryColumn)
        : undefined;
    },
    elements({ path }) {
      const members = childrenOf(columns, path.slice(depth));
      if (members === undefined) return undefined;
      const lists = rows.map((row) => valuesOf(row, path.slice(depth)));
      const offsets = new Int32Array(rows.length + 1);
      lists.forEach((list, row) => (offsets[row + 1] = offsets[row]! + list.length));
      const elementRows = lists.flat() as unknown as readonly TestRow[];
      return {
        offsets,
        view: randomSegmentView(random, members, elementRows, dictionaries, path.length),
      };
    },
  };
}

function childrenOf(columns: Columns, path: readonly string[]): Columns | undefined {
  const parentColumn = columns.find(({ name }) => name === path[0]);
  if (parentColumn === undefined || path.length === 1) return parentColumn?.children;
  return childrenOf(parentColumn.children ?? [], path.slice(1));
}

function randomMemoryColumn(
  random: Random,
  columns: Columns,
  path: readonly string[],
  rows: readonly TestRow[],
  dictionary: TestDictionary,
): MemoryColumn | undefined {
  let siblings: Columns | undefined = columns;
  let leaf: Column | undefined;
  let isInList = false;
  for (const name of path) {
    leaf = siblings?.find((each) => each.name === name);
    if (leaf === undefined) return undefined;
    isInList ||= leaf.isList;
    siblings = leaf.children;
  }
  const lists = rows.map((row) => valuesOf(row, path));
  const present = lists.map((list) => (list.length > 0 ? 1 : 0));
  const flat = isInList ? lists.flat() : lists.map((list) => list[0] ?? null);
  const offsets = new Int32Array(rows.length + 1);
  lists.forEach((list, row) => (offsets[row + 1] = offsets[row]! + list.length));
  const isFull = present.every((bit) => bit === 1) && random.chance(0.5);
  return {
    rows: rows.length,
    offsets: isInList ? offsets : undefined,
    present: isInList || isFull ? undefined : Uint8Array.from(present),
    values: randomColumnValues(random, leaf!, flat, dictionary),
    bytes: 0,
  };
}

function randomColumnValues(
  random: Random,
  { type }: Column,
  values: readonly (Value | null)[],
  dictionary: TestDictionary,
): ColumnValues {
  switch (type) {
    case 'boolean':
      return { kind: 'flags', flags: Uint8Array.from(values, (value) => (value === true ? 1 : 0)) };
    case 'integer':
    case 'long':
      return randomIntegerValues(random, values.map((value) => BigInt((value as bigint) ?? 0n))); // prettier-ignore
    case 'date':
      return randomIntegerValues(random, values.map((value) => (value === null ? 0n : dateRangeMicros(value as string)![0]))); // prettier-ignore
    case 'double':
    case 'float': {
      const all = values.map((value) => Number(value ?? 0));
      const numbers = type === 'float' ? Float32Array.from(all) : Float64Array.from(all);
      const isDictionary = type === 'double' && !all.some((value) => Object.is(value, -0));
      if (isDictionary && random.chance(0.5)) return numberDictionary(random, all);
      return { kind: 'numbers', numbers, hasNonFinite: !all.every(Number.isFinite) };
    }
    default:
      return randomStringValues(random, values.map((value) => (value as string) ?? ''), dictionary); // prettier-ignore
  }
}

/** Returns doubles, none of which is -0, as indices into their distinct values. */
export function numberDictionary(random: Random, all: readonly number[]): ColumnValues {
  const distinct = random.shuffled([...new Set(all)]);
  const indexOf = new Map(distinct.map((value, index) => [value, index]));
  const indices = all.map((value) => indexOf.get(value)!);
  const isWide = distinct.length > 256 || random.chance(0.5);
  const numbers = Float64Array.from(distinct);
  return {
    kind: 'number-dictionary',
    indices: isWide ? Uint16Array.from(indices) : Uint8Array.from(indices),
    entries: { kind: 'numbers', numbers, hasNonFinite: !all.every(Number.isFinite) },
  };
}

function randomIntegerValues(random: Random, all: readonly bigint[]): ColumnValues {
  const fitsIn = (bits: bigint): boolean => all.every((value) => value >= -(2n ** bits) && value < 2n ** bits); // prettier-ignore
  if (all.every((value) => value >= 0n && value < 256n) && random.chance(0.7))
    return { kind: 'numbers', numbers: Uint8Array.from(all, Number), hasNonFinite: false };
  if (fitsIn(31n) && random.chance(0.7))
    return { kind: 'numbers', numbers: Int32Array.from(all, Number), hasNonFinite: false };
  if (fitsIn(53n) && random.chance(0.7))
    return { kind: 'numbers', numbers: Float64Array.from(all, Number), hasNonFinite: false };
  return { kind: 'longs', longs: BigInt64Array.from(all) };
}

function randomStringValues(
  random: Random,
  strings: readonly string[],
  dictionary: TestDictionary,
): ColumnValues {
  if (random.chance(0.5)) {
    const indices = indicesOf(random, strings, dictionary);
    const distinct = random.chance(0.5) ? Int32Array.from(new Set(indices)) : undefined;
    return { kind: 'dictionary', indices, dictionary, distinct };
  }
  return utf8StringsOf(strings);
}

function indicesOf(
  random: Random,
  strings: readonly string[],
  dictionary: TestDictionary,
): Uint8Array | Uint16Array | Uint32Array {
  const indices = strings.map((text) => {
    if (!dictionary.strings.includes(text)) dictionary.strings.push(text);
    return dictionary.strings.indexOf(text);
  });
  const kinds = [Uint8Array, Uint16Array, Uint32Array].slice(
    dictionary.strings.length > 256 ? 1 : 0,
  );
  return random.pick(kinds).from(indices);
}
