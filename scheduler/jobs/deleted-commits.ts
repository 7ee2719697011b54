import type { Catalog } from '../../engine/catalog/catalog.js';
import { commitVersionOf, type LoggedPublication } from '../../engine/catalog/publish.js';
import type { Store } from '../../engine/store/store.js';

/**
 * Adds the versions in the log to those deleted commits of a dataset that an earlier release has stored without a version. The files of the
 * dataset must not be in its archive. Throws if there are such commits and the log cannot be read from its beginning.
 */
export async function completeDeletedCommits(
  catalog: Catalog,
  store: Store,
  datasetId: number,
): Promise<void> {
  const deletedCommits = await catalog.commits.deleted(datasetId);
  const incompleteIds = new Set(deletedCommits.flatMap(({ id, logVersion }) => (logVersion === null ? [id] : []))); // prettier-ignore
  if (incompleteIds.size === 0) return;
  for await (const { version, info } of store.history(datasetId, 0)) {
    const publication = info['publication'] as LoggedPublication | undefined;
    if (publication === undefined || !incompleteIds.has(publication.commitId)) continue;
    const commit = commitVersionOf({ ...publication, logVersion: version });
    await catalog.commits.completeDeleted(commit);
  }
}
