import { tableFromIPC } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseQuery } from '../../../engine/query/request/query-request.js';
import { runPage, runQuery } from '../../../engine/query/plan/run-query.js';
import { foldTerm } from '../../../engine/text/fold.js';
import {
  indexMagic,
  indexTrailerBytes,
  type IndexSummary,
} from '../../../engine/text/index-writer.js';
import { tokenize } from '../../../engine/text/text-tokenizer.js';
import { seededRandom, type Random } from '../../random.js';
import { readPageBytes, column, openEngineFixture, type EngineFixture, type TestDataset, type TestRow } from '../query/dataset.js'; // prettier-ignore
import { randomBelow, pickRandom, randomText, randomWord } from './random-strings.js';
import { seed } from '../../seed.js';

const columns = [
  column('t', 'text'),
  column('n', 'integer'),
  column('s', 'string'),
  column('o', 'object', [column('n', 'integer'), column('t', 'text')]),
];

let engineFixture: EngineFixture;
let indexedDataset: TestDataset;
/** The records of `indexedDataset`, in files from which the text index has been removed. */
let scannedDataset: TestDataset;
let records: readonly TestRow[];

beforeAll(async () => {
  engineFixture = await openEngineFixture(0);
  const nextRandom = seededRandom(seed);
  const rowOf = (text: string | null): TestRow => ({
    t: text,
    n: randomBelow(nextRandom, 4),
    s: randomWord(nextRandom),
    o: pickRandom(nextRandom, [null, { n: 1 }, { t: text }, { n: 2, t: text }]),
  });
  const sharedTexts = Array.from({ length: 40 }, () => randomText(nextRandom));
  const segments = [
    Array.from({ length: 300 }, () => rowOf(randomText(nextRandom))),
    Array.from({ length: 5000 }, () => rowOf(pickRandom(nextRandom, sharedTexts))),
    [rowOf(null)],
    Array.from({ length: 200 }, () => rowOf(randomText(nextRandom))),
  ];
  records = segments.flat();
  indexedDataset = await engineFixture.newDataset(columns, segments);
  scannedDataset = withoutIndex(indexedDataset);
});
afterAll(() => engineFixture.close());

/** Returns a dataset of the same records, in files from which the text index has been removed. */
function withoutIndex({ snapshot, fields }: TestDataset): TestDataset {
  const datasetFolder = join(engineFixture.folder, 'datasets', '999');
  mkdirSync(datasetFolder);
  const files = snapshot.files.map((file, i) => {
    const path = join(datasetFolder, `${i}.parquet`);
    writeFileSync(path, cutTextIndex(readFileSync(file)));
    return path;
  });
  const otherChecksums = { checksum: 'other', blockChecksums: undefined };
  const segments = snapshot.segments.map((segment) => ({ ...segment, ...otherChecksums }));
  return { fields, snapshot: { ...snapshot, datasetId: 999, files, segments } };
}

function cutTextIndex(file: Buffer): Buffer {
  const footerStart = file.length - 8 - file.readUInt32LE(file.length - 8);
  if (file.readUInt32LE(footerStart - 4) !== indexMagic) return file;
  const summaryStart =
    footerStart - indexTrailerBytes - file.readUInt32LE(footerStart - indexTrailerBytes);
  const { bytes } = JSON.parse(
    file.subarray(summaryStart, footerStart - indexTrailerBytes).toString(),
  ) as IndexSummary;
  return Buffer.concat([file.subarray(0, summaryStart - bytes), file.subarray(footerStart)]);
}

type RequestBody = Readonly<Record<string, unknown>>;

async function runRankedQuery(
  body: RequestBody,
  dataset: TestDataset,
): Promise<{ ids: string[]; total: number }> {
  const request = parseQuery({ fields: ['_id'], ...body }, dataset.fields);
  const { results, total } = await runQuery(
    engineFixture.engine,
    dataset.snapshot,
    dataset.fields,
    request,
  );
  return { ids: (JSON.parse(results) as { _id: string }[]).map(({ _id }) => _id), total };
}

/** Returns the ids of the results on all pages that a cursor gives. */
async function readAllPages(
  body: RequestBody,
  dataset: TestDataset,
  limit: number,
): Promise<string[]> {
  const ids: string[] = [];
  let cursor: { after: never; total: number | null; seen: number } | undefined = { after: null as never, total: null, seen: 0 }; // prettier-ignore
  while (cursor) {
    const request = { ...parseQuery({ fields: ['_id'], ...body, limit }, dataset.fields), cursor };
    const page = await runQuery(engineFixture.engine, dataset.snapshot, dataset.fields, request);
    ids.push(...(JSON.parse(page.results) as { _id: string }[]).map(({ _id }) => _id));
    cursor = page.position
      ? { after: page.position as never, total: page.total, seen: ids.length }
      : undefined;
  }
  return ids;
}

/** Returns a random phrase of at most `most` words without quotes and backslashes, so that it can be quoted. */
function quotablePhrase(random: Random, most: number): string {
  const words = Array.from({ length: 1 + randomBelow(random, most) }, () => randomWord(random));
  return words.join(' ').replaceAll(/[\\"]/g, '');
}

function randomBody(random: Random): RequestBody {
  const field = pickRandom(random, ['t', 'o.t']);
  const phrase = (): string => `${field}:"${quotablePhrase(random, 3)}"`;
  switch (randomBelow(random, 7)) {
    case 0:
      return { filters: [[field, quotablePhrase(random, 1)]] };
    case 1:
      return { filters: [[`${field}__contains`, quotablePhrase(random, 3)]] };
    case 2:
      return { query: phrase() };
    case 3:
      return { query: `${phrase()} OR ${phrase()}^3` };
    case 4:
      return { query: `${phrase()} AND NOT ${phrase()}` };
    case 5:
      return { query: `+${phrase()} ${phrase()}`, filters: [[field, quotablePhrase(random, 1)]] };
    default:
      return { query: phrase(), filters: [['n', randomBelow(random, 4)]] };
  }
}

describe(`the index of terms (STRANDLAKE_SEED=${seed})`, () => {
  test('finds the records that a scan finds, in the same order', async () => {
    const nextRandom = seededRandom(seed + 1);
    let foundCount = 0;
    for (let i = 0; i < 150; i++) {
      const body = randomBody(nextRandom);
      const page = {
        limit: randomBelow(nextRandom, 60),
        offset: randomBelow(nextRandom, 4) === 0 ? randomBelow(nextRandom, 200) : 0,
      };
      const actualAnswer = {
        body,
        ...(await runRankedQuery({ ...body, ...page }, indexedDataset)),
      };
      expect(actualAnswer).toEqual({
        body,
        ...(await runRankedQuery({ ...body, ...page }, scannedDataset)),
      });
      foundCount += actualAnswer.total > 0 ? 1 : 0;
    }
    expect(foundCount).toBeGreaterThan(40);
  });

  test('is walked in pages that come to the whole, whatever their size', async () => {
    const nextRandom = seededRandom(seed + 2);
    for (const body of [{ filters: [['t', 'cancer']] }, { query: 't:(Breast OR type OR ß)' }]) {
      const wholeIds = (await runRankedQuery({ ...body, limit: 10_000 }, indexedDataset)).ids;
      expect(wholeIds.length).toBeGreaterThan(0);
      expect(await readAllPages(body, indexedDataset, 50 + randomBelow(nextRandom, 900))).toEqual(
        wholeIds,
      );
    }
  });

  test('gives lines and typed values in the same order, and none where nothing is found', async () => {
    for (const words of ['cancer', 'nowhere']) {
      const requestBody = { filters: [['t', words]], fields: ['_id'], limit: 20 };
      const { snapshot, fields } = indexedDataset;
      const request = parseQuery(requestBody, fields);
      const { ids, total } = await runRankedQuery(requestBody, indexedDataset);
      expect(ids).toHaveLength(words === 'cancer' ? 20 : 0);
      const text = await runPage(engineFixture.engine, snapshot, fields, request, 'csv');
      expect((await readPageBytes(text.results)).toString().split('\r\n').slice(1, -1)).toEqual(
        ids,
      );
      const arrow = await runPage(engineFixture.engine, snapshot, fields, request, 'arrow');
      expect(
        [...(tableFromIPC(await readPageBytes(arrow.results)).getChild('_id') ?? [])].map(String),
      ).toEqual(ids);
      expect([text.total, arrow.total]).toEqual([total, total]);
    }
  });

  test('ranks by BM25 as a loop over the records does', async () => {
    for (const words of ['cancer', 'cancer breast', 'of the', 'ß']) {
      const actualAnswer = await runRankedQuery(
        { filters: [['t', words]], limit: 10_000 },
        indexedDataset,
      );
      expect(actualAnswer.ids).toEqual(naiveRanking(words));
    }
  });
});

/** Returns the ids of the records that contain all of some words, ranked by the formula of BM25 (k1 1.2, b 0.75). */
function naiveRanking(words: string): string[] {
  const foldedWords = (text: string): string[] => tokenize(text).map((word) => Buffer.from(foldTerm(word)).toString()); // prettier-ignore
  const terms = foldedWords(words);
  const texts = records.map(({ t }) => (t === null ? null : foldedWords(t as string)));
  const textsPresent = texts.filter((text) => text !== null);
  const average = textsPresent.reduce((sum, text) => sum + text.length, 0) / textsPresent.length;
  const scores = texts.map((text) => {
    let score = 0;
    for (const term of terms) {
      const frequency = text?.filter((word) => word === term).length ?? 0;
      if (frequency === 0) return null;
      const documentCount = textsPresent.filter((other) => other.includes(term)).length;
      const idf = Math.log(1 + (textsPresent.length - documentCount + 0.5) / (documentCount + 0.5));
      const length = text!.length / average;
      score += (idf * frequency * 2.2) / (frequency + 1.2 * (0.25 + 0.75 * length));
    }
    return score;
  });
  const ids = indexedDataset.snapshot.segments.flatMap(({ rows }, segment) =>
    Array.from({ length: rows }, (_, row) => `0000000001${segment.toString(36).padStart(4, '0')}${row.toString(36).padStart(5, '0')}`),
  ); // prettier-ignore
  return ids
    .map((id, i) => ({ id, i, score: scores[i] ?? null }))
    .filter(({ score }) => score !== null)
    .sort((a, b) => Math.round((b.score! - a.score!) * 1e9) || a.i - b.i)
    .map(({ id }) => id);
}
