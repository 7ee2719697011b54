/** Maximum number of items that one call processes at a time, so that one request does not occupy every SQL connection. */
const maxConcurrent = 4;

/** Maps items concurrently, a few at a time; the results are in the order of the items. */
export async function mapConcurrent<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  let nextIndex = 0;
  const processItems = async (): Promise<void> => {
    while (nextIndex < items.length) {
      const index = nextIndex++;
      results[index] = await work(items[index]!);
    }
  };
  await Promise.all(Array.from({ length: Math.min(maxConcurrent, items.length) }, processItems));
  return results;
}
