import { openFile, type FileReader } from '../core/files.js';
import { valueCount, type DecodedValues } from '../parquet/decode-values.js';
import { readChunk, type LeafPart } from '../parquet/read-chunk.js';
import { isZstd } from '../parquet/read-pages.js';
import {
  parquetSchema,
  physicalType,
  type ParquetLeaf,
  type SchemaNode,
} from '../parquet/schema.js';
import {
  compareBounds,
  joinedRange,
  noValues,
  rangeOf,
  stringRange,
  type Range,
} from '../parquet/statistics.js';
import { parquetColumns } from './arrow.js';
import { deletedRows } from './deletion-vector.js';
import { readFooter, type Footer } from './footer.js';
import { fileProblem } from './integrity.js';
import { boundValue, leafKey } from './stats.js';
import type { LeafStats, Segment } from './store.js';

/** The names of physical types in footers as hyparquet reads them. */
const physicalNames: Readonly<Record<number, string>> = {
  [physicalType.boolean]: 'BOOLEAN',
  [physicalType.int32]: 'INT32',
  [physicalType.int64]: 'INT64',
  [physicalType.float]: 'FLOAT',
  [physicalType.double]: 'DOUBLE',
  [physicalType.byteArray]: 'BYTE_ARRAY',
};

/** Problems of one segment beyond this number are only counted. */
const maxProblems = 10;

/**
 * Reads a segment from its first byte to its last and compares it with what the log says of it: size, checksums, number of rows,
 * statistics and deleted rows. Returns all problems, as ends of messages. One column chunk at a time is in memory.
 */
export async function segmentProblems(path: string, segment: Segment): Promise<readonly string[]> {
  const problems = deletionProblems(segment);
  const problem = await fileProblem(path, segment);
  // The values of an altered file say nothing about the log.
  if (problem !== undefined) problems.unshift(problem);
  else problems.push(...(await valueProblems(path, segment)));
  const more = problems.length - maxProblems;
  return more > 0 ? [...problems.slice(0, maxProblems), `has ${more} more problems`] : problems;
}

function deletionProblems({ deletion, rows }: Segment): string[] {
  if (deletion === undefined) return [];
  try {
    const deleted = deletedRows(deletion);
    if (deleted.some((row, i) => i > 0 && row <= deleted[i - 1]!))
      return ['has a deletion vector whose rows do not ascend'];
    const last = deleted.at(-1) ?? 0;
    if (last < rows && deleted[0]! >= 0) return [];
    return [`has ${rows} rows, and its deletion vector deletes row ${last}`];
  } catch (error) {
    return [messageOf(error)];
  }
}

async function valueProblems(path: string, segment: Segment): Promise<readonly string[]> {
  let footer: Footer;
  try {
    footer = await readFooter(path);
  } catch (error) {
    return [messageOf(error)];
  }
  const rows = Number(footer.num_rows);
  if (rows !== segment.rows) return [`has ${rows} rows, the log says ${segment.rows}`];
  const groupRows = footer.row_groups.reduce((sum, group) => sum + Number(group.num_rows), 0);
  if (groupRows !== rows)
    return [`has ${groupRows} rows in its row groups, its footer says ${rows}`];
  const { leaves, nodes } = parquetSchema(parquetColumns(segment.columns));
  const lists = new Map(topLists(nodes).map((list) => [list.leaf, list]));
  const problems: string[] = [];
  const file = await openFile(path);
  try {
    for (const [i, leaf] of leaves.entries()) {
      const name = leafKey(leaf.path);
      try {
        const tally = await tallyOf(file, footer, i, leaf, lists.get(i));
        problems.push(...statsProblems(segment, leaf, tally, lists.get(i)));
      } catch (error) {
        problems.push(`has a column ${name} that cannot be read: ${messageOf(error)}`);
      }
    }
  } finally {
    await file.close();
  }
  return problems;
}

/** The columns of lists that are in no other list: those that have statistics. */
function topLists(nodes: readonly SchemaNode[]): readonly SchemaNode[] {
  return nodes.flatMap((node) => (node.column.isList ? [node] : topLists(node.members)));
}

/** What the values of a leaf are, over all row groups. */
interface LeafTally {
  readonly nulls: number;
  readonly range: Range;
  /** The number of null lists, if the leaf is the first of a list. */
  readonly listNulls: number;
}

/** Decodes all values of a leaf. Throws an error if it cannot be decoded, or does not have the rows of its row groups. */
async function tallyOf(
  file: FileReader,
  { row_groups: groups }: Footer,
  index: number,
  leaf: ParquetLeaf,
  list: SchemaNode | undefined,
): Promise<LeafTally> {
  let [nulls, listNulls] = [0, 0];
  let range = noValues;
  for (const { num_rows, columns } of groups) {
    const meta = columns[index]?.meta_data;
    if (meta === undefined || leafKey(meta.path_in_schema) !== leafKey(leaf.path))
      throw new RangeError('another column is in its place');
    if (meta.type !== physicalNames[leaf.physical])
      throw new RangeError(`it is of the type ${meta.type}`);
    const begin = Number(meta.dictionary_page_offset ?? meta.data_page_offset);
    const bytes = await file.read(begin, Number(meta.total_compressed_size));
    const part = readChunk(bytes, leaf, {
      slots: Number(meta.num_values),
      isCompressed: isZstd(meta.codec),
    });
    const rows = rowsOf(part);
    if (rows !== Number(num_rows))
      throw new RangeError(`it has ${rows} rows in a row group of ${num_rows}`);
    nulls += part.slots;
    for (const page of part.values) {
      nulls -= valueCount(page);
      range = joinedRange(range, rangeOfPage(leaf, page));
    }
    // A list is null where its first leaf ends above it; elements beyond the first repeat.
    if (list !== undefined) listNulls += slotsBelow(part, list.path.length);
  }
  return { nulls, range, listNulls };
}

function rowsOf({ slots, repetition }: LeafPart): number {
  if (repetition === undefined) return slots;
  let rows = 0;
  for (const level of repetition) if (level === 0) rows++;
  return rows;
}

function slotsBelow({ definition, repetition }: LeafPart, level: number): number {
  let count = 0;
  for (let slot = 0; slot < definition.length; slot++)
    if (definition[slot]! < level && (repetition?.[slot] ?? 0) === 0) count++;
  return count;
}

function rangeOfPage(leaf: ParquetLeaf, page: DecodedValues): Range {
  const count = valueCount(page);
  switch (page.kind) {
    case 'booleans': {
      const booleans = Int32Array.from(page.booleans);
      return rangeOf(leaf, { kind: 'booleans', count, booleans }, 0, count);
    }
    case 'int32s':
      return rangeOf(leaf, { kind: 'int32s', count, int32s: page.int32s }, 0, count);
    case 'int64s':
      return rangeOf(leaf, { kind: 'int64s', count, halves: page.int32s }, 0, count);
    case 'strings': {
      const { bytes, offsets } = page;
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      return stringRange({ kind: 'strings', count, bytes, view, offsets }, 0, count);
    }
  }
}

/** How the statistics of the log differ from the values. Bounds may be wider than these, as those of long strings are. */
function statsProblems(
  { stats }: Segment,
  leaf: ParquetLeaf,
  { nulls, range, listNulls }: LeafTally,
  list: SchemaNode | undefined,
): readonly string[] {
  const path = list?.path ?? leaf.path;
  const name = leafKey(path);
  const said = list === undefined && leaf.maxRepetition > 0 ? undefined : stats[name];
  if (said === undefined) return []; // in a list, or beyond the columns that have statistics
  const found = list === undefined ? nulls : listNulls;
  const problems =
    said.nulls === found
      ? []
      : [`has ${found} nulls in column ${name}, the log says ${said.nulls}`];
  if (list === undefined && !isWithin(leaf, said, range))
    problems.push(`has values of column ${name} outside the bounds in the log`);
  return problems;
}

function isWithin(
  leaf: ParquetLeaf,
  { min, max }: LeafStats,
  { extremes, hasNaN }: Range,
): boolean {
  if (min === undefined || max === undefined) return true;
  if (hasNaN) return false; // NaN has no order
  if (extremes === undefined) return true;
  const least = boundValue(leaf.column, min);
  const most = boundValue(leaf.column, max);
  if (least === undefined || most === undefined) return false;
  return compareBounds(least, extremes.min) <= 0 && compareBounds(most, extremes.max) >= 0;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
