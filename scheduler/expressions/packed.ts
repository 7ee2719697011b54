import {
  gatherTexts,
  lengthAt,
  packTexts,
  unpackTexts,
  type PackedTexts,
} from '../../engine/core/packed-texts.js';
import type { BatchAnswers, HostAnswer, PackedAnswers } from './protocol.js';

/** An answer among those of a batch. */
export interface AnswerPlace {
  readonly answers: PackedAnswers;
  readonly at: number;
}

/** Joins answers. */
export function packAnswers(answers: BatchAnswers): PackedAnswers {
  const table = new FloatsTable(answers.length);
  for (let i = 0; i < answers.length; i++) table.set(i, answers[i]?.floats);
  return { texts: packTexts(answers.map((answer) => answer?.json ?? '')), ...table.packed() };
}

/** The answers that were joined. */
export function unpackAnswers({ texts, floats, floatsOf }: PackedAnswers): BatchAnswers {
  return unpackTexts(texts).map((json, i) =>
    json === '' ? null : { json, floats: floats[floatsOf[i]!]! },
  );
}

/** Some answers of batches, joined; null for answers that are missing. */
export function gatherAnswers(places: readonly (AnswerPlace | null)[]): PackedAnswers {
  const table = new FloatsTable(places.length);
  const parts = places.map((place, i) => {
    if (place === null || !hasAnswer(place)) return { texts: noText, at: 0 };
    const { answers, at } = place;
    table.set(i, answers.floats[answers.floatsOf[at]!]);
    return { texts: answers.texts, at };
  });
  return { texts: gatherTexts(parts), ...table.packed() };
}

/** Whether a call of a batch was answered. */
export function hasAnswer({ answers: { texts }, at }: AnswerPlace): boolean {
  return lengthAt(texts, at) > 0;
}

const noText: PackedTexts = { bytes: new Uint8Array(0), offsets: new Int32Array(2) };

/** The different `floats` of answers, which most of them share. */
class FloatsTable {
  readonly #numbers = new Map<HostAnswer['floats'], number>();
  readonly #floatsOf: Uint32Array;

  constructor(answers: number) {
    this.#floatsOf = new Uint32Array(answers);
  }

  set(i: number, floats: HostAnswer['floats'] | undefined): void {
    if (floats === undefined) return;
    const number = this.#numbers.get(floats) ?? this.#numbers.size;
    if (number === this.#numbers.size) this.#numbers.set(floats, number);
    this.#floatsOf[i] = number;
  }

  packed(): Pick<PackedAnswers, 'floats' | 'floatsOf'> {
    return { floats: [...this.#numbers.keys()], floatsOf: this.#floatsOf };
  }
}
