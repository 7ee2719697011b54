import {
  gatherStrings,
  byteLengthAt,
  packStrings,
  stringAt,
  unpackStrings,
} from '../../engine/core/packed-strings.js';
import type { BatchAnswers, HostCallResult, PackedAnswers } from './host-call-protocol.js';

/** Packs the answers to a batch of calls as plain data that can be sent to another thread quickly. */
export function packAnswers(answers: BatchAnswers): PackedAnswers {
  const table = new FloatPathsTable(answers.length);
  for (let i = 0; i < answers.length; i++) table.setFloatPaths(i, answers[i]?.floats);
  return {
    texts: packStrings(answers.map((answer) => answer?.json ?? '')),
    ...table.packFloatPaths(),
  };
}

/** Returns the answers to a batch of calls that `packAnswers` has packed. */
export function unpackAnswers({ texts, floats, floatsOf }: PackedAnswers): BatchAnswers {
  return unpackStrings(texts).map((json, i) =>
    json === '' ? null : { json, floats: floats[floatsOf[i]!]! },
  );
}

/** Returns the answer at an index of packed answers; null if it is missing. */
export function answerAt(answers: PackedAnswers, at: number): HostCallResult | null {
  if (!hasAnswer(answers, at)) return null;
  return { json: stringAt(answers.texts, at), floats: answers.floats[answers.floatsOf[at]!]! };
}

/**
 * Joins answers from several batches: answer `i` of the result is answer `indicesInBatch[i]` of `batches[i]`, or missing if that batch is
 * null.
 */
export function gatherAnswers(
  batches: readonly (PackedAnswers | null)[],
  indicesInBatch: ArrayLike<number>,
): PackedAnswers {
  const table = new FloatPathsTable(batches.length);
  for (let i = 0; i < batches.length; i++) {
    const batch = batches[i]!;
    if (batch !== null && hasAnswer(batch, indicesInBatch[i]!))
      table.setFloatPaths(i, batch.floats[batch.floatsOf[indicesInBatch[i]!]!]);
  }
  const texts = batches.map((batch) => batch?.texts ?? null);
  return { texts: gatherStrings(texts, indicesInBatch), ...table.packFloatPaths() };
}

/** Whether a call of a batch was answered. */
export function hasAnswer({ texts }: PackedAnswers, at: number): boolean {
  return byteLengthAt(texts, at) > 0;
}

/** The distinct `HostCallResult.floats` in a batch, compared by identity; most answers have the same one. */
class FloatPathsTable {
  readonly #indexByFloats = new Map<HostCallResult['floats'], number>();
  readonly #floatsOf: Uint32Array;
  /** The `floats` that were set last, and their index. */
  #lastFloats: HostCallResult['floats'] | undefined;
  #lastIndex = 0;

  constructor(answerCount: number) {
    this.#floatsOf = new Uint32Array(answerCount);
  }

  setFloatPaths(i: number, floats: HostCallResult['floats'] | undefined): void {
    if (floats === undefined) return;
    if (floats !== this.#lastFloats) {
      const index = this.#indexByFloats.get(floats) ?? this.#indexByFloats.size;
      this.#indexByFloats.set(floats, index);
      this.#lastFloats = floats;
      this.#lastIndex = index;
    }
    this.#floatsOf[i] = this.#lastIndex;
  }

  packFloatPaths(): Pick<PackedAnswers, 'floats' | 'floatsOf'> {
    return { floats: [...this.#indexByFloats.keys()], floatsOf: this.#floatsOf };
  }
}
