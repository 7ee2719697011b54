/**
 * Runs `work` for each item, and starts it for up to `ahead` further items while a result is awaited; yields the results in the order of
 * the items. Work that has been started is finished before the generator ends.
 */
export async function* mapInOrder<T, R>(
  items: AsyncIterable<T>,
  ahead: number,
  work: (item: T, index: number) => Promise<R>,
): AsyncGenerator<R> {
  const working: Promise<R>[] = [];
  let index = 0;
  try {
    for await (const item of items) {
      const result = work(item, index++);
      // The promise is awaited later; until it is, a rejection must not count as unhandled.
      result.catch(() => undefined);
      working.push(result);
      while (working.length > ahead) yield await working.shift()!;
    }
    while (working.length > 0) yield await working.shift()!;
  } finally {
    await Promise.allSettled(working);
  }
}
