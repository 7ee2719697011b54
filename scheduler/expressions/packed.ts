import { isAscii } from 'node:buffer';
import type { BatchAnswers, HostAnswer, PackedAnswers, PackedTexts } from './protocol.js';

/** An answer among those of a batch. */
export interface AnswerPlace {
  readonly answers: PackedAnswers;
  readonly at: number;
}

/** Joins texts, which have no lone surrogates. */
export function packTexts(texts: readonly string[]): PackedTexts {
  const all = texts.join('');
  const bytes = encoder.encode(all);
  const isPlain = bytes.length === all.length;
  const offsets = new Int32Array(texts.length + 1);
  for (let i = 0; i < texts.length; i++) {
    const text = texts[i]!;
    offsets[i + 1] = offsets[i]! + (isPlain ? text.length : Buffer.byteLength(text));
  }
  return { bytes, offsets };
}

/** The texts that were joined. */
export function unpackTexts({ bytes, offsets }: PackedTexts): string[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  // One text of all is cut much faster than each is decoded.
  const all = isAscii(buffer) ? buffer.toString('latin1') : null;
  const texts: string[] = [];
  for (let i = 0; i + 1 < offsets.length; i++) {
    const [from, to] = [offsets[i]!, offsets[i + 1]!];
    texts.push(all === null ? buffer.toString('utf8', from, to) : all.slice(from, to));
  }
  return texts;
}

/** Some of the texts that were joined, joined. */
export function gatherTexts(
  parts: readonly { readonly texts: PackedTexts; readonly at: number }[],
): PackedTexts {
  const offsets = new Int32Array(parts.length + 1);
  for (let i = 0; i < parts.length; i++) {
    const { texts, at } = parts[i]!;
    offsets[i + 1] = offsets[i]! + texts.offsets[at + 1]! - texts.offsets[at]!;
  }
  const bytes = new Uint8Array(offsets[parts.length]!);
  for (let i = 0; i < parts.length; i++) {
    const { texts, at } = parts[i]!;
    const end = texts.offsets[at + 1]!;
    // Texts are short: a loop is faster than `set`.
    for (let from = texts.offsets[at]!, to = offsets[i]!; from < end; from++, to++)
      bytes[to] = texts.bytes[from]!;
  }
  return { bytes, offsets };
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

/** The length of a text in bytes. */
export function lengthAt({ offsets }: PackedTexts, at: number): number {
  return offsets[at + 1]! - offsets[at]!;
}

const encoder = new TextEncoder();
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
