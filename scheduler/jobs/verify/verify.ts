import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import type { JsonObject } from '../../../engine/core/types.js';
import { replayLog } from '../../../engine/store/snapshot.js';
import { liveRows, type Damage, type Segment, type Snapshot } from '../../../engine/store/store.js';
import {
  checkpointProblems,
  logFolderName,
  replayOrDamage,
} from '../../../engine/store/verify-dataset.js';
import { withDatasetLock } from '../dataset-lock.js';
import type { Job, RunContext } from '../job.js';
import { lostVersionsError } from '../visible-data.js';

type KnownCounts = Pick<DatasetRow, 'documentsCount' | 'bytes'>;

/** The state of a dataset in the catalogue when its verification begins. */
interface VerifyParams {
  readonly datasetId: number;
  readonly version: number;
  readonly counts: KnownCounts;
  /** The last version in the log; undefined if the log cannot be read. */
  readonly logVersion: number | undefined;
  /** The last commit that the catalogue has; undefined if it has none. */
  readonly commit: { readonly id: number; readonly version: number; readonly records: number } | undefined; // prettier-ignore
}

/** The findings of a verification. */
interface Verification {
  readonly version: number;
  /** Number of segment files that were read. */
  readonly files: number;
  readonly records: number;
  readonly bytes: number;
  readonly differences: readonly Damage[];
}

/** Returns a verification with the keys of the HTTP interface. */
export function verificationJson({ differences, ...counts }: Verification): JsonObject {
  return { is_whole: differences.length === 0, ...counts, differences };
}

/**
 * Verifies the version of a dataset that the catalogue has: replays its log, reads every segment of the version, and compares the counts of
 * the log with those of the catalogue. The dataset may be changed meanwhile: segments are immutable, and none is removed that a running
 * task may read.
 */
export const verifyJob: Job<'verify', VerifyParams, Verification> = {
  kind: 'verify',
  type: 'datasets.DatasetVerification',
  displayName: 'Dataset Verification',
  background: { priority: 80, concurrency: () => 2, isTransient: true, runsOnRefused: true },
  attempts: 2,

  async prepare(task, { catalog, store }) {
    const datasetId = task.sourceObjectId!;
    // While the lock is held, no commit is in the log and not yet in the catalogue.
    return withDatasetLock(datasetId, async () => {
      const dataset = await catalog.datasets.get(datasetId);
      if (dataset === undefined) return null;
      const { logVersion: version, documentsCount, bytes } = dataset;
      const last = await catalog.commits.lastAt(datasetId, Number.MAX_SAFE_INTEGER);
      return {
        datasetId,
        version,
        counts: { documentsCount, bytes },
        logVersion: await store.version(datasetId).catch(() => undefined),
        commit: last && { id: last.id, version: last.logVersion, records: last.recordsTotal },
      };
    });
  },

  async run(params, context) {
    const { datasetId, version, counts, logVersion = version, commit } = params;
    const state = await replayOrDamage(context.data, datasetId, version);
    if ('problem' in state)
      return { version, files: 0, records: 0, bytes: 0, differences: [state] };
    const problems: string[] = [];
    if (state.version < version)
      problems.push(lostVersionsError(datasetId, state.version, version).message);
    else if (logVersion > version)
      problems.push(`is at version ${logVersion}, the catalogue at ${version}`);
    const segments = [...state.live.values()];
    const found = totalCountsOf(segments);
    problems.push(...countDifferences(found, counts));
    if (commit !== undefined) {
      const isLast = commit.version >= state.version;
      const then = isLast ? state : await replayLog(context.data, datasetId, commit.version);
      const { rows } = totalCountsOf([...then.live.values()]);
      if (rows !== commit.records)
        problems.push(
          `has ${rows} records after commit ${commit.id}, which says ${commit.records}`,
        );
    }
    const differences = problems.map((problem) => ({ path: logFolderName, problem }));
    differences.push(...(await checkpointProblems(context.data, datasetId)));
    differences.push(...(await verifySegments(context, datasetId, segments)));
    const { rows: records, bytes } = found;
    return { version, files: segments.length, records, bytes, differences };
  },

  async publish(task, result, { catalog, now }) {
    await catalog.tasks.complete(task.id, { result: verificationJson(result), now: now() });
    return 'published';
  },
};

/** Returns the differences between the counts of a version and those of the catalogue. */
export function countDifferences(
  { rows, bytes }: Pick<Snapshot, 'rows' | 'bytes'>,
  known: KnownCounts,
): readonly string[] {
  const problems: string[] = [];
  if (rows !== known.documentsCount)
    problems.push(`its segments have ${rows} records, the catalogue says ${known.documentsCount}`);
  if (bytes !== known.bytes)
    problems.push(`its segments have ${bytes} bytes, the catalogue says ${known.bytes}`);
  return problems;
}

function totalCountsOf(segments: readonly Segment[]): Pick<Snapshot, 'rows' | 'bytes'> {
  return {
    rows: segments.reduce((sum, segment) => sum + liveRows(segment), 0),
    bytes: segments.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

/** Reads segments in all threads of the pool; returns their problems in the order of the segments. */
async function verifySegments(
  { data, pool, signal, progress }: RunContext,
  datasetId: number,
  segments: readonly Segment[],
): Promise<readonly Damage[]> {
  const found: (readonly string[])[] = [];
  const { rows: recordsTotal, bytes: bytesTotal } = totalCountsOf(segments);
  let [next, records, bytes, errors] = [0, 0, 0, 0];
  const verifyNext = async (): Promise<void> => {
    while (next < segments.length) {
      const index = next++;
      const segment = segments[index]!;
      const file = data.datasetFile(datasetId, segment.path);
      const problems = await pool
        .run('verify', () => ({ file, segment }), signal)
        .catch((error: unknown) => {
          next = segments.length; // stops the other threads too
          throw error;
        });
      found[index] = problems;
      records += liveRows(segment);
      bytes += segment.bytes;
      errors += problems.length;
      progress({ records, recordsTotal, bytes, bytesTotal, errors });
    }
  };
  await Promise.all(Array.from({ length: pool.threads }, verifyNext));
  return segments.flatMap(({ path }, i) => found[i]!.map((problem) => ({ path, problem })));
}
