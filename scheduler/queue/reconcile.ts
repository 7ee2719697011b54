import type { Catalog } from '../../engine/catalog/catalog.js';
import { toErrorValue } from '../../engine/core/errors.js';
import type { Store } from '../../engine/store/store.js';
import { jobs as declaredJobs, type Jobs } from '../jobs/index.js';

/**
 * Makes the catalogue agree with the logs of the datasets, which are authoritative (threats C2b). A log that is ahead, because the
 * process was killed between the two writes, is replayed. A catalogue that is ahead, or an unreadable log, means that files were
 * lost: the dataset becomes unavailable and the operator gets a report; no data is changed.
 */
export async function reconcile(
  catalog: Catalog,
  store: Store,
  report: (message: string) => void,
  jobs: Jobs = declaredJobs,
): Promise<void> {
  const known = await catalog.datasets.logVersions();
  for (const { id, logVersion } of known) {
    try {
      await replayLog(catalog, store, id, logVersion, jobs);
    } catch (error) {
      report(`dataset ${id} is unavailable: ${toErrorValue(error).message}`);
      await catalog.datasets.update(id, { availability: 'unavailable' });
    }
  }
  // Deleted datasets whose files are still there, because of a kill or a failing disk.
  for (const id of await catalog.datasets.dropped()) {
    await store.drop(id);
    await catalog.datasets.forget(id);
  }
  // A dataset may be newer than a catalogue that was restored from a backup, so it is not removed.
  const ids = new Set(known.map(({ id }) => id));
  for (const id of await store.datasets()) {
    if (!ids.has(id)) report(`datasets/${id} holds a dataset that the catalogue does not know`);
  }
}

async function replayLog(
  catalog: Catalog,
  store: Store,
  datasetId: number,
  knownVersion: number,
  jobs: Jobs,
): Promise<void> {
  const version = await store.version(datasetId);
  if (version < knownVersion) {
    throw new Error(
      `the catalogue knows version ${knownVersion} but its log ends at ${version}; ` +
        'restore its folder from a backup',
    );
  }
  for await (const entry of store.history(datasetId, knownVersion + 1)) {
    // The first entry of a log only describes the table and belongs to no kind.
    for (const { logEntry } of jobs) {
      const info = logEntry && entry.info[logEntry.key];
      if (info === undefined) continue;
      await logEntry!.replay({ catalog, datasetId, version: entry.version, info });
    }
  }
}
