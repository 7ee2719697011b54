import type { StoredType } from '../core/types.js';
import { GrowingDictionary } from '../query/memory/growing-dictionary.js';
import { loadColumn, withDoubles } from '../query/memory/load.js';
import type { MemoryColumn } from '../query/memory/match/column.js';
import type { SegmentFile } from '../store/segment-file.js';

/** A column of the key: its physical path in the files with the wanted keys (`given`), and in the segments (`stored`). */
export interface KeyColumn {
  readonly given: readonly string[];
  readonly stored: readonly string[];
  /** The type of the field in the dataset; a segment may store a narrower one. */
  readonly type: StoredType;
}

/** Called with the bytes of the key of a row; `start` is -1 for a row without one. */
export type KeyVisitor = (row: number, bytes: Buffer, start: number, end: number) => void;

/**
 * Calls `visit` for each row of a file with the wanted keys (`given`) or of a segment (`stored`), in their order. If the key is one column
 * of strings, the key of a row is its value; otherwise it is the values of the columns as text. A row in which one of the values is null
 * has no key. Whole numbers of a field that has become one of doubles are compared as the doubles that queries show.
 */
export function forEachKey(
  file: SegmentFile,
  key: readonly KeyColumn[],
  side: 'given' | 'stored',
  visit: KeyVisitor,
): void {
  const columns = key.map((column) => {
    const loaded = loadColumn(file, column[side], new GrowingDictionary());
    return loaded !== undefined && column.type === 'double' ? withDoubles(loaded) : loaded;
  });
  const [first] = columns;
  if (columns.includes(undefined) || first === undefined) {
    for (let row = 0; row < file.rows; row++) visit(row, emptyBuffer, -1, -1);
  } else if (columns.length === 1 && isStringColumn(first)) forEachStringKey(first, visit);
  else forEachTextKey(columns as readonly MemoryColumn[], file.rows, visit);
}

const emptyBuffer = Buffer.alloc(0);

function isStringColumn({ values: { kind } }: MemoryColumn): boolean {
  return kind === 'strings' || kind === 'dictionary';
}

function forEachStringKey({ values, present, rows }: MemoryColumn, visit: KeyVisitor): void {
  const isDictionary = values.kind === 'dictionary';
  if (!isDictionary && values.kind !== 'strings') throw new Error('not a column of strings');
  const { bytes, offsets } = isDictionary ? values.dictionary.utf8 : values;
  for (let row = 0; row < rows; row++) {
    const at = isDictionary ? values.indices[row]! : row;
    if (present?.[row] === 0) visit(row, emptyBuffer, -1, -1);
    else visit(row, bytes, offsets[at]!, offsets[at + 1]!);
  }
}

/** The key is a JSON array, in which equal numbers of different types have the same text. */
function forEachTextKey(columns: readonly MemoryColumn[], rows: number, visit: KeyVisitor): void {
  const texts = columns.map(textReaderOf);
  for (let row = 0; row < rows; row++) {
    if (columns.some(({ present }) => present?.[row] === 0)) {
      visit(row, emptyBuffer, -1, -1);
      continue;
    }
    const key = Buffer.from(JSON.stringify(texts.map((text) => text(row))));
    visit(row, key, 0, key.length);
  }
}

function textReaderOf({ values }: MemoryColumn): (row: number) => string {
  switch (values.kind) {
    case 'numbers':
      return (row) => String(values.numbers[row]! + 0);
    case 'number-dictionary': {
      const { indices, entries } = values;
      return (row) => String(entries.numbers[indices[row]!]! + 0);
    }
    case 'longs':
      return (row) => String(values.longs[row]!);
    case 'flags':
      return (row) => String(values.flags[row]!);
    case 'dictionary':
      return (row) => values.dictionary.strings[values.indices[row]!]!;
    case 'strings':
      return (row) => values.bytes.toString('utf8', values.offsets[row]!, values.offsets[row + 1]!);
  }
}
