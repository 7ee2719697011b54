import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { ascendingOrder } from '../core/sorted-sets.js';
import { ByteCursor, ByteWriter } from '../text/bytes.js';

/**
 * Where the rows of a segment that a merge has made come from: row i was row `rows[i]` of the segment with the index `sources[i]` among the
 * segments that the merge replaces.
 */
export interface RowOrigins {
  readonly sources: Uint32Array;
  readonly rows: Int32Array;
}

/**
 * The origins of the rows of a segment, as the log stores them: for each source, its rows in the segment as runs (`RowRuns`), or an empty
 * or missing text if it has none. So the rows of one source are followed without decoding those of the others. Earlier releases stored one
 * text, whose rows are in the order of the segment.
 */
export type EncodedOrigins = string | readonly string[];

/**
 * Rows of one source, ascending, that went to a segment: for each run of consecutive rows that stayed together three numbers, the first row
 * in the source, the first row in the segment, and the number of rows.
 */
export type RowRuns = Int32Array;

/**
 * Encodes the origins of the rows of a segment: for each source up to the last one with rows in the segment a text, which is empty if the
 * source has none there, otherwise base64 of a zstd frame with a checksum. The positions of a run are stored relative to the end of the run
 * before it.
 */
export function encodeOrigins(origins: RowOrigins): readonly string[] {
  return runsBySource(origins).map((runs) => {
    if (runs.length === 0) return '';
    const skips = new ByteWriter(runs.length);
    const counts = new ByteWriter(runs.length);
    const shifts = new ByteWriter(runs.length);
    let [sourceEnd, targetEnd] = [0, 0];
    for (let i = 0; i < runs.length; i += 3) {
      const [row, target, count] = [runs[i]!, runs[i + 1]!, runs[i + 2]!];
      const skipped = row - sourceEnd;
      const shift = target - targetEnd - skipped;
      skips.writeVarint(skipped);
      counts.writeVarint(count);
      shifts.writeVarint(((shift << 1) ^ (shift >> 31)) >>> 0);
      [sourceEnd, targetEnd] = [row + count, target + count];
    }
    // The three kinds of numbers are kept apart, because zstd makes them a tenth smaller then.
    const header = new ByteWriter(10);
    for (const { endOffset } of [skips, counts]) header.writeVarint(endOffset);
    const bytes = Buffer.concat([header, skips, counts, shifts].map((part) => part.written()));
    return zstdCompressSync(bytes, { params: zstdParams }).toString('base64');
  });
}

const zstdParams = { [constants.ZSTD_c_compressionLevel]: 3, [constants.ZSTD_c_checksumFlag]: 1 };

/** Returns the runs of each source. */
function runsBySource({ sources, rows }: RowOrigins): readonly RowRuns[] {
  const counts = new Int32Array(sources.reduce((most, source) => Math.max(most, source + 1), 0));
  for (const source of sources) counts[source]!++;
  const targets = Array.from(counts, (count) => new Int32Array(count));
  counts.fill(0);
  for (const [target, source] of sources.entries()) targets[source]![counts[source]!++] = target;
  return targets.map((sourceTargets) => {
    const order = ascendingOrder(sourceTargets.map((target) => rows[target]!));
    return runsOf(rows, order?.map((i) => sourceTargets[i]!) ?? sourceTargets);
  });
}

/** Returns the runs of rows that went to `targets`, which are in the order of the rows from which they come. */
function runsOf(rows: Int32Array, targets: Int32Array): RowRuns {
  const runs = new Int32Array(3 * targets.length);
  let end = 0;
  for (const target of targets) {
    const row = rows[target]!;
    const last = end - 3;
    const isNext = end > 0 && row === runs[last]! + runs[last + 2]! && target === runs[last + 1]! + runs[last + 2]!; // prettier-ignore
    if (isNext) runs[last + 2]!++;
    else {
      runs[end] = row;
      runs[end + 1] = target;
      runs[end + 2] = 1;
      end += 3;
    }
  }
  return runs.slice(0, end);
}

/**
 * Returns a function that decodes the runs of a source in a segment of `count` rows. Throws, or the function does, if the text is malformed
 * or names rows that the segment does not have.
 */
export function originRunsDecoder(
  encoded: EncodedOrigins,
  count: number,
): (source: number) => RowRuns {
  if (typeof encoded !== 'string') return (source) => decodeRuns(encoded[source] ?? '', count);
  const runs = runsBySource(decodeRowByRow(encoded, count));
  return (source) => runs[source] ?? noRuns;
}

const noRuns: RowRuns = new Int32Array(0);

function decodeRuns(text: string, count: number): RowRuns {
  if (text === '') return noRuns;
  const bytes = zstdDecompressSync(Buffer.from(text, 'base64'), {
    maxOutputLength: 15 * count + 11,
  });
  const header = new ByteCursor(bytes);
  const sizes = [header.readVarint(), header.readVarint()] as const;
  const skips = new ByteCursor(header.take(sizes[0]));
  const counts = new ByteCursor(header.take(sizes[1]));
  const shifts = new ByteCursor(header.take(bytes.length - header.at));
  const runs = new Int32Array(3 * sizes[0]); // each number takes at least one byte
  let end = 0;
  let sourceEnd = 0;
  let targetEnd = 0;
  while (!skips.isAtEnd) {
    const skipped = skips.readVarint();
    const length = counts.readVarint();
    const shift = shifts.readVarint();
    const row = sourceEnd + skipped;
    const target = targetEnd + skipped + ((shift >>> 1) ^ -(shift & 1));
    sourceEnd = row + length;
    targetEnd = target + length;
    if (target < 0 || targetEnd > count)
      throw new RangeError(`the origins of ${count} rows name the row ${targetEnd - 1}`);
    runs[end] = row;
    runs[end + 1] = target;
    runs[end + 2] = length;
    end += 3;
  }
  return runs.subarray(0, end);
}

/**
 * Decodes the text of an earlier release: the sources of all rows, then their rows as differences from the previous row of the same source.
 */
function decodeRowByRow(text: string, count: number): RowOrigins {
  const bytes = zstdDecompressSync(Buffer.from(text, 'base64'), { maxOutputLength: 6 * count + 1 });
  if (bytes.length !== 6 * count)
    throw new RangeError(`the origins of ${count} rows have ${bytes.length} bytes`);
  const sources = new Uint32Array(count);
  const rows = new Int32Array(count);
  const lastRows = new Int32Array(1 << 16).fill(-1);
  for (let i = 0; i < count; i++) {
    const source = bytes.readUInt16LE(2 * i);
    sources[i] = source;
    rows[i] = lastRows[source] = lastRows[source]! + bytes.readInt32LE(2 * count + 4 * i);
  }
  return { sources, rows };
}
