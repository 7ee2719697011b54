import { zstdCompressSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { encodeOrigins, type RowOrigins } from '../../../engine/store/origins.js';
import { traceBack, traceForward, TracedRowSet } from '../../../engine/store/row-trace.js';
import { seededRandom, shuffled } from '../../random.js';
import { seed } from '../../seed.js';

test.each([
  ['this', encodeOrigins],
  ['an earlier', encodeRowByRow],
])(
  `several sets of rows are followed through a sorting merge of %s release and back, and other work is done between its segments (STRANDLAKE_SEED=${seed})`,
  async (_, encode) => {
    const next = seededRandom(seed);
    const sources = Array.from({ length: 5 }, (_, i) => ({ path: `source ${i}`, rows: 400, deletion: undefined })); // prettier-ignore
    const origins = shuffled(
      next,
      sources.flatMap(({ rows }, source) =>
        Array.from({ length: rows }, (_, row) => ({ source, row })),
      ),
    );
    const rowsPerTarget = 100;
    const rowsByTarget = Array.from({ length: origins.length / rowsPerTarget }, (_, i) =>
      origins.slice(rowsPerTarget * i, rowsPerTarget * (i + 1)),
    );
    const add = rowsByTarget.map((targetRows, i) => ({
      path: `target ${i}`,
      rows: targetRows.length,
      deletion: undefined,
    }));
    const entry = {
      isRewrite: true,
      add,
      remove: sources,
      origins: rowsByTarget.map((targetRows) =>
        encode({
          sources: Uint32Array.from(targetRows, ({ source }) => source),
          rows: Int32Array.from(targetRows, ({ row }) => row),
        }),
      ),
    };
    const sourcesByPath = new Map(sources.map((source) => [source.path, source]));
    const chosenNames = Array.from(
      { length: 4 },
      (_, set) =>
        new Set(
          origins.filter(() => next() < set / 4).map(({ source, row }) => `${source} ${row}`),
        ),
    );
    const rowsBefore = chosenNames.map(
      (names) =>
        new Map(
          sources.flatMap(({ path, rows }, source) => {
            const ownRows = Int32Array.from({ length: rows }, (_, row) => row).filter((row) =>
              names.has(`${source} ${row}`),
            );
            return ownRows.length === 0 ? [] : [[path, ownRows] as const];
          }),
        ),
    );
    const sets = rowsBefore.map((rows) => new TracedRowSet(rows));
    let turnCount = 0;
    let isDone = false;
    const takeTurns = (): void => {
      turnCount++;
      if (!isDone) setImmediate(takeTurns);
    };
    setImmediate(takeTurns);
    await traceForward(sets, entry, sourcesByPath);
    isDone = true;
    expect(turnCount).toBeGreaterThanOrEqual(rowsByTarget.length - 1);
    for (const [i, set] of sets.entries()) {
      expect(set.droppedCount).toBe(0);
      const expected = rowsByTarget.flatMap((targetRows, target) => {
        const rows = [...targetRows.keys()].filter((row) => chosenNames[i]!.has(`${targetRows[row]!.source} ${targetRows[row]!.row}`)); // prettier-ignore
        return rows.length === 0 ? [] : [[`target ${target}`, rows] as const];
      });
      expect([...set.rows].map(([path, rows]) => [path, rows === 'all' ? [...rowsByTarget[0]!.keys()] : [...rows]])).toEqual(expected); // prettier-ignore
    }
    await traceBack(sets, entry, sourcesByPath);
    for (const [i, set] of sets.entries()) {
      const byPath = [...set.rows].toSorted(([a], [b]) => (a < b ? -1 : 1));
      expect(byPath).toEqual([...rowsBefore[i]!]);
    }
  },
);

/**
 * Encodes origins as earlier releases did: the sources of all rows, then their rows as differences from the previous row of the same
 * source.
 */
function encodeRowByRow({ sources, rows }: RowOrigins): string {
  const bytes = Buffer.alloc(6 * rows.length);
  const lastRowBySource = new Map<number, number>();
  for (const [i, source] of sources.entries()) {
    bytes.writeUInt16LE(source, 2 * i);
    bytes.writeInt32LE(rows[i]! - (lastRowBySource.get(source) ?? -1), 2 * rows.length + 4 * i);
    lastRowBySource.set(source, rows[i]!);
  }
  return zstdCompressSync(bytes).toString('base64');
}
