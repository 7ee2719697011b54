import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { SegmentFile } from '../../../engine/store/segment-file.js';
import { runToEnd } from '../../../engine/query/memory/cooperative-tasks.js';
import { bm25Weight } from '../../../engine/text/bm25.js';
import { ColumnMatcher } from '../../../engine/text/column-matcher.js';
import { ColumnReader } from '../../../engine/text/column-reader.js';
import { indexedName } from '../../../engine/text/index-writer.js';
import { foldTerm } from '../../../engine/text/fold.js';
import { searchRanked } from '../../../engine/text/ranked-search.js';
import type { RankedPage, RankedRow } from '../../../engine/text/ranking.js';
import { seededRandom, type Random } from '../../random.js';
import {
  column,
  openEngineFixture,
  type EngineFixture,
  type TestDataset,
  type TestRow,
} from '../query/dataset.js';
import { randomBelow, pickRandom } from './random-strings.js';
import { seed } from '../../seed.js';

let engineFixture: EngineFixture;
let dataset: TestDataset;
const pageCache = new Map<string, unknown>();
let textsBySegment: readonly (readonly (readonly string[] | null)[])[];

/** A vocabulary whose first three words are frequent in the texts. */
const vocabulary = ['often', 'many', 'some', ...Array.from({ length: 2000 }, (_, i) => `word${i}`)];

function randomTextValues(random: Random): readonly string[] | null {
  if (random() < 0.1) return null;
  // Texts with high scores are rare, and their blocks have no other high scores.
  if (random() < 0.01)
    return Array(3 + randomBelow(random, 6)).fill(pickRandom(random, vocabulary.slice(0, 3)));
  return Array.from({ length: 1 + randomBelow(random, pickRandom(random, [2, 7, 30])) }, () =>
    random() < 0.3 ? pickRandom(random, vocabulary.slice(0, 3)) : pickRandom(random, vocabulary),
  );
}

beforeAll(async () => {
  const nextRandom = seededRandom(seed);
  const someTexts = Array.from({ length: 60 }, () => randomTextValues(nextRandom));
  const similarTexts = vocabulary
    .slice(3, 1503)
    .map((word) => [...Array<string>(8).fill('often'), word]);
  const makeTexts = (rows: number, make: () => readonly string[] | null) =>
    Array.from({ length: rows }, make);
  textsBySegment = [
    makeTexts(50, () => randomTextValues(nextRandom)),
    makeTexts(4000, () => randomTextValues(nextRandom)),
    // More texts have the same score than the search keeps; in later segments, the row numbers of such texts are between those of earlier
    // segments.
    makeTexts(4000, () => pickRandom(nextRandom, similarTexts)),
    makeTexts(3000, () => pickRandom(nextRandom, someTexts)),
    [null],
    makeTexts(2500, () => randomTextValues(nextRandom)),
    makeTexts(2000, () => pickRandom(nextRandom, someTexts)),
    // Texts with similar scores, so that no block is better than another.
    makeTexts(1500, () => [
      pickRandom(nextRandom, ['often', 'often', 'word7']),
      pickRandom(nextRandom, vocabulary),
    ]),
  ];
  const rows = textsBySegment.map((segment) =>
    segment.map((words): TestRow => ({ t: words && words.join(' ') })),
  );
  engineFixture = await openEngineFixture();
  dataset = await engineFixture.newDataset([column('t', 'text')], rows);
});
afterAll(() => engineFixture.close());

/** Ranks all texts with a word by the textbook formula of BM25 (k1 1.2, b 0.75): the best first, ties in stored order. */
function naiveRanking(word: string): readonly RankedRow[] {
  const allTexts = textsBySegment.flatMap((segment, segmentNumber) =>
    segment.flatMap((words, row) => (words ? [{ words, segment: segmentNumber, row }] : [])),
  );
  const average = allTexts.reduce((sum, { words }) => sum + words.length, 0) / allTexts.length;
  const matchingTexts = allTexts.filter(({ words }) => words.includes(word));
  const rarity = Math.log(
    1 + (allTexts.length - matchingTexts.length + 0.5) / (matchingTexts.length + 0.5),
  );
  return matchingTexts
    .map(({ words, segment, row }) => {
      const occurrenceCount = words.filter((other) => other === word).length;
      const lengthWeight = 1.2 * (1 - 0.75 + (0.75 * words.length) / average);
      return {
        segment,
        row,
        score: (rarity * occurrenceCount * 2.2) / (occurrenceCount + lengthWeight),
      };
    })
    .sort(
      (a, b) =>
        (Math.abs(a.score - b.score) < 1e-9 ? 0 : b.score - a.score) ||
        a.segment - b.segment ||
        a.row - b.row,
    );
}

function rankedRows(word: string, page: RankedPage) {
  const matchers = dataset.snapshot.files.slice(1).map((path) => {
    const index = new SegmentFile({ path }).textIndex!;
    const location = index.columns.get(indexedName(['t']))!;
    return new ColumnMatcher(new ColumnReader(index, location, pageCache));
  });
  const sum = (of: (matcher: ColumnMatcher) => number) =>
    matchers.reduce((total, each) => total + of(each), 0);
  const terms = [foldTerm(word)];
  const phrase = { kind: 'phrase', terms } as const;
  const statistics = {
    records: sum(({ column: { summary } }) => summary.records),
    tokens: sum(({ column: { summary } }) => summary.words),
  };
  const weight = bm25Weight(
    statistics,
    sum((matcher) => matcher.countRowsWithPhrase(phrase)),
  );
  const query = { kind: 'and', items: [phrase] } as const;
  const segments = matchers.map((matcher, number) => ({ number, matcher: () => matcher }));
  return runToEnd(
    searchRanked(segments, { query, phrases: [{ terms, boost: 1, weight }], tier: 0, page }),
  );
}

describe(`the ranking of one word (STRANDLAKE_SEED=${seed})`, () => {
  test('is that of a naive model, wherever the page begins and however long it is', async () => {
    const nextRandom = seededRandom(seed + 1);
    for (let i = 0; i < 60; i++) {
      const word = pickRandom(nextRandom, [
        ...vocabulary.slice(0, 3),
        'word7',
        pickRandom(nextRandom, vocabulary),
      ]);
      const wholeRanking = naiveRanking(word);
      const limit = pickRandom(nextRandom, [0, 1, 10, 100, 700]);
      const offset = pickRandom(nextRandom, [
        0,
        0,
        5,
        randomBelow(nextRandom, wholeRanking.length + 10),
      ]);
      const { rows, total } = rankedRows(word, { after: undefined, offset, limit });
      const rowReferences = (list: readonly RankedRow[]) =>
        list.map(({ segment, row }) => [segment, row]);
      const expectedPage = wholeRanking.slice(offset, offset + limit);
      const askedPage = { word, offset, limit };
      expect({ ...askedPage, total, rowReferences: rowReferences(rows) }).toEqual({ ...askedPage, total: wholeRanking.length, rowReferences: rowReferences(expectedPage) }); // prettier-ignore
      for (const [at, { score }] of rows.entries())
        expect(score).toBeCloseTo(expectedPage[at]!.score, 9);
    }
  });

  test('goes on behind any of its rows', async () => {
    const nextRandom = seededRandom(seed + 2);
    for (const word of ['often', 'some', 'word7']) {
      const wholeRanking = naiveRanking(word);
      let after: RankedRow | undefined;
      for (let seenCount = 0; seenCount < Math.min(wholeRanking.length, 3000);) {
        const limit = 1 + randomBelow(nextRandom, 400);
        const { rows } = rankedRows(word, { after, offset: 0, limit });
        const expectedPage = wholeRanking.slice(seenCount, seenCount + limit);
        expect(rows.map(({ segment, row }) => [word, seenCount, segment, row])).toEqual(
          expectedPage.map(({ segment, row }) => [word, seenCount, segment, row]),
        );
        after = rows.at(-1);
        seenCount += limit;
      }
    }
  });
});
