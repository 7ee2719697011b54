import { describe, expect, test } from '@jest/globals';
import { BatchBuilder } from '../../../engine/ingest/batch.js';
import { FindingCollector } from '../../../engine/ingest/findings.js';
import {
  sampleBatch,
  SampleMerge,
  type FieldSample,
  type SamplingOptions,
} from '../../../engine/ingest/value-samples.js';
import { jsonlReader } from '../../../readers/jsonl/jsonl.js';
import { seededRandom as seeded } from '../../random.js';
import { seed } from '../../seed.js';

const sampleSize = { count: 20, rate: 1 };
const validationParams = {
  disable: false,
  raiseOnErrors: false,
  strict: false,
  allowNewFields: true,
};

function sampleLines(
  lines: readonly string[],
  options: SamplingOptions = sampleSize,
): readonly FieldSample[] {
  const builder = new BatchBuilder();
  const given = { columns: [], isFinal: false };
  const collector = new FindingCollector(validationParams);

  jsonlReader.read(Buffer.from(lines.join('\n')), null, null, builder, collector, given);
  const samples = sampleBatch(builder.finish(), options);
  builder.release();
  return samples;
}

const sampledValues = (samples: readonly FieldSample[], name: string) =>
  samples.find(({ path }) => path.join('.') === name)?.values.toSorted();

describe('the sample of a chunk', () => {
  test('contains string fields only, including nested ones, lists and lists of objects', () => {
    const samples = sampleLines([
      '{"a":"x","n":1,"o":{"b":"y","d":"2020-01-01"},"l":["p","q"],"s":[{"c":"z"},{"c":"w"}]}',
      '{"a":null,"o":{"b":""},"l":["p"],"s":[]}',
    ]);
    expect(samples.map(({ path }) => path.join('.'))).toEqual(['a', 'o.b', 'l', 's.c']);
    expect(sampledValues(samples, 'a')).toEqual(['x']);
    expect(sampledValues(samples, 'o.b')).toEqual(['y']);
    expect(sampledValues(samples, 'l')).toEqual(['p', 'q']);
    expect(sampledValues(samples, 's.c')).toEqual(['w', 'z']);
  });

  test('lacks the fields that are excepted, but not those below them', () => {
    const lines = ['{"a":"x","b":"y","o":{"a":"z","b":"w"}}'];
    const samples = sampleLines(lines, { ...sampleSize, except: ['a', 'o', 'o.b'] });
    expect(samples.map(({ path }) => path.join('.'))).toEqual(['b', 'o.a']);
  });

  test('contains each distinct value once, up to the maximum number', () => {
    const linesWithFewValues = Array.from({ length: 5_000 }, (_, i) =>
      JSON.stringify({ a: `v${i % 7}` }),
    );
    expect(sampledValues(sampleLines(linesWithFewValues), 'a')).toEqual([
      'v0',
      'v1',
      'v2',
      'v3',
      'v4',
      'v5',
      'v6',
    ]);
    const linesWithManyValues = Array.from({ length: 5_000 }, (_, i) =>
      JSON.stringify({ a: `v${i}` }),
    );
    const sample = sampledValues(sampleLines(linesWithManyValues), 'a')!;
    expect(new Set(sample).size).toBe(20);
    // The sample is spread over all values, not taken from the first or last ones.
    const mean = sample.reduce((sum, value) => sum + Number(value.slice(1)), 0) / 20;
    expect(mean).toBeGreaterThan(1_200);
    expect(mean).toBeLessThan(3_800);
  });

  test('truncates long values and counts those with the same beginning as one', () => {
    const lines = ['x', 'y'].map((end) => JSON.stringify({ a: 'long '.repeat(100) + end }));
    expect(sampledValues(sampleLines(lines), 'a')).toEqual(['long '.repeat(10).slice(0, 48)]);
  });

  test('contains about the requested share of the distinct values', () => {
    const linesWithManyValues = Array.from({ length: 4_000 }, (_, i) =>
      JSON.stringify({ a: `v${i}` }),
    );
    const [sample] = sampleLines(linesWithManyValues, { count: 1_000, rate: 0.1 });
    expect(sample!.values.length).toBeGreaterThan(300);
    expect(sample!.values.length).toBeLessThan(500);
  });
});

test('any split of the records gives the same sample', () => {
  const random = seeded(seed);
  const lines = Array.from({ length: 2_000 }, () =>
    JSON.stringify({
      a: `v${Math.floor(random() ** 3 * 3_000)}`,
      ...(random() < 0.5 && { b: { c: [`w${Math.floor(random() * 40)}`] } }),
    }),
  );
  const wholeSample = new Map(
    sampleLines(lines).map(({ path, values: of }) => [path.join('.'), of]),
  );
  for (let round = 0; round < 20; round++) {
    const merge = new SampleMerge(sampleSize);
    const chunkSamples: (readonly FieldSample[])[] = [];
    for (let from = 0; from < lines.length;) {
      const to = from + 1 + Math.floor(random() * 700);
      chunkSamples.push(sampleLines(lines.slice(from, to)));
      from = to;
    }
    for (const chunkSample of chunkSamples) merge.add(chunkSample);
    const mergedSample = new Map(
      merge.result().map(({ path, values: of }) => [path.join('.'), of]),
    );
    expect([seed, mergedSample]).toEqual([seed, wholeSample]);
  }
});
