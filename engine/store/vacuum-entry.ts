import { AppError } from '../core/errors.js';

/*
 * How the log tells which files were removed from the disk. As in Delta Lake, a vacuum writes two entries: `VACUUM START`, before the first
 * file goes, and `VACUUM END`, when all have gone. The first one names the files, so that no version that needs one of them is read from then on.
 */

/** A segment that a version of the log has removed: a tombstone of Delta. */
export interface RemovedFile {
  readonly bytes: number;
  /** The time of the entry that removed it, milliseconds since 1970: the versions before were the newest until then. */
  readonly removedAt: number;
  /** Whether a vacuum has begun to remove the file. */
  readonly isVacuumed: boolean;
}

/** The `info.vacuum` of a log entry. */
export type VacuumStep =
  { readonly step: 'start'; readonly files: readonly string[] } | { readonly step: 'end' };

/** The parts of a log's state that vacuums change. */
interface VacuumState {
  readonly removed: Map<string, RemovedFile>;
  readableSince: number;
}

/** The step of a vacuum that the `info` of an entry describes; undefined for another entry. */
export function vacuumStepOf(info: Readonly<Record<string, unknown>>): VacuumStep | undefined {
  return info['vacuum'] as VacuumStep | undefined;
}

/** Applies the step of a vacuum to the state of a log; returns what is wrong with it. */
export function applyVacuum(state: VacuumState, step: VacuumStep): string | undefined {
  const { removed } = state;
  if (step.step === 'end') {
    for (const [path, { isVacuumed }] of removed) if (isVacuumed) removed.delete(path);
    return undefined;
  }
  for (const path of step.files) {
    const file = removed.get(path);
    if (file === undefined) return `vacuums ${path}, which no version has removed`;
    removed.set(path, { ...file, isVacuumed: true });
    state.readableSince = Math.max(state.readableSince, file.removedAt);
  }
  return undefined;
}

/** The error for a version that a vacuum has made unreadable. `keepMs` is how long versions are kept. */
export function unreadableVersion(
  datasetId: number,
  version: number,
  readableSince: number,
  keepMs: number,
): AppError {
  const days = keepMs / 86_400_000;
  const readableFrom = new Date(readableSince).toISOString();
  return new AppError(
    'invalid',
    `Version ${version} of dataset ${datasetId} cannot be read any more: its files were removed. The versions since ${readableFrom} can be read; ` +
      `the server keeps earlier versions for ${days} ${days === 1 ? 'day' : 'days'} (--keep-versions-days).`,
  );
}
