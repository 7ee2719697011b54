import { expect, test } from '@jest/globals';
import {
  gatherTexts,
  packLiterals,
  packTexts,
  unpackTexts,
} from '../../../engine/core/packed-texts.js';
import {
  gatherAnswers,
  packAnswers,
  unpackAnswers,
} from '../../../scheduler/expressions/packed.js';
import { ValueTable } from '../../../scheduler/expressions/value-table.js';
import { random } from '../../random.js';
import { seed } from '../../seed.js';

const next = random(seed);
const below = (limit: number): number => Math.floor(next() * limit);
const pick = <T>(values: readonly T[]): T => values[below(values.length)]!;
const words = ['', 'a', 'ab', 'abc', 'abcd', 'abcde', 'ü', '😀', 'a\n', '"', '[1]'];
const text = (): string => Array.from({ length: below(3) }, () => pick(words)).join('');

test(`texts come out as they went in, all and some (seed ${seed})`, () => {
  for (let round = 0; round < 200; round++) {
    const texts = Array.from({ length: below(20) }, text);
    const packed = structuredClone(packTexts(texts));
    expect(unpackTexts(packed)).toEqual(texts);
    const some = texts.flatMap((_, at) => (next() < 0.5 ? [at] : []));
    const gathered = gatherTexts([null, ...some.map(() => packed)], [0, ...some]);
    expect(unpackTexts(gathered)).toEqual(['', ...some.map((at) => texts[at])]);
    const literals = unpackTexts(packLiterals(packed, some));
    expect(literals).toEqual(some.map((at) => JSON.stringify(texts[at])));
  }
});

test('answers come out as they went in, and some of several batches', () => {
  const floats = [[], [['a', 'b']], [[]]];
  const answer = () => (next() < 0.2 ? null : { json: `"${text()}"`, floats: pick(floats) });
  for (let round = 0; round < 200; round++) {
    const batches = Array.from({ length: 3 }, () => Array.from({ length: 5 }, answer));
    const packed = batches.map((batch) => structuredClone(packAnswers(batch)));
    expect(packed.map(unpackAnswers)).toEqual(batches);
    const places = Array.from({ length: 8 }, () => [below(3), below(5)] as const);
    const gathered = gatherAnswers([null, ...places.map(([b]) => packed[b]!)], [0, ...places.map(([, at]) => at)]); // prettier-ignore
    expect(unpackAnswers(gathered)).toEqual([null, ...places.map(([b, at]) => batches[b]![at])]);
  }
});

test('a table gives equal lists of texts equal codes, over several chunks', () => {
  const table = new ValueTable();
  const known = new Map<string, number>();
  for (let chunk = 0; chunk < 20; chunk++) {
    const texts = Array.from({ length: 300 }, text);
    const { bytes, offsets } = packTexts(texts);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    for (let from = 0; from < texts.length; from++) {
      const to = Math.min(texts.length, from + below(3));
      const key = JSON.stringify(texts.slice(from, to));
      const code = table.code(view, offsets, from, to);
      if (!known.has(key)) known.set(key, known.size + 1);
      expect([key, code]).toEqual([key, known.get(key)]);
    }
  }
  expect(table.size).toBe(known.size);
  const { bytes, offsets } = packTexts(['a text that is not there', '\u0000', 'abcdefgh']);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  expect([0, 1, 2].map((at) => table.find(view, offsets, at, at + 1))).toEqual([0, 0, 0]);
  expect(table.size).toBe(known.size);
});
