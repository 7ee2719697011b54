import { dataViewOf } from '../core/buffers.js';
import { openFile, type FileReader } from '../core/files.js';
import { valueCount, type DecodedValues } from '../parquet/decode-values.js';
import { readChunk, type DecodedLeaf } from '../parquet/read-column-chunk.js';
import { isZstd } from '../parquet/read-pages.js';
import {
  parquetSchema,
  physicalType,
  type ParquetLeaf,
  type SchemaNode,
} from '../parquet/parquet-schema.js';
import {
  compareBounds,
  joinedStatistics,
  noStatistics,
  statisticsOf,
  stringRange,
  type RangeStatistics,
} from '../parquet/statistics.js';
import { parquetColumns } from './arrow-columns.js';
import { deletedRows } from './deletion-vector.js';
import { readFooter, type Footer } from './footer.js';
import { findSegmentProblemOrReadError } from './integrity.js';
import { boundValue, leafKey } from './segment-stats.js';
import type { LeafStats, Segment } from './store.js';

/** The names of Parquet's physical types in footers that hyparquet has parsed. */
const physicalTypeNames: Readonly<Record<number, string>> = {
  [physicalType.boolean]: 'BOOLEAN',
  [physicalType.int32]: 'INT32',
  [physicalType.int64]: 'INT64',
  [physicalType.float]: 'FLOAT',
  [physicalType.double]: 'DOUBLE',
  [physicalType.byteArray]: 'BYTE_ARRAY',
};

/** Maximum number of problems that are reported for one segment; further ones are only counted. */
const maxReportedProblems = 10;

/**
 * Reads a whole segment and compares it with the log: size, checksums, number of rows, statistics and deleted rows. Returns the problems,
 * as ends of messages; values are compared only if the file matches its checksums. Only one column chunk at a time is in memory.
 */
export async function findSegmentProblems(
  path: string,
  segment: Segment,
): Promise<readonly string[]> {
  const problems = deletionProblems(segment);
  const problem = await findSegmentProblemOrReadError(path, segment);
  // A problem of the file comes first. The values of an altered file are not compared, because they say nothing about the log.
  if (problem !== undefined) problems.unshift(problem);
  else problems.push(...(await findValueProblems(path, segment)));
  const moreCount = problems.length - maxReportedProblems;
  return moreCount > 0
    ? [...problems.slice(0, maxReportedProblems), `has ${moreCount} more problems`]
    : problems;
}

function deletionProblems({ deletion, rows }: Segment): string[] {
  if (deletion === undefined) return [];
  try {
    const deletedRowList = deletedRows(deletion);
    if (deletedRowList.some((row, i) => i > 0 && row <= deletedRowList[i - 1]!))
      return ['has a deletion vector whose rows do not ascend'];
    const lastRow = deletedRowList.at(-1) ?? 0;
    if (lastRow < rows && deletedRowList[0]! >= 0) return [];
    return [`has ${rows} rows, and its deletion vector deletes row ${lastRow}`];
  } catch (error) {
    return [errorMessageOf(error)];
  }
}

async function findValueProblems(path: string, segment: Segment): Promise<readonly string[]> {
  let footer: Footer;
  let file: FileReader;
  try {
    footer = await readFooter(path);
    file = await openFile(path);
  } catch (error) {
    return [errorMessageOf(error)];
  }
  const problems: string[] = [];
  try {
    const rows = Number(footer.num_rows);
    if (rows !== segment.rows) return [`has ${rows} rows, the log says ${segment.rows}`];
    const groupRows = footer.row_groups.reduce((sum, group) => sum + Number(group.num_rows), 0);
    if (groupRows !== rows)
      return [`has ${groupRows} rows in its row groups, its footer says ${rows}`];
    const { leaves, nodes } = parquetSchema(parquetColumns(segment.columns));
    const lists = new Map(outermostLists(nodes).map((list) => [list.leaf, list]));
    for (const [i, leaf] of leaves.entries()) {
      const name = leafKey(leaf.path);
      try {
        const tally = await readLeafStatistics(file, footer, i, leaf, lists.get(i));
        problems.push(...statsProblems(segment, leaf, tally, lists.get(i)));
      } catch (error) {
        problems.push(`has a column ${name} that cannot be read: ${errorMessageOf(error)}`);
      }
    }
  } finally {
    await file.close();
  }
  return problems;
}

/** Returns the list columns that are not inside another list: these have statistics. */
function outermostLists(nodes: readonly SchemaNode[]): readonly SchemaNode[] {
  return nodes.flatMap((node) => (node.column.isList ? [node] : outermostLists(node.members)));
}

/** Counts and extremes of a leaf's values over all row groups. */
interface StoredLeafStatistics {
  readonly nulls: number;
  readonly range: RangeStatistics;
  /** The number of null lists, if the leaf is the first leaf of a list. */
  readonly listNulls: number;
}

/** Decodes and counts all values of a leaf. Throws an error if it cannot be decoded or does not have the rows of its row groups. */
async function readLeafStatistics(
  file: FileReader,
  { row_groups: groups }: Footer,
  index: number,
  leaf: ParquetLeaf,
  list: SchemaNode | undefined,
): Promise<StoredLeafStatistics> {
  let [nulls, listNulls] = [0, 0];
  let range = noStatistics;
  for (const { num_rows, columns } of groups) {
    const meta = columns[index]?.meta_data;
    if (meta === undefined || leafKey(meta.path_in_schema) !== leafKey(leaf.path))
      throw new RangeError('another column is in its place');
    if (meta.type !== physicalTypeNames[leaf.physical])
      throw new RangeError(`it is of the type ${meta.type}`);
    const begin = Number(meta.dictionary_page_offset ?? meta.data_page_offset);
    const bytes = await file.read(begin, Number(meta.total_compressed_size));
    const part = readChunk(bytes, leaf, {
      slots: Number(meta.num_values),
      isCompressed: isZstd(meta.codec),
    });
    const rows = rowCountOfPart(part);
    if (rows !== Number(num_rows))
      throw new RangeError(`it has ${rows} rows in a row group of ${num_rows}`);
    nulls += part.slots;
    for (const page of part.values) {
      nulls -= valueCount(page);
      range = joinedStatistics(range, valueRangeOfPage(leaf, page));
    }
    // A list is null if the definition level of its first leaf is lower than that of the list; slots of further elements are not counted.
    if (list !== undefined) listNulls += slotCountBelowLevel(part, list.path.length);
  }
  return { nulls, range, listNulls };
}

function rowCountOfPart({ slots, repetition }: DecodedLeaf): number {
  if (repetition === undefined) return slots;
  let rows = 0;
  for (const level of repetition) if (level === 0) rows++;
  return rows;
}

function slotCountBelowLevel({ definition, repetition }: DecodedLeaf, level: number): number {
  let count = 0;
  for (let slot = 0; slot < definition.length; slot++)
    if (definition[slot]! < level && (repetition?.[slot] ?? 0) === 0) count++;
  return count;
}

function valueRangeOfPage(leaf: ParquetLeaf, page: DecodedValues): RangeStatistics {
  const count = valueCount(page);
  switch (page.kind) {
    case 'booleans': {
      const booleans = Int32Array.from(page.booleans);
      return statisticsOf(leaf, { kind: 'booleans', count, booleans }, 0, count);
    }
    case 'int32s':
      return statisticsOf(leaf, { kind: 'int32s', count, int32s: page.int32s }, 0, count);
    case 'int64s':
      return statisticsOf(leaf, { kind: 'int64s', count, halves: page.int32s }, 0, count);
    case 'strings': {
      const { bytes, offsets } = page;
      const view = dataViewOf(bytes);
      return stringRange({ kind: 'strings', count, bytes, view, offsets }, 0, count);
    }
  }
}

/**
 * Returns the differences between the statistics of the log and the values. Bounds may be wider than the values, for example for long
 * strings.
 */
function statsProblems(
  { stats }: Segment,
  leaf: ParquetLeaf,
  { nulls, range, listNulls }: StoredLeafStatistics,
  list: SchemaNode | undefined,
): readonly string[] {
  const path = list?.path ?? leaf.path;
  const name = leafKey(path);
  const loggedStats = list === undefined && leaf.maxRepetition > 0 ? undefined : stats[name];
  if (loggedStats === undefined) return []; // the leaf is inside a list, or beyond the leaves that have statistics
  const nullCount = list === undefined ? nulls : listNulls;
  const problems =
    loggedStats.nulls === nullCount
      ? []
      : [`has ${nullCount} nulls in column ${name}, the log says ${loggedStats.nulls}`];
  if (list === undefined && !isRangeWithinStats(leaf, loggedStats, range))
    problems.push(`has values of column ${name} outside the bounds in the log`);
  return problems;
}

function isRangeWithinStats(
  leaf: ParquetLeaf,
  { min, max }: LeafStats,
  { minMax, hasNaN }: RangeStatistics,
): boolean {
  if (min === undefined || max === undefined) return true;
  if (hasNaN) return false; // NaN has no order, so bounds are impossible
  if (minMax === undefined) return true;
  const leastBound = boundValue(leaf.column, min);
  const greatestBound = boundValue(leaf.column, max);
  if (leastBound === undefined || greatestBound === undefined) return false;
  return (
    compareBounds(leastBound, minMax.min) <= 0 && compareBounds(greatestBound, minMax.max) >= 0
  );
}

function errorMessageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
