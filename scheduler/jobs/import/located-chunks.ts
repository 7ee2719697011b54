/** The numbers of records of a chunk, and of its lines; without `lines`, each record that was read is a line. */
interface ChunkCounts {
  readonly lines?: number;
  readonly read: number;
  readonly made?: number;
  readonly stored: number;
  readonly rejected: number;
}

/** The result of a chunk, and what precedes the chunk in its source. */
export interface LocatedChunk<R extends ChunkCounts = ChunkCounts> {
  readonly result: R;
  /** The name of the source. */
  readonly source: string;
  /** The number of lines before the chunk, and the numbers of records that were read from these lines and stored. */
  readonly before: { readonly lines: number; readonly read: number; readonly stored: number };
}

/** Returns the chunks of a source, which begin after `bodyLine` lines, with their positions in the source. */
export function locateChunks<R extends ChunkCounts>(
  results: readonly R[],
  source: string,
  bodyLine = 0,
): readonly LocatedChunk<R>[] {
  let before = { lines: bodyLine, read: 0, stored: 0 };
  return results.map((result) => {
    const numberedChunk = { result, source, before };
    const { read, lines = read, stored } = result;
    before = {
      lines: before.lines + lines,
      read: before.read + read,
      stored: before.stored + stored,
    };
    return numberedChunk;
  });
}

/** Returns the source and the position in it of the record in a row of a chunk's segment, for messages. */
export function locationInSource({ result, source, before }: LocatedChunk, row: number): string {
  const { read, lines = read, rejected, made = 0 } = result;
  // The row of a stored record tells its position among those that were read only if the chunk stores exactly these.
  if (rejected > 0 || made !== 0)
    return `record ${before.stored + row + 1} of those stored from ${source}`;
  const number = before.read + row + 1;
  const line = before.lines + row + 1;
  const isLineKnown = lines === read && line !== number;
  return `record ${number} of ${source}${isLineKnown ? ` (line ${line})` : ''}`;
}
