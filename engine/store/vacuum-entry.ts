import { AppError } from '../core/errors.js';
import { entryTimeAt } from './entry-time.js';
import { RemovedFiles, type RemovedFile } from './removed-files.js';

/*
 * How the log records which files were removed from the disk. As in Delta Lake, a vacuum writes two entries: `VACUUM START` before the
 * first file is removed, and `VACUUM END` after the last. The first entry lists the files; from then on, no version that needs one of them
 * is read.
 */

/** The `info.vacuum` of a log entry: one step of a vacuum. */
export type VacuumStep =
  { readonly step: 'start'; readonly files: readonly string[] } | { readonly step: 'end' };

/** The parts of a log's state that vacuums change. */
interface VacuumState {
  removed: RemovedFiles;
  readableSince: number;
}

/** Returns the step of a vacuum that the `info` of a log entry describes; undefined for entries of no vacuum. */
export function vacuumStepOf(info: Readonly<Record<string, unknown>>): VacuumStep | undefined {
  return info['vacuum'] as VacuumStep | undefined;
}

/**
 * Applies the step of a vacuum, whose log entry has the time `time`, to the state of a log. Returns the problem if the step does not fit
 * the state.
 */
export function applyVacuum(
  state: VacuumState,
  step: VacuumStep,
  time: number,
): string | undefined {
  const { removed } = state;
  if (step.step === 'end') {
    state.removed = RemovedFiles.of([...removed].filter(([, { isVacuumed }]) => !isVacuumed));
    return undefined;
  }
  for (const path of step.files) {
    const file = removed.get(path);
    if (file === undefined) return `vacuums ${path}, which no version has removed`;
    const removedAt = entryTimeAt(time, file.removedAt, file.latestTimeBeforeRemoval);
    state.readableSince = Math.max(state.readableSince, removedAt);
  }
  const vacuumedPaths = new Set(step.files);
  const markedFiles = Array.from(removed, ([path, file]): [string, RemovedFile] => [
    path,
    vacuumedPaths.has(path) ? { ...file, isVacuumed: true } : file,
  ]);
  state.removed = RemovedFiles.of(markedFiles);
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
