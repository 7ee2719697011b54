import { expect, test } from '@jest/globals';
import { dataViewOf } from '../../../engine/core/buffers.js';
import {
  gatherStrings,
  packLiterals,
  packStrings,
  unpackStrings,
} from '../../../engine/core/packed-strings.js';
import {
  gatherAnswers,
  packAnswers,
  unpackAnswers,
} from '../../../scheduler/expressions/packed-answers.js';
import { ValueTable } from '../../../scheduler/expressions/columns/value-table.js';
import { seededRandom } from '../../random.js';
import { seed } from '../../seed.js';

const randomNumber = seededRandom(seed);
const randomBelow = (limit: number): number => Math.floor(randomNumber() * limit);
const pickRandom = <T>(values: readonly T[]): T => values[randomBelow(values.length)]!;
const sampleWords = ['', 'a', 'ab', 'abc', 'abcd', 'abcde', 'ü', '😀', 'a\n', '"', '[1]'];
const randomText = (): string =>
  Array.from({ length: randomBelow(3) }, () => pickRandom(sampleWords)).join('');

test(`texts come out as they went in, all and some (seed ${seed})`, () => {
  for (let round = 0; round < 200; round++) {
    const texts = Array.from({ length: randomBelow(20) }, randomText);
    const packedStrings = structuredClone(packStrings(texts));
    expect(unpackStrings(packedStrings)).toEqual(texts);
    const someIndices = texts.flatMap((_, at) => (randomNumber() < 0.5 ? [at] : []));
    const gatheredStrings = gatherStrings(
      [null, ...someIndices.map(() => packedStrings)],
      [0, ...someIndices],
    );
    expect(unpackStrings(gatheredStrings)).toEqual(['', ...someIndices.map((at) => texts[at])]);
    const literals = unpackStrings(packLiterals(packedStrings, someIndices));
    expect(literals).toEqual(someIndices.map((at) => JSON.stringify(texts[at])));
  }
});

test('answers come out as they went in, and some of several batches', () => {
  const floats = [[], [['a', 'b']], [[]]];
  const answer = () =>
    randomNumber() < 0.2 ? null : { json: `"${randomText()}"`, floats: pickRandom(floats) };
  for (let round = 0; round < 200; round++) {
    const batches = Array.from({ length: 3 }, () => Array.from({ length: 5 }, answer));
    const packedBatches = batches.map((batch) => structuredClone(packAnswers(batch)));
    expect(packedBatches.map(unpackAnswers)).toEqual(batches);
    const places = Array.from({ length: 8 }, () => [randomBelow(3), randomBelow(5)] as const);
    const gatheredAnswers = gatherAnswers([null, ...places.map(([b]) => packedBatches[b]!)], [0, ...places.map(([, at]) => at)]); // prettier-ignore
    expect(unpackAnswers(gatheredAnswers)).toEqual([
      null,
      ...places.map(([b, at]) => batches[b]![at]),
    ]);
  }
});

test('a table gives equal lists of texts equal indices, over several chunks', () => {
  const table = new ValueTable();
  const knownIndices = new Map<string, number>();
  for (let chunk = 0; chunk < 20; chunk++) {
    const texts = Array.from({ length: 300 }, randomText);
    const { bytes, offsets } = packStrings(texts);
    const view = dataViewOf(bytes);
    for (let from = 0; from < texts.length; from++) {
      const to = Math.min(texts.length, from + randomBelow(3));
      const key = JSON.stringify(texts.slice(from, to));
      const index = table.addValue(view, offsets, from, to);
      if (!knownIndices.has(key)) knownIndices.set(key, knownIndices.size + 1);
      expect([key, index]).toEqual([key, knownIndices.get(key)]);
    }
  }
  expect(table.size).toBe(knownIndices.size);
  const { bytes, offsets } = packStrings(['a text that is not there', '\u0000', 'abcdefgh']);
  const view = dataViewOf(bytes);
  expect([0, 1, 2].map((at) => table.findValueIndex(view, offsets, at, at + 1))).toEqual([0, 0, 0]);
  expect(table.size).toBe(knownIndices.size);
});
