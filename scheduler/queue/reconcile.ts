import type { Catalog } from '../../engine/catalog/catalog.js';
import { toErrorValue } from '../../engine/core/errors.js';
import type { Store } from '../../engine/store/store.js';
import { jobs as declaredJobs, type Jobs } from '../jobs/index.js';

/**
 * Brings the catalogue into line with the datasets' logs, which are the truth (threats C2b). A log that is ahead is
 * replayed: a kill came between the two writes. A catalogue that is ahead, or a log that cannot be read, means that
 * files are lost: the dataset becomes unavailable and the operator is told; nothing is cut to fit.
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
      await bringForward(catalog, store, id, logVersion, jobs);
    } catch (error) {
      report(`dataset ${id} is unavailable: ${toErrorValue(error).message}`);
      await catalog.datasets.update(id, { availability: 'unavailable' });
    }
  }
  // Deleted, but a kill or a failing disk came before their files.
  for (const id of await catalog.datasets.dropped()) {
    await store.drop(id);
    await catalog.datasets.forget(id);
  }
  // Newer than a catalogue that comes from a backup, say: not ours to decide.
  const ids = new Set(known.map(({ id }) => id));
  for (const id of await store.datasets()) {
    if (!ids.has(id)) report(`datasets/${id} holds a dataset that the catalogue does not know`);
  }
}

async function bringForward(
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
    // The first entry of a log describes the table alone, and belongs to no kind.
    for (const { logEntry } of jobs) {
      const info = logEntry && entry.info[logEntry.key];
      if (info === undefined) continue;
      await logEntry!.replay({ catalog, datasetId, version: entry.version, info });
    }
  }
}
