import { describe, expect, test } from '@jest/globals';
import type { Source } from '../../../../readers/source/source.js';
import { ChunkFlow, type ChunkOutcome } from '../../../../scheduler/jobs/import/chunk-flow.js';

/** Yields `count` chunks; throws after the last one if `isDamaged`. */
async function* yieldChunks(count: number, isDamaged: boolean): ReturnType<Source['chunks']> {
  for (let i = 0; i < count; i++)
    yield { ref: { kind: 'bytes', name: 'x', bytes: new Uint8Array(1) }, sourceBytes: i + 1 };
  if (isDamaged) throw new Error('a line is too long');
}

interface FlowOutcome {
  readonly begun: readonly number[];
  readonly error: string | null;
}

/** Processes chunks; of several in progress, the later ones finish first. `outcomes` are by index; a missing one is `continue`. */
async function runChunkFlow(
  outcomes: Readonly<Record<number, ChunkOutcome | Error>>,
  { count = 20, parallel = 4, isDamaged = false, last = Infinity } = {},
): Promise<FlowOutcome> {
  const begun: number[] = [];
  const releases: (() => void)[] = [];
  const work = async (index: number): Promise<ChunkOutcome> => {
    begun.push(index);
    await new Promise<void>((resolve) => {
      releases.push(resolve);
      setImmediate(() => releases.pop()?.());
    });
    const outcome = outcomes[index] ?? 'continue';
    if (typeof outcome === 'object') throw outcome;
    return outcome;
  };
  const source = yieldChunks(count, isDamaged);
  const chunks = new ChunkFlow(parallel, new AbortController().signal);
  try {
    await chunks.feedChunks(
      () => source,
      (chunk) => work(chunk.index),
      { last },
    );
    await chunks.waitUntilFinished();
    return { begun, error: null };
  } catch (error) {
    return { begun, error: (error as Error).message };
  }
}

describe('a source whose records end before it does', () => {
  test('starts no further chunk after the outcome `end`; those in progress are finished', async () => {
    const { begun, error } = await runChunkFlow({ 5: 'end' });
    expect(error).toBeNull();
    expect(begun).toEqual(expect.arrayContaining([0, 1, 2, 3, 4, 5]));
    expect(Math.max(...begun)).toBeLessThan(10);
  });

  test('may be damaged after the end, but not before', async () => {
    const lateOutcomes = { 2: 'end', 3: new Error('third'), 4: new Error('fourth') } as const;
    expect((await runChunkFlow(lateOutcomes)).error).toBeNull();
    expect((await runChunkFlow({ 2: 'end' }, { count: 4, isDamaged: true })).error).toBeNull();
    expect((await runChunkFlow({ 1: new Error('first'), 2: 'end' })).error).toBe('first');
    expect((await runChunkFlow({}, { count: 4, isDamaged: true })).error).toBe(
      'a line is too long',
    );
  });

  test('is enumerated only up to the last chunk that is needed', async () => {
    const { begun, error } = await runChunkFlow({}, { count: 4, isDamaged: true, last: 3 });
    expect([begun, error]).toEqual([[0, 1, 2, 3], null]);
  });
});

test('throws the first failure in the order of the source', async () => {
  const { error } = await runChunkFlow({ 1: new Error('early'), 2: new Error('late') });
  expect(error).toBe('early');
});

describe('several sources', () => {
  /**
   * Returns a `ChunkFlow`, and a function that feeds it a source of `count` chunks. With `isHeld`, each chunk waits until the test releases
   * it by its name in `held`.
   */
  function newChunkFlow(outcomes: Readonly<Record<string, ChunkOutcome | Error>> = {}) {
    const chunks = new ChunkFlow(3, new AbortController().signal);
    const begun: string[] = [];
    const heldChunks = new Map<string, () => void>();
    const feed = (name: string, count: number, isHeld = false, isDamaged = false) =>
      chunks.feedChunks(
        () => yieldChunks(count, isDamaged),
        async ({ index }) => {
          const key = `${name}${index}`;
          begun.push(key);
          if (isHeld) await new Promise<void>((resolve) => heldChunks.set(key, resolve));
          const outcome = outcomes[key] ?? 'continue';
          if (typeof outcome === 'object') throw outcome;
          return outcome;
        },
        { isCounted: true },
      );
    return { chunks, begun, held: heldChunks, feed };
  }

  test('overlap: a source begins while chunks of the one before are in progress', async () => {
    const { chunks, begun, held, feed } = newChunkFlow();
    expect(await feed('a', 1, true)).toBe(1);
    expect(await feed('b', 2)).toBe(2);
    expect(begun).toEqual(['a0', 'b0', 'b1']);
    held.get('a0')!();
    await chunks.waitUntilFinished();
  });

  test('end independently, and all of their chunks are counted', async () => {
    const { chunks, begun, feed } = newChunkFlow({ a0: 'end' });
    expect(await feed('a', 9)).toBe(9);
    expect(await feed('b', 2)).toBe(2);
    await chunks.waitUntilFinished();
    expect(begun.filter((key) => key.startsWith('a')).length).toBeLessThan(9);
    expect(begun.slice(-2)).toEqual(['b0', 'b1']);
  });

  test('throw the first failure in their order, whichever came first', async () => {
    const { chunks, held, feed } = newChunkFlow({ a0: new Error('early') });
    await feed('a', 1, true);
    await feed('b', 1, false, true);
    held.get('a0')!();
    await expect(chunks.waitUntilFinished()).rejects.toThrow('early');
  });

  test('stop at the first failure', async () => {
    const { chunks, begun, feed } = newChunkFlow({ a0: new Error('no') });
    await feed('a', 2);
    expect(chunks.isStopped).toBe(true);
    await expect(chunks.waitUntilFinished()).rejects.toThrow('no');
    expect(begun.length).toBeLessThanOrEqual(2);
  });
});
