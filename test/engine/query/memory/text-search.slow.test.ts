import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readdirSync, readlinkSync } from 'node:fs';
import { bm25Weight } from '../../../../engine/text/bm25.js';
import { foldTerm } from '../../../../engine/text/fold.js';
import { Shard } from '../../../../engine/query/memory/shard.js';
import { isUnsupported } from '../../../../engine/query/unsupported.js';
import { column, openEngineFixture, type EngineFixture, type TestDataset } from '../dataset.js';

const textField = { name: 't', path: ['t'], type: 'text' } as const;
const searchWords = ['breast', 'cancer', 'ovarian'];
/** The number of segments, each of which is a file with one record. */
const segmentCount = 520;

let engineFixture: EngineFixture;
let dataset: TestDataset;
beforeAll(async () => {
  engineFixture = await openEngineFixture();
  const rows = Array.from({ length: segmentCount }, (_, i) => [
    { t: `${searchWords[i % 3]} cancer` },
  ]);
  dataset = await engineFixture.newDataset([column('t', 'text')], rows);
});
afterAll(() => engineFixture.close());

/** Returns the paths of the dataset's files that this process has open; none on other systems than Linux. */
function openDatasetFiles(): readonly string[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`);
      return path.startsWith(engineFixture.folder) && path.endsWith('.parquet') ? [path] : [];
    } catch {
      return []; // the descriptor was only open for reading the folder
    }
  });
}

/** Runs work to its end, and expects that no file is open at any point where the work may be interrupted. */
function runWithoutOpenFiles<T>(work: Generator<void, T>): T {
  for (let step = work.next(); ; step = work.next()) {
    expect(openDatasetFiles()).toEqual([]);
    if (step.done) return step.value;
  }
}

describe('a search of texts in a shard', () => {
  test.each([
    ['a cache', 16 << 20],
    ['a cache without room', 0],
  ])('finds all matches with %s, in more files than stay open', (_, bytes) => {
    const shard = new Shard(bytes);
    const { snapshot } = dataset;
    shard.addSnapshot({
      key: 1,
      datasetId: 1,
      columns: snapshot.columns,
      segments: snapshot.segments.map(({ rows }, number) => ({
        number,
        rows,
        path: snapshot.files[number + 1]!,
        areVariantsPlaced: false,
      })),
    });
    for (let round = 0; round < 2; round++) {
      const terms = [foldTerm('breast')];
      const frequencies = runWithoutOpenFiles(
        shard.frequencies({ snapshot: 1, field: textField, phrases: [{ terms }] }),
      );
      if (isUnsupported(frequencies)) throw new Error(frequencies.unsupported);
      const matchCount = Math.ceil(segmentCount / 3);
      expect(frequencies).toEqual({
        records: segmentCount,
        tokens: 2 * segmentCount,
        recordCounts: [matchCount],
      });
      const phrases = [
        { terms, boost: 1, weight: bm25Weight(frequencies, frequencies.recordCounts[0]!) },
      ];
      const page = { after: undefined, offset: 0, limit: 1000 };
      const query = { kind: 'phrase', terms } as const;
      const searchResult = runWithoutOpenFiles(
        shard.search({ snapshot: 1, field: textField, query, phrases, tier: 0, page }),
      );
      if (isUnsupported(searchResult)) throw new Error(searchResult.unsupported);
      expect(searchResult.total).toBe(matchCount);
      expect(searchResult.rows.map(({ segment, row }) => [segment, row])).toEqual(
        Array.from({ length: matchCount }, (__, i) => [3 * i, 0]),
      );
    }
    shard.close();
  });
});
