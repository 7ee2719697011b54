import {
  gatherTexts,
  lengthAt,
  packTexts,
  textAt,
  unpackTexts,
} from '../../engine/core/packed-texts.js';
import type { BatchAnswers, HostAnswer, PackedAnswers } from './protocol.js';

/** Joins answers. */
export function packAnswers(answers: BatchAnswers): PackedAnswers {
  const table = new FloatsTable(answers.length);
  for (let i = 0; i < answers.length; i++) table.set(i, answers[i]?.floats);
  return { texts: packTexts(answers.map((answer) => answer?.json ?? '')), ...table.packed() };
}

/** Unpacks answers. */
export function unpackAnswers({ texts, floats, floatsOf }: PackedAnswers): BatchAnswers {
  return unpackTexts(texts).map((json, i) =>
    json === '' ? null : { json, floats: floats[floatsOf[i]!]! },
  );
}

/** The answer at an index of packed answers; null if it is missing. */
export function answerAt(answers: PackedAnswers, at: number): HostAnswer | null {
  if (!hasAnswer(answers, at)) return null;
  return { json: textAt(answers.texts, at), floats: answers.floats[answers.floatsOf[at]!]! };
}

/** Answers of some batches, joined: of each batch, or null for a missing answer, the one at a place. */
export function gatherAnswers(
  batches: readonly (PackedAnswers | null)[],
  places: ArrayLike<number>,
): PackedAnswers {
  const table = new FloatsTable(batches.length);
  for (let i = 0; i < batches.length; i++) {
    const batch = batches[i]!;
    if (batch !== null && hasAnswer(batch, places[i]!))
      table.set(i, batch.floats[batch.floatsOf[places[i]!]!]);
  }
  const texts = batches.map((batch) => batch?.texts ?? null);
  return { texts: gatherTexts(texts, places), ...table.packed() };
}

/** Whether a call of a batch was answered. */
export function hasAnswer({ texts }: PackedAnswers, at: number): boolean {
  return lengthAt(texts, at) > 0;
}

/** The distinct `floats` of answers; most answers share them. */
class FloatsTable {
  readonly #numbers = new Map<HostAnswer['floats'], number>();
  readonly #floatsOf: Uint32Array;
  /** The last added `floats` and their number. */
  #last: HostAnswer['floats'] | undefined;
  #lastNumber = 0;

  constructor(answers: number) {
    this.#floatsOf = new Uint32Array(answers);
  }

  set(i: number, floats: HostAnswer['floats'] | undefined): void {
    if (floats === undefined) return;
    if (floats !== this.#last) {
      const number = this.#numbers.get(floats) ?? this.#numbers.size;
      this.#numbers.set(floats, number);
      this.#last = floats;
      this.#lastNumber = number;
    }
    this.#floatsOf[i] = this.#lastNumber;
  }

  packed(): Pick<PackedAnswers, 'floats' | 'floatsOf'> {
    return { floats: [...this.#numbers.keys()], floatsOf: this.#floatsOf };
  }
}
