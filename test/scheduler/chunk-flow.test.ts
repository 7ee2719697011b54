import { describe, expect, test } from '@jest/globals';
import type { Source } from '../../readers/source/open.js';
import { eachPiece, type Outcome } from '../../scheduler/tasks/chunk-flow.js';

/** Pieces of a source that fails behind the last of them when `isDamaged`. */
async function* piecesOf(count: number, isDamaged: boolean): ReturnType<Source['chunks']> {
  for (let i = 0; i < count; i++)
    yield { ref: { kind: 'bytes', name: 'x', bytes: new Uint8Array(1) }, sourceBytes: i + 1 };
  if (isDamaged) throw new Error('a line is too long');
}

interface Flow {
  readonly begun: readonly number[];
  readonly error: string | null;
}

/** Runs the pieces, of which the later ones are done first; `outcomes` by index, the others go on. */
async function flow(
  outcomes: Readonly<Record<number, Outcome | Error>>,
  { pieces = 20, parallel = 4, isDamaged = false, last = Infinity } = {},
): Promise<Flow> {
  const begun: number[] = [];
  const done: (() => void)[] = [];
  const work = async (index: number): Promise<Outcome> => {
    begun.push(index);
    await new Promise<void>((resolve) => {
      done.push(resolve);
      setImmediate(() => done.pop()?.());
    });
    const outcome = outcomes[index] ?? 'go on';
    if (typeof outcome === 'object') throw outcome;
    return outcome;
  };
  const source = piecesOf(pieces, isDamaged);
  const { signal } = new AbortController();
  try {
    await eachPiece(source, parallel, signal, (piece) => work(piece.index), last);
    return { begun, error: null };
  } catch (error) {
    return { begun, error: (error as Error).message };
  }
}

describe('a source whose records end before it does', () => {
  test('is read no further once a piece has told, but for those under way', async () => {
    const { begun, error } = await flow({ 5: 'end' });
    expect(error).toBeNull();
    expect(begun).toEqual(expect.arrayContaining([0, 1, 2, 3, 4, 5]));
    expect(Math.max(...begun)).toBeLessThan(10);
  });

  test('may be damaged behind the end, but not before', async () => {
    const late = { 2: 'end', 3: new Error('third'), 4: new Error('fourth') } as const;
    expect((await flow(late)).error).toBeNull();
    expect((await flow({ 2: 'end' }, { pieces: 4, isDamaged: true })).error).toBeNull();
    expect((await flow({ 1: new Error('first'), 2: 'end' })).error).toBe('first');
    expect((await flow({}, { pieces: 4, isDamaged: true })).error).toBe('a line is too long');
  });

  test('is asked for no more than the last piece that is needed', async () => {
    const { begun, error } = await flow({}, { pieces: 4, isDamaged: true, last: 3 });
    expect([begun, error]).toEqual([[0, 1, 2, 3], null]);
  });
});

test('the first failure in the order of the source is the reason', async () => {
  const { error } = await flow({ 1: new Error('early'), 2: new Error('late') });
  expect(error).toBe('early');
});
