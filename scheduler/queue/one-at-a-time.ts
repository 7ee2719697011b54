const last = new Map<number, Promise<unknown>>();

/** Runs works of the same dataset one after another; each waits for those before it, however they ended. */
export function oneAtATime<T>(datasetId: number, work: () => Promise<T>): Promise<T> {
  const turn = (last.get(datasetId) ?? Promise.resolve()).then(work).finally(() => {
    if (last.get(datasetId) === settled) last.delete(datasetId);
  });
  const settled = turn.catch(() => undefined); // the caller has the error
  last.set(datasetId, settled);
  return turn;
}
