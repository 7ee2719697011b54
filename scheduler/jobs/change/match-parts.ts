import type { RowMatches } from '../../../engine/change/replace-rows.js';
import type { ChecksummedFile } from '../../../engine/core/block-checksums.js';
import { ascendingOrder } from '../../../engine/core/sorted-sets.js';
import type { Columns } from '../../../engine/core/types.js';
import { leafKey } from '../../../engine/store/segment-stats.js';
import type { Segment } from '../../../engine/store/store.js';
import type { RunContext } from '../job.js';
import type { ThreadJob } from '../thread-pool.js';

const estimateInThread = 'estimate' as ThreadJob<readonly ChecksummedFile[], Float64Array>;

/** Maximum number of records in a part that `divideMatches` returns. */
const maxPartRows = 1 << 17;
/**
 * Maximum size in memory, in bytes, of the given and the replaced records of a part with several records, estimated from the averages of
 * their files. A thread holds them decoded, and beside them the records that it writes: about as much as the columns of a large chunk of an
 * import. With a lower limit there are more parts, and if the given records come in another order than the stored ones, each part reads
 * nearly all pages of the given files.
 */
const maxPartBytes = 64 << 20;
/**
 * Maximum number of records that form one part without knowing their size, as many as are in the smallest page, so that small changes read
 * no footers.
 */
const maxUnmeasuredRows = 16;
/** Maximum number of records in a part as long as there are no more parts than threads; smaller parts are not worth their segments. */
const rowsPerPartOfThread = 1 << 14;

/** Returns the matches in the order of their row ids. */
export function sortByRowId(matches: RowMatches): RowMatches {
  const order = ascendingOrder(matches.rowIds);
  return order === undefined ? matches : matchesAtIndices(matches, order);
}

/**
 * Average sizes of records in memory, in bytes: for each given file, and for each segment of the dataset; 0 where the size is not needed.
 */
interface RecordSizes {
  readonly given: Float64Array;
  readonly stored: Float64Array;
}

/**
 * Returns the average sizes of the records of files in memory, in bytes. `numbers` has for each match the index of its file; the size is 0
 * for a file without a match. If there are so few matches that they are not divided by size, all sizes are 0, and no file is read. Each
 * thread reads the footers of a share of the files, because a footer of many columns takes milliseconds.
 */
export async function averageRecordSizes(
  files: readonly ChecksummedFile[],
  numbers: Int32Array,
  { pool, signal }: Pick<RunContext, 'pool' | 'signal'>,
): Promise<Float64Array> {
  const sizes = new Float64Array(files.length);
  if (numbers.length <= maxUnmeasuredRows) return sizes;
  const shares = Map.groupBy(new Set(numbers), (_, i) => i % pool.threads);
  await Promise.all(
    Array.from(shares.values(), async (share) => {
      const ownFiles = share.map((number) => {
        const { path, blockChecksums } = files[number]!;
        return { path, blockChecksums };
      });
      const ownSizes = await pool.run(estimateInThread, () => ownFiles, signal, { isUrgent: true });
      for (const [i, number] of share.entries()) sizes[number] = ownSizes[i]!;
    }),
  );
  return sizes;
}

/**
 * Divides matches, which are in the order of their row ids, into one part per segment to write, so that many records give all threads work
 * and each part fits in the memory of a thread, unless it is a single record. Parts in the order of row ids read most pages of the replaced
 * rows only once. If no replaced row has to be read (`isWhole`), the parts follow the order of the given records instead, so that most
 * pages of the given records are read only once.
 */
export function divideMatches(
  matches: RowMatches,
  given: readonly Pick<Segment, 'rows'>[],
  threads: number,
  isWhole: boolean,
  recordSizes: RecordSizes,
): readonly RowMatches[] {
  const { files, segments } = matches;
  const count = matches.given.length;
  const rowsPerPart = Math.ceil(
    count /
      Math.max(
        Math.ceil(count / maxPartRows),
        Math.min(threads, Math.ceil(count / rowsPerPartOfThread)),
      ),
  );
  const order = isWhole ? orderByGivenRecord(matches, given) : undefined;
  const numbers = new Int32Array(count);
  const sizes: number[] = [];
  let [rows, bytes] = [rowsPerPart, 0]; // as after a full part, so that the first match begins one
  for (let at = 0; at < count; at++) {
    const i = order?.[at] ?? at;
    const ownBytes = recordSizes.given[files[i]!]! + recordSizes.stored[segments[i]!]!;
    if (rows === rowsPerPart || bytes + ownBytes > maxPartBytes) {
      sizes.push(0);
      [rows, bytes] = [0, 0];
    }
    const part = sizes.length - 1;
    numbers[i] = part;
    sizes[part]!++;
    rows++;
    bytes += ownBytes;
  }
  const members = sizes.map((size) => new Int32Array(size));
  const ends = new Int32Array(sizes.length);
  for (let i = 0; i < count; i++) members[numbers[i]!]![ends[numbers[i]!]!++] = i;
  return members.map((some) => matchesAtIndices(matches, some));
}

/** Returns the indices of matches in the order of their given records; undefined if the matches are in this order. */
function orderByGivenRecord(
  { files, given: rows }: RowMatches,
  given: readonly Pick<Segment, 'rows'>[],
): Int32Array | undefined {
  const firsts = new Float64Array(given.length + 1);
  for (const [file, segment] of given.entries()) firsts[file + 1] = firsts[file]! + segment.rows;
  const numbers = new Float64Array(rows.length);
  for (let i = 0; i < rows.length; i++) numbers[i] = firsts[files[i]!]! + rows[i]!;
  return ascendingOrder(numbers);
}

/** Returns for each of the given segments its rows without a match, ascending. */
export function unmatchedRows(
  given: readonly Segment[],
  matches: RowMatches,
): readonly Int32Array[] {
  return matchedFlags(given, [matches]).map((flags) => {
    const restRows = new Int32Array(flags.length);
    let count = 0;
    for (let row = 0; row < flags.length; row++) if (flags[row] === 0) restRows[count++] = row;
    return restRows.slice(0, count);
  });
}

/** The given records of matches, as in `RowMatches`. */
type MatchedRecords = Pick<RowMatches, 'files' | 'given'>;

/** Returns the number of given records that have a match. */
export function countMatchedRecords(
  given: readonly Segment[],
  matches: readonly MatchedRecords[],
): number {
  let count = 0;
  for (const flags of matchedFlags(given, matches))
    for (let row = 0; row < flags.length; row++) count += flags[row]!;
  return count;
}

/** Returns for each of the given segments one byte for each of its rows: 1 if the row has a match. */
function matchedFlags(
  given: readonly Segment[],
  matches: readonly MatchedRecords[],
): readonly Uint8Array[] {
  const isMatched = given.map(({ rows }) => new Uint8Array(rows));
  for (const { files, given: rows } of matches)
    for (let i = 0; i < rows.length; i++) isMatched[files[i]!]![rows[i]!] = 1;
  return isMatched;
}

/**
 * Whether, as far as the statistics tell, each record of a segment has a value for each `wanted` column; false if one of these stores
 * single JSON values.
 */
export function hasValuesForAll(
  { columns, stats }: Pick<Segment, 'columns' | 'stats'>,
  wanted: Columns,
  above: readonly string[] = [],
): boolean {
  return wanted.every((column) => {
    const ownColumn = columns.find(({ physical }) => physical === column.physical);
    if (ownColumn === undefined || (ownColumn.type === 'json' && !ownColumn.isList)) return false;
    const path = [...above, ownColumn.physical];
    if (column.children === undefined || ownColumn.isList) return stats[leafKey(path)]?.nulls === 0;
    return hasValuesForAll({ columns: ownColumn.children ?? [], stats }, column.children, path);
  });
}

/** Returns the matches with the given indices. */
function matchesAtIndices(
  { files, given, segments, rows, rowIds }: RowMatches,
  indices: Int32Array,
): RowMatches {
  const count = indices.length;
  const someMatches = {
    files: new Int32Array(count),
    given: new Int32Array(count),
    segments: new Int32Array(count),
    rows: new Int32Array(count),
    rowIds: new Float64Array(count),
  };
  for (let at = 0; at < count; at++) {
    const i = indices[at]!;
    someMatches.files[at] = files[i]!;
    someMatches.given[at] = given[i]!;
    someMatches.segments[at] = segments[i]!;
    someMatches.rows[at] = rows[i]!;
    someMatches.rowIds[at] = rowIds[i]!;
  }
  return someMatches;
}
