import { tableFromIPC } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseQuery } from '../../../engine/query/request/request.js';
import { runPage, runQuery } from '../../../engine/query/plan/query.js';
import { foldTerm } from '../../../engine/text/fold.js';
import {
  indexMagic,
  indexTailBytes,
  type IndexSummary,
} from '../../../engine/text/index-writer.js';
import { tokenize } from '../../../engine/text/tokenizer.js';
import { random, type Random } from '../../random.js';
import { bytesOf, column, openBench, type Bench, type Dataset, type TestRow } from '../query/dataset.js'; // prettier-ignore
import { below, pick, randomText, randomWord } from './random-strings.js';
import { seed } from '../../seed.js';

const columns = [
  column('t', 'text'),
  column('n', 'integer'),
  column('s', 'string'),
  column('o', 'object', [column('n', 'integer'), column('t', 'text')]),
];

let bench: Bench;
let indexed: Dataset;
/** The same records in files of another writer, which makes no index. */
let scanned: Dataset;
let records: readonly TestRow[];

beforeAll(async () => {
  bench = await openBench(0);
  const one = random(seed);
  const row = (text: string | null): TestRow => ({
    t: text,
    n: below(one, 4),
    s: randomWord(one),
    o: pick(one, [null, { n: 1 }, { t: text }, { n: 2, t: text }]),
  });
  const shared = Array.from({ length: 40 }, () => randomText(one));
  const segments = [
    Array.from({ length: 300 }, () => row(randomText(one))),
    Array.from({ length: 5000 }, () => row(pick(one, shared))),
    [row(null)],
    Array.from({ length: 200 }, () => row(randomText(one))),
  ];
  records = segments.flat();
  indexed = await bench.dataset(columns, segments);
  scanned = withoutIndex(indexed);
});
afterAll(() => bench.close());

/** The same records in files from which the text index is cut out. */
function withoutIndex({ snapshot, fields }: Dataset): Dataset {
  const home = join(bench.folder, 'datasets', '999');
  mkdirSync(home);
  const files = snapshot.files.map((file, i) => {
    const path = join(home, `${i}.parquet`);
    writeFileSync(path, cutIndex(readFileSync(file)));
    return path;
  });
  const others = { checksum: 'other', blockChecksums: undefined };
  const segments = snapshot.segments.map((segment) => ({ ...segment, ...others }));
  return { fields, snapshot: { ...snapshot, datasetId: 999, files, segments } };
}

function cutIndex(file: Buffer): Buffer {
  const footer = file.length - 8 - file.readUInt32LE(file.length - 8);
  if (file.readUInt32LE(footer - 4) !== indexMagic) return file;
  const summary = footer - indexTailBytes - file.readUInt32LE(footer - indexTailBytes);
  const { bytes } = JSON.parse(
    file.subarray(summary, footer - indexTailBytes).toString(),
  ) as IndexSummary;
  return Buffer.concat([file.subarray(0, summary - bytes), file.subarray(footer)]);
}

type Body = Readonly<Record<string, unknown>>;

async function ask(body: Body, of: Dataset): Promise<{ ids: string[]; total: number }> {
  const request = parseQuery({ fields: ['_id'], ...body }, of.fields);
  const { results, total } = await runQuery(bench.engine, of.snapshot, of.fields, request);
  return { ids: (JSON.parse(results) as { _id: string }[]).map(({ _id }) => _id), total };
}

/** The results of all pages of a cursor. */
async function walk(body: Body, of: Dataset, limit: number): Promise<string[]> {
  const ids: string[] = [];
  let at: { after: never; total: number | null; seen: number } | undefined = { after: null as never, total: null, seen: 0 }; // prettier-ignore
  while (at) {
    const request = { ...parseQuery({ fields: ['_id'], ...body, limit }, of.fields), cursor: at };
    const page = await runQuery(bench.engine, of.snapshot, of.fields, request);
    ids.push(...(JSON.parse(page.results) as { _id: string }[]).map(({ _id }) => _id));
    at = page.position
      ? { after: page.position as never, total: page.total, seen: ids.length }
      : undefined;
  }
  return ids;
}

/** The terms from which queries are built. */
function quoted(random: Random, most: number): string {
  const list = Array.from({ length: 1 + below(random, most) }, () => randomWord(random));
  return list.join(' ').replaceAll(/[\\"]/g, '');
}

function randomBody(random: Random): Body {
  const field = pick(random, ['t', 'o.t']);
  const phrase = (): string => `${field}:"${quoted(random, 3)}"`;
  switch (below(random, 7)) {
    case 0:
      return { filters: [[field, quoted(random, 1)]] };
    case 1:
      return { filters: [[`${field}__contains`, quoted(random, 3)]] };
    case 2:
      return { query: phrase() };
    case 3:
      return { query: `${phrase()} OR ${phrase()}^3` };
    case 4:
      return { query: `${phrase()} AND NOT ${phrase()}` };
    case 5:
      return { query: `+${phrase()} ${phrase()}`, filters: [[field, quoted(random, 1)]] };
    default:
      return { query: phrase(), filters: [['n', below(random, 4)]] };
  }
}

describe(`the index of terms (STRANDLAKE_SEED=${seed})`, () => {
  test('finds the records that a scan finds, in the same order', async () => {
    const one = random(seed + 1);
    let found = 0;
    for (let i = 0; i < 150; i++) {
      const body = randomBody(one);
      const page = { limit: below(one, 60), offset: below(one, 4) === 0 ? below(one, 200) : 0 };
      const got = { body, ...(await ask({ ...body, ...page }, indexed)) };
      expect(got).toEqual({ body, ...(await ask({ ...body, ...page }, scanned)) });
      found += got.total > 0 ? 1 : 0;
    }
    expect(found).toBeGreaterThan(40);
  });

  test('is walked in pages that come to the whole, whatever their size', async () => {
    const one = random(seed + 2);
    for (const body of [{ filters: [['t', 'cancer']] }, { query: 't:(Breast OR type OR ß)' }]) {
      const whole = (await ask({ ...body, limit: 10_000 }, indexed)).ids;
      expect(whole.length).toBeGreaterThan(0);
      expect(await walk(body, indexed, 50 + below(one, 900))).toEqual(whole);
    }
  });

  test('gives lines and typed values in the same order, and none where nothing is found', async () => {
    for (const wanted of ['cancer', 'nowhere']) {
      const asked = { filters: [['t', wanted]], fields: ['_id'], limit: 20 };
      const { snapshot, fields } = indexed;
      const request = parseQuery(asked, fields);
      const { ids, total } = await ask(asked, indexed);
      expect(ids).toHaveLength(wanted === 'cancer' ? 20 : 0);
      const text = await runPage(bench.engine, snapshot, fields, request, 'csv');
      expect((await bytesOf(text.body)).toString().split('\r\n').slice(1, -1)).toEqual(ids);
      const arrow = await runPage(bench.engine, snapshot, fields, request, 'arrow');
      expect(
        [...(tableFromIPC(await bytesOf(arrow.body)).getChild('_id') ?? [])].map(String),
      ).toEqual(ids);
      expect([text.total, arrow.total]).toEqual([total, total]);
    }
  });

  test('ranks by BM25 as a loop over the records does', async () => {
    for (const wanted of ['cancer', 'cancer breast', 'of the', 'ß']) {
      const got = await ask({ filters: [['t', wanted]], limit: 10_000 }, indexed);
      expect(got.ids).toEqual(naive(wanted));
    }
  });
});

/** BM25 (k1 1.2, b 0.75) of all words over all records, read from the formula. */
function naive(wanted: string): string[] {
  const folded = (text: string): string[] => tokenize(text).map((word) => Buffer.from(foldTerm(word)).toString()); // prettier-ignore
  const terms = folded(wanted);
  const texts = records.map(({ t }) => (t === null ? null : folded(t as string)));
  const present = texts.filter((text) => text !== null);
  const average = present.reduce((sum, text) => sum + text.length, 0) / present.length;
  const scores = texts.map((text) => {
    let score = 0;
    for (const term of terms) {
      const frequency = text?.filter((word) => word === term).length ?? 0;
      if (frequency === 0) return null;
      const documents = present.filter((other) => other.includes(term)).length;
      const idf = Math.log(1 + (present.length - documents + 0.5) / (documents + 0.5));
      const length = text!.length / average;
      score += (idf * frequency * 2.2) / (frequency + 1.2 * (0.25 + 0.75 * length));
    }
    return score;
  });
  const ids = indexed.snapshot.segments.flatMap(({ rows }, segment) =>
    Array.from({ length: rows }, (_, row) => `0000000001${segment.toString(36).padStart(4, '0')}${row.toString(36).padStart(5, '0')}`),
  ); // prettier-ignore
  return ids
    .map((id, i) => ({ id, i, score: scores[i] ?? null }))
    .filter(({ score }) => score !== null)
    .sort((a, b) => Math.round((b.score! - a.score!) * 1e9) || a.i - b.i)
    .map(({ id }) => id);
}
