import { join } from 'node:path';
import { AppError } from '../../../engine/core/errors.js';
import type { Column } from '../../../engine/core/types.js';
import { deletedRows, deletionVector } from '../../../engine/store/deletion-vector.js';
import { openStore } from '../../../engine/store/open.js';
import { segmentFiles, type LeafStats, type Segment } from '../../../engine/store/store.js';
import { merged } from '../../../engine/core/ascending.js';
import type { FoundIds, IdSearch } from '../../../engine/query/memory/find-ids.js';
import type { RunContext } from '../job.js';

/** The column in which an import that deletes keeps the ids of its records; nothing else of them is kept. */
export const givenId: Column = {
  name: '_id',
  physical: 'given_id',
  type: 'string',
  isList: false,
  isDeclared: true,
};

/** What an import with the commit mode `delete` does to a dataset. */
export interface Deletions {
  /** The version of the dataset in which the records were looked up. */
  readonly base: number;
  /** Its segments that lose records. */
  readonly update: readonly Segment[];
  /** Number of records that are deleted. */
  readonly removed: number;
  /** Number of ids that no record has. */
  readonly notFound: number;
}

/**
 * Looks up the records with the ids in `given`, segments of the scratch folder, in the newest version of a dataset.
 *
 * Choice: an id that no record has, or that is given twice, is no error of an import that deletes; both are counted.
 */
export async function findDeleted(
  datasetId: number,
  given: readonly Segment[],
  { data, scratch, pool, signal }: RunContext,
): Promise<Deletions> {
  const snapshot = await openStore(data).snapshot(datasetId);
  const wanted = given.map(({ path, blockChecksums }) => ({
    path: join(scratch, path),
    blockChecksums,
  }));
  const files = segmentFiles(snapshot);
  const shares = sharesOf(snapshot.segments, pool.threads);
  const found = await Promise.all(
    shares.map((numbers) => {
      const segments = numbers.map((number) => {
        const { deletion, stats } = snapshot.segments[number]!;
        return { ...files[number]!, deletion, bounds: boundsOf(stats['_id']) };
      });
      const search: IdSearch = { wanted, column: givenId.physical, segments };
      return pool.run('find', () => search, signal);
    }),
  );
  const [{ distinct, missing }] = found as [FoundIds, ...FoundIds[]];
  if (missing !== undefined) throw withoutId(given, missing);
  const updated: [number: number, segment: Segment][] = [];
  let removed = 0;
  for (const [share, { rows }] of found.entries()) {
    for (const [i, own] of rows.entries()) {
      if (own.length === 0) continue;
      const number = shares[share]![i]!;
      const segment = snapshot.segments[number]!;
      const earlier = segment.deletion ? deletedRows(segment.deletion) : new Int32Array(0);
      updated.push([number, { ...segment, deletion: deletionVector(merged(earlier, own)) }]);
      removed += own.length;
    }
  }
  const update = updated.sort(([a], [b]) => a - b).map(([, segment]) => segment);
  return { base: snapshot.version, update, removed, notFound: distinct - removed };
}

function boundsOf({ min, max }: Partial<LeafStats> = {}): readonly [string, string] | undefined {
  return typeof min === 'string' && typeof max === 'string' ? [min, max] : undefined;
}

/** The numbers of the segments in as many shares as there are threads, about equally large; one share at least. */
function sharesOf(segments: readonly Segment[], threads: number): readonly (readonly number[])[] {
  const shares = Array.from({ length: threads }, () => ({ numbers: [] as number[], rows: 0 }));
  for (const [number, { rows }] of segments.entries()) {
    const least = shares.reduce((a, b) => (b.rows < a.rows ? b : a));
    least.numbers.push(number);
    least.rows += rows;
  }
  const used = shares.filter(({ numbers }) => numbers.length > 0);
  return used.length === 0 ? [[]] : used.map(({ numbers }) => numbers);
}

function withoutId(given: readonly Segment[], [file, row]: readonly [number, number]): AppError {
  const before = given.slice(0, file).reduce((sum, { rows }) => sum + rows, 0);
  return new AppError(
    'input',
    `record ${before + row + 1} has no _id: with commit_mode delete, each record names one to delete by its _id`,
  );
}
