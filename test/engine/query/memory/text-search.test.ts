import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readdirSync, readlinkSync } from 'node:fs';
import { bm25Weight } from '../../../../engine/text/bm25.js';
import { foldTerm } from '../../../../engine/text/fold.js';
import { Shard } from '../../../../engine/query/memory/shard.js';
import { isUnsupported } from '../../../../engine/query/unsupported.js';
import { column, openBench, type Bench, type Dataset } from '../dataset.js';

const field = { name: 't', path: ['t'], type: 'text' } as const;
const searchWords = ['breast', 'cancer', 'ovarian'];
/** More files than a cache keeps footers for. */
const segments = 520;

let bench: Bench;
let dataset: Dataset;
beforeAll(async () => {
  bench = await openBench();
  const rows = Array.from({ length: segments }, (_, i) => [{ t: `${searchWords[i % 3]} cancer` }]);
  dataset = await bench.dataset([column('t', 'text')], rows);
});
afterAll(() => bench.close());

/** The files of the dataset that this process has open. */
function openFiles(): readonly string[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`);
      return path.startsWith(bench.folder) && path.endsWith('.parquet') ? [path] : [];
    } catch {
      return []; // the descriptor by which the folder was read
    }
  });
}

/** Carries out work to its end; wherever it may be interrupted, no file may be open. */
function runWatched<T>(work: Generator<void, T>): T {
  for (let step = work.next(); ; step = work.next()) {
    expect(openFiles()).toEqual([]);
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
    shard.learn({
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
      const known = runWatched(shard.frequencies({ snapshot: 1, field, phrases: [terms] }));
      if (isUnsupported(known)) throw new Error(known.unsupported);
      const matching = Math.ceil(segments / 3);
      expect(known).toEqual({ records: segments, tokens: 2 * segments, found: [matching] });
      const phrases = [{ terms, boost: 1, weight: bm25Weight(known, known.found[0]!) }];
      const page = { after: undefined, offset: 0, limit: 1000 };
      const query = { kind: 'phrase', terms } as const;
      const found = runWatched(shard.search({ snapshot: 1, field, query, phrases, tier: 0, page }));
      if (isUnsupported(found)) throw new Error(found.unsupported);
      expect(found.total).toBe(matching);
      expect(found.rows.map(({ segment, row }) => [segment, row])).toEqual(
        Array.from({ length: matching }, (__, i) => [3 * i, 0]),
      );
    }
    shard.close();
  });
});
