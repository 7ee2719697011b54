const lockByDataset = new Map<number, Promise<unknown>>();

/**
 * Runs `work` while holding the lock of a dataset, or of a file that is uploaded in parts. Waiting callers get the lock in the order of
 * their calls.
 */
export function withDatasetLock<T>(datasetId: number, work: () => Promise<T>): Promise<T> {
  const result = (lockByDataset.get(datasetId) ?? Promise.resolve()).then(work).finally(() => {
    if (lockByDataset.get(datasetId) === settledResult) lockByDataset.delete(datasetId);
  });
  const settledResult = result.catch(() => undefined); // the caller receives the error
  lockByDataset.set(datasetId, settledResult);
  return result;
}
