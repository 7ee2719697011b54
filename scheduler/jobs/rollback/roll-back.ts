import type { Catalog } from '../../../engine/catalog/catalog.js';
import type { CommitRow, CommitVersion } from '../../../engine/catalog/commits.js';
import { currentIdempotencyKey } from '../../../engine/catalog/idempotency-keys.js';
import type { LoggedPublication } from '../../../engine/catalog/publish.js';
import { budgets } from '../../../engine/core/budgets.js';
import { crashpoint } from '../../../engine/core/crashpoint.js';
import { AppError, notFoundError } from '../../../engine/core/errors.js';
import type { QueryEngine } from '../../../engine/query/plan/query-engine.js';
import { reservedCells } from '../../../engine/query/results/reserved-cells.js';
import type { Rollback, Snapshot, Store } from '../../../engine/store/store.js';
import { withDatasetLock } from '../dataset-lock.js';
import { requireAppendableSnapshot, snapshotProblem } from '../visible-data.js';
import { findReaddingCommits } from './added-again.js';

/** Which later commits prevent a rollback. */
export const rollbackModes = ['records', 'strict'] as const;
/**
 * With `records`, a later commit prevents a rollback if it changed the same records, or if it wrote records with the `_id`s of records that
 * would come back. With `strict`, so does every later overwrite, upsert or deletion that was not rolled back (contract 16).
 */
export type RollbackMode = (typeof rollbackModes)[number];

/** Whether a commit can be rolled back. */
export interface RollbackCheck {
  /** The reason why the commit cannot be rolled back, or what a rollback would do. */
  readonly detail: string;
  readonly isBlocked: boolean;
  /** The newest commits that prevent the rollback, at most `budgets.blockingCommits`, oldest first. */
  readonly blocking: readonly BlockingCommit[];
}

/** A later commit that prevents a rollback. */
interface BlockingCommit {
  readonly commitId: number;
  /** The commit; undefined if its entry was deleted. */
  readonly commit: CommitRow | undefined;
  /**
   * Number of records that both commits changed, or that the later commit wrote with the `_id`s of records that would come back;
   * `exampleId` is the `_id` of one of them, null if a merge has left out all of them. Both are null if the commit prevents the rollback
   * whichever records it changed.
   */
  readonly records: number | null;
  readonly exampleId: string | null;
}

/** The parts of the server that rollbacks need. */
interface RollbackContext {
  readonly catalog: Catalog;
  readonly store: Store;
  readonly queryEngine: QueryEngine;
  readonly scheduler: {
    /** Repeats work that must follow a commit to a log, as `TaskRunner.persist` does; returns whether the work has succeeded. */
    persist(work: () => Promise<void>): Promise<boolean>;
    /** Must be called after a commit to a dataset: queues the upkeep that has become due. */
    committed(datasetId: number): void;
  };
}

/** Whether a commit can be rolled back, and how. */
interface PreparedRollback {
  readonly check: RollbackCheck;
  readonly snapshot: Snapshot;
  /** The rollback; undefined if it is blocked. */
  readonly rollback?: Rollback;
}

export async function checkRollback(
  context: RollbackContext,
  commit: CommitRow,
  mode: RollbackMode,
): Promise<RollbackCheck> {
  return (await prepareRollback(context, commit, mode)).check;
}

/**
 * Rolls a commit back by a new one, which removes the records that the former commit added, restores those that it removed, and gives those
 * that it changed their earlier values. Returns the new commit, or what prevents the rollback. Choice: a rollback cannot be rolled back;
 * fields that only the removed records had remain, without values.
 */
export async function rollBack(
  context: RollbackContext,
  commit: CommitRow,
  mode: RollbackMode,
  userId: number,
): Promise<CommitRow | RollbackCheck> {
  const { catalog, store, scheduler } = context;
  const { datasetId } = commit;
  return withDatasetLock(datasetId, async () => {
    const { check, snapshot, rollback } = await prepareRollback(context, commit, mode);
    if (check.isBlocked || rollback === undefined) return check;
    const { base, remove, update, removed, restored, changed } = rollback;
    const gonePaths = new Set(remove);
    const freedBytes = snapshot.segments.reduce((sum, { path, bytes }) => sum + (gonePaths.has(path) ? bytes : 0), 0); // prettier-ignore
    const publication: LoggedPublication = {
      datasetId,
      importId: 0,
      taskId: 0,
      userId,
      reverted: { commitId: commit.id, idempotencyKey: currentIdempotencyKey() },
      commitId: await catalog.nextId(),
      logVersion: base + 1,
      mode: 'rollback',
      title: `Rollback of ${commit.title}`,
      recordsModified: removed + restored - changed,
      changes: { added: restored - changed, changed, removed: removed - changed },
      recordsTotal: snapshot.rows - removed + restored,
      bytesTotal: snapshot.bytes - freedBytes,
      size: 0,
      genomeBuild: null,
      newFields: [],
      metadata: {},
      time: Date.now(),
    };
    const { columns } = snapshot;
    const change = { columns, add: [], remove, update, info: { publication }, base };
    const { version } = await store.commit(datasetId, change, '');
    // The rollback is durable now: after a crash, reconciliation applies it to the catalogue.
    crashpoint('rollback.before-catalog');
    const isPublished = await scheduler.persist(() =>
      catalog.publish({ ...publication, columns, segmentColumns: [], logVersion: version }),
    );
    if (!isPublished)
      throw new AppError('internal', `dataset ${datasetId}: the server was closed while the disk failed; its next start completes the rollback by commit ${publication.commitId}`); // prettier-ignore
    crashpoint('rollback.after-catalog');
    scheduler.committed(datasetId);
    const row = await catalog.commits.get(publication.commitId);
    if (row === undefined) throw notFoundError(); // the dataset was deleted meanwhile
    return row;
  });
}

async function prepareRollback(
  { catalog, store, queryEngine }: RollbackContext,
  commit: CommitRow,
  mode: RollbackMode,
): Promise<PreparedRollback> {
  const { datasetId, logVersion } = commit;
  const snapshot = await requireAppendableSnapshot(catalog, store, datasetId);
  const blockedRollback = (
    detail: string,
    blocking: readonly BlockingCommit[] = [],
  ): PreparedRollback => ({ check: { detail, isBlocked: true, blocking }, snapshot });
  const blockedByCommits = async (
    detail: string,
    blockers: readonly Omit<BlockingCommit, 'commit'>[],
  ): Promise<PreparedRollback> => {
    const shownBlockers = blockers.slice(-budgets.blockingCommits); // the newest, which have to be rolled back first
    const isCut = shownBlockers.length < blockers.length;
    const countDetail = isCut
      ? ` The newest ${shownBlockers.length} of ${blockers.length} are listed.`
      : '';
    const idsOfDeleted = new Set((await catalog.commits.deleted(datasetId)).map(({ id }) => id));
    const deletedIds = blockers
      .map(({ commitId }) => commitId)
      .filter((id) => idsOfDeleted.has(id));
    return blockedRollback(
      detail + countDetail + deletedEntriesText(deletedIds),
      await withCommits(catalog, shownBlockers),
    );
  };
  const problem = await snapshotProblem(catalog, datasetId);
  if (problem !== undefined) return blockedRollback(problem);
  if (commit.status !== 'completed')
    return blockedRollback(
      `The commit is ${commit.status}; only a completed commit can be rolled back.`,
    );
  if (commit.mode === 'rollback')
    return blockedRollback(
      'The commit is a rollback, which cannot be rolled back: import the records again, or delete them, instead.',
    );
  const earlierRollback = await catalog.commits.rollbackOf(commit.id);
  if (earlierRollback !== undefined)
    return blockedRollback(
      `The commit has been rolled back already, by commit ${earlierRollback.id}.`,
      await withCommits(catalog, [wholeCommit(earlierRollback)]),
    );
  if (mode === 'strict') {
    const laterCommits = await catalog.commits.changesAfter(datasetId, logVersion);
    if (laterCommits.length > 0)
      return blockedByCommits(
        `${countText(laterCommits.length, 'commit')} changed records of the dataset later: roll them back first, the newest first.`,
        laterCommits.map(wholeCommit),
      );
  }
  // A merge may have been published since the snapshot was read; the rollback is computed for the version whose records are read.
  const rollback = await store.rollback(datasetId, logVersion, snapshot.version);
  if (rollback.lost > 0)
    return blockedRollback(
      `${rollback.lost} of its records were deleted so long ago that a merge has left them out; they cannot come back (--keep-versions-days).`,
    );
  if (rollback.blockers.length > 0) {
    const firstShown = rollback.blockers.length - budgets.blockingCommits;
    const blockers = rollback.blockers.map(({ info, records, example: anyExample }, i) => {
      const example = i >= firstShown ? anyExample : undefined; // its `_id` is read from a segment
      const segment = snapshot.segments.findIndex(({ path }) => path === example?.path);
      const [cells] = example ? reservedCells(snapshot, [[segment, example.row]]) : [];
      const { commitId } = info['publication'] as LoggedPublication;
      return { commitId, records, exampleId: cells?.[0] ?? null };
    });
    const irreversibleBlockers = rollback.blockers.filter(({ lost }) => lost > 0);
    const lost = irreversibleBlockers.reduce((sum, blocker) => sum + blocker.lost, 0);
    const remedy =
      lost === 0
        ? 'roll them back first, the newest first'
        : `${irreversibleBlockers.length} of them cannot be rolled back, because a merge has left out the earlier values of ${countText(lost, 'record')} (--keep-versions-days)`;
    return blockedByCommits(
      `${countText(blockers.length, 'commit')} changed records of this commit later: ${remedy}.`,
      blockers,
    );
  }
  // Before the commit, no other record had the `_id` of one that it removed.
  if (rollback.restored > 0 && (await catalog.commits.hasAddedAfter(datasetId, logVersion))) {
    const readdingCommits = await findReaddingCommits(queryEngine, snapshot, rollback, commit.id);
    if (readdingCommits.length > 0)
      return blockedByCommits(
        'Records that would come back are there again, with the same _id: roll the commits back that wrote them last, or delete them first.',
        await inVersionOrder(catalog, readdingCommits),
      );
  }
  return { check: { detail: effectText(rollback), isBlocked: false, blocking: [] }, snapshot, rollback }; // prettier-ignore
}

/** Returns a commit that prevents a rollback whichever records it changed. */
function wholeCommit({ id }: CommitVersion): Omit<BlockingCommit, 'commit'> {
  return { commitId: id, records: null, exampleId: null };
}

/**
 * Returns commits in the order of their versions, which may differ from that of their ids: a job's commit has its id before the job runs.
 */
async function inVersionOrder<T extends { readonly commitId: number }>(
  { commits }: Catalog,
  blockers: readonly T[],
): Promise<readonly T[]> {
  const versionedBlockers = await Promise.all(
    blockers.map(
      async (one) => [(await commits.version(one.commitId))?.logVersion ?? -1, one] as const,
    ),
  );
  return versionedBlockers.toSorted(([a], [b]) => a - b).map(([, one]) => one);
}

async function withCommits(
  { commits }: Catalog,
  blockers: readonly Omit<BlockingCommit, 'commit'>[],
): Promise<readonly BlockingCommit[]> {
  return Promise.all(blockers.map(async (one) => ({ ...one, commit: await commits.get(one.commitId) }))); // prettier-ignore
}

/** Returns a sentence that names the blocking commits whose entries were deleted, the newest of many; empty if there are none. */
function deletedEntriesText(ids: readonly number[]): string {
  if (ids.length === 0) return '';
  if (ids.length === 1)
    return ` But the entry of commit ${ids[0]} was deleted, so that it can no longer be rolled back.`;
  const namedIds = ids.slice(-budgets.blockingCommits).join(', ');
  const unnamedCount = Math.max(0, ids.length - budgets.blockingCommits);
  const othersText = unnamedCount === 0 ? '' : ` and ${countText(unnamedCount, 'earlier commit')}`;
  return ` But the entries of the commits ${namedIds}${othersText} were deleted, so that they can no longer be rolled back.`;
}

function effectText({ removed, restored, changed }: Rollback): string {
  const counts = `Rolling the commit back removes ${countText(removed - changed, 'record')}`;
  return changed === 0
    ? `${counts} and restores ${restored}.`
    : `${counts}, restores ${restored - changed}, and gives ${changed} their earlier values.`;
}

function countText(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
