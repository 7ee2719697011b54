import { AppError } from '../core/errors.js';

/*
 * How the log records which files were removed from the disk. As in Delta Lake, a vacuum writes two entries: `VACUUM START` before the
 * first file is removed, and `VACUUM END` after the last. The first entry lists the files; from then on, no version that needs one of them
 * is read.
 */

/** A segment that a version of the log has removed: a tombstone of Delta. */
export interface RemovedFile {
  readonly bytes: number;
  /** The time of the log entry that removed the segment, in milliseconds since 1970. Earlier versions were the newest until then. */
  readonly removedAt: number;
  /** Whether a vacuum has begun to remove the file. */
  readonly isVacuumed: boolean;
}

/** The `info.vacuum` of a log entry: one step of a vacuum. */
export type VacuumStep =
  { readonly step: 'start'; readonly files: readonly string[] } | { readonly step: 'end' };

/** The parts of a log's state that vacuums change. */
interface VacuumState {
  readonly removed: Map<string, RemovedFile>;
  readableSince: number;
}

/** Returns the step of a vacuum that the `info` of a log entry describes; undefined for other entries. */
export function vacuumStepOf(info: Readonly<Record<string, unknown>>): VacuumStep | undefined {
  return info['vacuum'] as VacuumStep | undefined;
}

/** Applies the step of a vacuum to the state of a log. Returns the problem if the step does not fit the state. */
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

/** Returns the error for a version that a vacuum has made unreadable. `keepMs` is the time for which versions are kept, in milliseconds. */
export function unreadableVersionError(
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
