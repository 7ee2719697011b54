import { acquireBuffer, releaseBuffer } from '../../core/buffers.js';
import { AppError } from '../../core/errors.js';
import { readLevels } from '../../parquet/read-column-chunk.js';
import { pagesOf, type RowLevel } from './load-column.js';
import type { SegmentFile } from '../../store/segment-file.js';
import type { SegmentLeaf } from '../../store/segment-leaves.js';

/** The elements of a list of objects as rows of columns. */
export interface LoadedElements {
  /** Row r has the elements `offsets[r]` to `offsets[r + 1]` (exclusive), where a row is a record or an element of the enclosing list. */
  readonly offsets: Int32Array;
  readonly level: RowLevel;
}

/**
 * Finds the elements of a list of objects, given by its physical path, for the rows `above`, which are records or elements of the enclosing
 * list. Undefined if the segment lacks the list. Null elements are left out. Throws `damaged`.
 */
export function loadElements(
  file: SegmentFile,
  path: readonly string[],
  above: RowLevel,
): LoadedElements | undefined {
  const leaf = smallestLeaf(file, path);
  if (leaf === undefined) return undefined;
  const level = {
    repetition: leaf.lists.slice(0, path.length).filter(Boolean).length,
    definition: leaf.definitions[path.length - 1]!,
  };
  try {
    const offsets = elementOffsets(file, leaf, above, level);
    return { offsets, level: { ...level, rows: offsets[above.rows]! } };
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw file.damagedError(`cannot give the elements of its column ${path.join('.')}`, error);
  }
}

/** Returns the smallest leaf inside the list. Any leaf would do, because the levels of each show where the elements begin. */
function smallestLeaf(file: SegmentFile, path: readonly string[]): SegmentLeaf | undefined {
  const bytesOf = ({ index }: SegmentLeaf): number =>
    file.groups.reduce((sum, { chunks }) => sum + chunks[index]!.bytes, 0);
  return file.leaves
    .filter(
      ({ columns, lists }) =>
        columns.length > path.length &&
        lists[path.length - 1] === true &&
        path.every((name, i) => columns[i] === name),
    )
    .sort((a, b) => bytesOf(a) - bytesOf(b))[0];
}

function elementOffsets(
  file: SegmentFile,
  { index, maxRepetition, maxDefinition }: SegmentLeaf,
  above: RowLevel,
  level: Omit<RowLevel, 'rows'>,
): Int32Array {
  const offsets = new Int32Array(above.rows + 1);
  let [row, elementCount] = [0, 0];
  for (const { isDictionary, body, count } of pagesOf(
    file,
    file.groups.map(({ chunks }) => chunks[index]!),
  )) {
    if (isDictionary) continue;
    const repetition = acquireBuffer(Int32Array, count);
    const definition = acquireBuffer(Int32Array, count);
    const constantRepetition = readLevels(body, maxRepetition, count, repetition);
    if (constantRepetition !== undefined) repetition.fill(constantRepetition, 0, count);
    const constantDefinition = readLevels(body, maxDefinition, count, definition);
    if (constantDefinition !== undefined) definition.fill(constantDefinition, 0, count);
    for (let i = 0; i < count; i++) {
      const [repetitionLevel, definitionLevel] = [repetition[i]!, definition[i]!];
      if (repetitionLevel <= above.repetition && definitionLevel >= above.definition)
        offsets[row++] = elementCount;
      if (repetitionLevel <= level.repetition && definitionLevel >= level.definition)
        elementCount++;
    }
    releaseBuffer(repetition);
    releaseBuffer(definition);
  }
  if (row !== above.rows) throw new RangeError(`there are ${row} lists for ${above.rows} rows`);
  offsets[above.rows] = elementCount;
  return offsets;
}
