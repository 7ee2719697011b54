const locks = new Map<number, Promise<unknown>>();

/** Runs `work` while holding the lock of a dataset. Waiting callers get the lock in order of their calls. */
export function withDatasetLock<T>(datasetId: number, work: () => Promise<T>): Promise<T> {
  const result = (locks.get(datasetId) ?? Promise.resolve()).then(work).finally(() => {
    if (locks.get(datasetId) === settledResult) locks.delete(datasetId);
  });
  const settledResult = result.catch(() => undefined); // the caller receives the error
  locks.set(datasetId, settledResult);
  return result;
}
