import type { CheckedFile } from '../../core/block-checksums.js';
import { AppError } from '../../core/errors.js';
import { deletedRows, type DeletionVector } from '../../store/deletion-vector.js';
import { Overflow } from './facets/overflow.js';
import { StringTable } from './facets/string-table.js';
import { GrowingDictionary } from './growing-dictionary.js';
import { loadColumn } from './load.js';
import { SegmentFile } from './segment-file.js';

/** Records to find by their ids. */
export interface IdSearch {
  /** Files with the ids that are looked for, in the column with the physical name `column`. */
  readonly wanted: readonly CheckedFile[];
  readonly column: string;
  readonly segments: readonly IdSegment[];
}

/** A segment in which ids are looked for. */
export interface IdSegment extends CheckedFile {
  readonly deletion: DeletionVector | undefined;
  /** Bounds of its ids in the log, in the order of their bytes; undefined if the log has none. */
  readonly bounds: readonly [min: string, max: string] | undefined;
}

/** The records that an `IdSearch` has found. */
export interface FoundIds {
  /** For each segment, the rows with a wanted id that are not deleted, ascending. */
  readonly rows: readonly Int32Array[];
  /** Number of different ids. */
  readonly distinct: number;
  /** The first row of `wanted` without an id: the number of its file, and of the row in it. */
  readonly missing: readonly [file: number, row: number] | undefined;
}

/** Maximum number of different ids. */
const maxIds = 100_000_000;
/** With more ids than this, nearly every segment may hold one of them. */
const fewIds = 10_000;

/** Finds the rows whose `_id` is among those wanted. Reads no other column. Throws `damaged`, and `budget` for too many ids. */
export function findIds({ wanted, column, segments }: IdSearch): FoundIds {
  const overflow = new Overflow();
  const ids = new StringTable(maxIds, overflow);
  let missing: FoundIds['missing'];
  for (const [number, file] of wanted.entries())
    eachString(file, column, (row, bytes, start, end) => {
      if (start < 0) missing ??= [number, row];
      else ids.add(bytes, start, end);
    });
  if (overflow.unsupported !== undefined)
    throw new AppError('budget', `an import names at most ${maxIds} different ids`);
  const few = ids.size > fewIds ? undefined : Array.from({ length: ids.size }, (_, i) => Buffer.from(ids.text(i))); // prettier-ignore
  const rows = segments.map((segment) => {
    if (few !== undefined && !mayHold(segment, few)) return new Int32Array(0);
    const gone = segment.deletion ? deletedRows(segment.deletion) : [];
    const found: number[] = [];
    let next = 0;
    eachString(segment, '_id', (row, bytes, start, end) => {
      if (gone[next] === row) next++;
      else if (start >= 0 && ids.find(bytes, start, end) >= 0) found.push(row);
    });
    return Int32Array.from(found);
  });
  return { rows, distinct: ids.size, missing };
}

/** Whether one of the ids is within the bounds of a segment. */
function mayHold({ bounds }: IdSegment, ids: readonly Buffer[]): boolean {
  if (bounds === undefined) return true;
  const [min, max] = bounds.map((bound) => Buffer.from(bound)) as [Buffer, Buffer];
  return ids.some((id) => id.compare(min) >= 0 && id.compare(max) <= 0);
}

/** Calls `visit` for each row of a column of strings, in their order; `start` is -1 for a row without a value. */
function eachString(
  checked: CheckedFile,
  column: string,
  visit: (row: number, bytes: Buffer, start: number, end: number) => void,
): void {
  const file = new SegmentFile(checked);
  try {
    const loaded = loadColumn(file, [column], new GrowingDictionary());
    if (loaded === undefined) {
      for (let row = 0; row < file.rows; row++) visit(row, none, -1, -1);
      return;
    }
    const { values, present, rows } = loaded;
    const isDictionary = values.kind === 'dictionary';
    if (!isDictionary && values.kind !== 'strings')
      throw file.damaged(`has no strings in ${column}`);
    const { bytes, offsets } = isDictionary ? values.dictionary.utf8 : values;
    for (let row = 0; row < rows; row++) {
      const at = isDictionary ? values.indices[row]! : row;
      if (present?.[row] === 0) visit(row, none, -1, -1);
      else visit(row, bytes, offsets[at]!, offsets[at + 1]!);
    }
  } finally {
    file.close();
  }
}

const none = Buffer.alloc(0);
