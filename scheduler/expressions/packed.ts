import type { BatchAnswers, HostAnswer } from './protocol.js';

/** Many texts as plain data that is quickly sent from thread to thread: as one text, and where each of them ends. */
export interface PackedTexts {
  readonly all: string;
  readonly ends: Uint32Array;
}

/** `BatchAnswers` as plain data that is quickly sent. */
export interface PackedAnswers {
  /** The JSON texts; empty ones for null. */
  readonly texts: PackedTexts;
  /** The different `floats` of the answers, and for each answer the number of its own. */
  readonly floats: readonly HostAnswer['floats'][];
  readonly floatsOf: Uint32Array;
}

/** Joins texts. */
export function packTexts(texts: readonly string[]): PackedTexts {
  const ends = new Uint32Array(texts.length);
  let end = 0;
  for (let i = 0; i < texts.length; i++) ends[i] = end += texts[i]!.length;
  return { all: texts.join(''), ends };
}

/** The texts that were joined. */
export function unpackTexts({ all, ends }: PackedTexts): string[] {
  const texts: string[] = [];
  let from = 0;
  for (let i = 0; i < ends.length; i++) {
    texts.push(all.slice(from, ends[i]));
    from = ends[i]!;
  }
  return texts;
}

/** Joins answers. */
export function packAnswers(answers: BatchAnswers): PackedAnswers {
  const known = new Map<HostAnswer['floats'], number>();
  const floatsOf = new Uint32Array(answers.length);
  for (let i = 0; i < answers.length; i++) {
    const answer = answers[i]!;
    if (answer === null) continue;
    const number = known.get(answer.floats) ?? known.size;
    if (number === known.size) known.set(answer.floats, number);
    floatsOf[i] = number;
  }
  const texts = packTexts(answers.map((answer) => answer?.json ?? ''));
  return { texts, floats: [...known.keys()], floatsOf };
}

/** The answers that were joined. */
export function unpackAnswers({ texts, floats, floatsOf }: PackedAnswers): BatchAnswers {
  return unpackTexts(texts).map((json, i) =>
    json === '' ? null : { json, floats: floats[floatsOf[i]!]! },
  );
}
