import type { Tables } from '../../../engine/catalog/catalog-tables.js';
import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import { toErrorValue } from '../../../engine/core/errors.js';
import type { JsonObject } from '../../../engine/core/types.js';
import { replayLog, storedSegments } from '../../../engine/store/replay-log.js';
import {
  liveRowCount,
  type Damage,
  type FilesOnDisk,
  type Segment,
  type Snapshot,
} from '../../../engine/store/store.js';
import {
  findLogProblems,
  logFolderName,
  replayOrDamage,
} from '../../../engine/store/verify-dataset.js';
import { withDatasetLock } from '../dataset-lock.js';
import type { Job, RunContext } from '../job.js';
import { byteProgressReporter } from '../archive/archive-run.js';
import type { ThreadJob } from '../thread-pool.js';
import { isInArchive, lostVersionsError } from '../visible-data.js';
import { archiveProblems, type KnownArchive } from './verify-archive.js';

/** A segment to be verified. */
export interface VerifyJobInput {
  /** The absolute path of the segment file. */
  readonly file: string;
  readonly segment: Segment;
}

const verifyInThread = 'verify' as ThreadJob<VerifyJobInput, readonly string[]>;

type KnownCounts = Pick<DatasetRow, 'documentsCount' | 'bytes'>;

/** The state of a dataset in the catalogue when an attempt at its verification begins. */
interface VerifyParams {
  readonly datasetId: number;
  /** The id of the snapshot or restore that has moved the files last (`lastMoveOf`). */
  readonly lastMove: number;
  readonly version: number;
  readonly counts: KnownCounts;
  /** The last version in the log; undefined if the log cannot be read. */
  readonly logVersion: number | undefined;
  /** The archive of a dataset whose files are in it; null for any other dataset. */
  readonly archive: KnownArchive | null;
  /** The last commit that the catalogue has; undefined if it has none. */
  readonly commit: { readonly id: number; readonly version: number; readonly records: number } | undefined; // prettier-ignore
}

/** The findings of a verification. */
interface Verification {
  readonly version: number;
  /** Number of segments of the version, or 1 for an archive; 0 if the log cannot be read or the archive has differences. */
  readonly files: number;
  readonly records: number;
  readonly bytes: number;
  /** Number and size of the segments that only earlier versions have. */
  readonly oldVersions: FilesOnDisk;
  readonly differences: readonly Damage[];
}

/** The findings of an attempt at a verification, and the last move of the files when the attempt began. */
type VerifyResult = Verification & Pick<VerifyParams, 'lastMove'>;

/** The counts of a verification that has counted nothing. */
const nothingRead = {
  files: 0,
  records: 0,
  bytes: 0,
  oldVersions: { files: 0, bytes: 0 },
} satisfies Partial<Verification>;

/** Returns a verification with the keys of the HTTP interface. */
export function verificationJson(verification: Verification): JsonObject {
  const { version, files, records, bytes, oldVersions: old_versions, differences } = verification;
  const is_whole = differences.length === 0;
  return { is_whole, version, files, records, bytes, old_versions, differences };
}

/**
 * Verifies a dataset: replays its log up to the version that the catalogue has, reads every segment of this version and of the earlier
 * ones, and compares the counts of the log with those of the catalogue. The files of an archived dataset are compared within its archive.
 * The dataset may be changed meanwhile: segments are immutable, and no segment of a version that a running task may read is removed. If
 * the dataset is archived or restored meanwhile, even several times, the verification runs again.
 */
export const verifyJob: Job<'verify', VerifyParams, VerifyResult> = {
  kind: 'verify',
  type: 'datasets.DatasetVerification',
  displayName: 'Dataset Verification',
  standalone: { priority: 80, concurrency: () => 2, isTransient: true, runsOnRefused: true },
  attempts: 2,

  async prepare(task, { catalog, store }) {
    const datasetId = task.sourceObjectId!;
    // While the lock is held, every commit in the log is also in the catalogue.
    return withDatasetLock(datasetId, async () => {
      const dataset = await catalog.datasets.get(datasetId);
      if (dataset === undefined) return null;
      const { logVersion: version, documentsCount, bytes } = dataset;
      const lastCommit = await catalog.commits.lastAt(datasetId, Number.MAX_SAFE_INTEGER);
      return {
        datasetId,
        lastMove: await lastMoveOf(catalog, datasetId),
        version,
        counts: { documentsCount, bytes },
        logVersion: await store.version(datasetId).catch(() => undefined),
        archive: isInArchive(dataset)
          ? { written: await catalog.snapshots.completed(datasetId), version }
          : null,
        commit: lastCommit && {
          id: lastCommit.id,
          version: lastCommit.logVersion,
          records: lastCommit.recordsTotal,
        },
      };
    });
  },

  async run(params, context) {
    const { datasetId, lastMove, version, counts, archive } = params;
    if (archive !== null)
      return { ...(await verifyArchivedDataset(datasetId, archive, counts, context)), lastMove };
    try {
      return { ...(await verifyStoredDataset(params, context)), lastMove };
    } catch (error) {
      const { code, message: problem } = toErrorValue(error);
      if (code !== 'damaged') throw error;
      // The log could be read when the verification began: since then it was damaged, or the dataset was archived, and then `publish` runs
      // the verification again.
      const differences = [{ path: logFolderName, problem }];
      return { version, ...nothingRead, differences, lastMove };
    }
  },

  async publish(task, result, { catalog, now }) {
    const datasetId = task.sourceObjectId!;
    if ((await lastMoveOf(catalog, datasetId)) !== result.lastMove) return 'run again';
    await catalog.tasks.complete(task.id, { result: verificationJson(result), now: now() });
    return 'published';
  },
};

/**
 * Returns the id of the snapshot that last moved the files of a dataset into an archive, or of the restore that last moved them back,
 * whichever was later; 0 if there is none. No file is removed from its old place before the catalogue has the new id.
 */
async function lastMoveOf({ snapshots, restores }: Tables, datasetId: number): Promise<number> {
  const [snapshot, restore] = [await snapshots.completed(datasetId), await restores.completed(datasetId)]; // prettier-ignore
  return Math.max(snapshot?.id ?? 0, restore?.id ?? 0);
}

async function verifyStoredDataset(
  { datasetId, version, counts, logVersion = version, commit }: VerifyParams,
  context: RunContext,
): Promise<Verification> {
  const state = await replayOrDamage(context.data, datasetId, version);
  if ('problem' in state) return { version, ...nothingRead, differences: [state] };
  const problems: string[] = [];
  if (state.version < version)
    problems.push(lostVersionsError(datasetId, state.version, version).message);
  else if (logVersion > version)
    problems.push(`is at version ${logVersion}, the catalogue at ${version}`);
  const { live, old } = await storedSegments(context.data, datasetId, state);
  const storedCounts = totalCountsOf(live);
  problems.push(...countDifferences(storedCounts, counts));
  if (commit !== undefined) {
    const isLast = commit.version >= state.version;
    const stateAtCommit = isLast ? state : await replayLog(context.data, datasetId, commit.version);
    const { rows } = totalCountsOf([...stateAtCommit.live.values()]);
    if (rows !== commit.records)
      problems.push(`has ${rows} records after commit ${commit.id}, which says ${commit.records}`);
  }
  const differences = problems.map((problem) => ({ path: logFolderName, problem }));
  differences.push(...(await findLogProblems(context.data, datasetId, state.version)));
  const segmentDamages = await verifySegments(context, datasetId, [...live, ...old]);
  // A vacuum may have removed segments of earlier versions meanwhile, and the log says so before it does.
  const currentState =
    segmentDamages.length > 0 ? await replayOrDamage(context.data, datasetId) : state;
  const isVacuumed = (path: string): boolean =>
    state.removed.get(path) !== undefined &&
    'removed' in currentState &&
    currentState.removed.get(path)?.isVacuumed !== false;
  differences.push(...segmentDamages.filter(({ path }) => !isVacuumed(path)));
  const oldVersions = { files: old.length, bytes: totalCountsOf(old).bytes };
  const { rows: records, bytes } = storedCounts;
  return { version, files: live.length, records, bytes, oldVersions, differences };
}

async function verifyArchivedDataset(
  datasetId: number,
  archive: KnownArchive,
  { documentsCount }: KnownCounts,
  context: RunContext,
): Promise<Verification> {
  const { data, signal } = context;
  const path = `archives/${datasetId}.tar.zst`;
  const progress = byteProgressReporter(context);
  const problems = await archiveProblems(data, datasetId, archive, { signal, progress });
  const differences = problems.map((problem) => ({ path, problem }));
  const { version } = archive;
  if (differences.length > 0) return { version, ...nothingRead, differences };
  // The archive is the one that was written, whose records were counted then.
  const bytes = archive.written?.bytes ?? 0;
  return { version, ...nothingRead, files: 1, records: documentsCount, bytes, differences };
}

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
    rows: segments.reduce((sum, segment) => sum + liveRowCount(segment), 0),
    bytes: segments.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

/** Reads segments in all threads of the pool; returns their problems in the order of the segments. */
async function verifySegments(
  { data, pool, signal, progress }: RunContext,
  datasetId: number,
  segments: readonly Segment[],
): Promise<readonly Damage[]> {
  const problemsBySegment: (readonly string[])[] = [];
  const { rows: recordsTotal, bytes: bytesTotal } = totalCountsOf(segments);
  let [nextIndex, records, bytes, errors] = [0, 0, 0, 0];
  const verifyNext = async (): Promise<void> => {
    while (nextIndex < segments.length) {
      const index = nextIndex++;
      const segment = segments[index]!;
      const file = data.datasetFile(datasetId, segment.path);
      const problems = await pool
        .run(verifyInThread, () => ({ file, segment }), signal)
        .catch((error: unknown) => {
          nextIndex = segments.length; // stops the other threads too
          throw error;
        });
      problemsBySegment[index] = problems;
      records += liveRowCount(segment);
      bytes += segment.bytes;
      errors += problems.length;
      progress({ records, recordsTotal, bytes, bytesTotal, errors });
    }
  };
  await Promise.all(Array.from({ length: pool.threads }, verifyNext));
  return segments.flatMap(({ path }, i) =>
    problemsBySegment[i]!.map((problem) => ({ path, problem })),
  );
}
