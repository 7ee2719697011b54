import { pathToFileURL } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dataViewOf } from '../../../engine/core/buffers.js';
import {
  bloomFilter,
  filterHashes,
  mayContain,
  parseBloomFilter,
  writeBloomFilter,
} from '../../../engine/parquet/bloom-filter.js';
import { ByteSink } from '../../../engine/parquet/byte-sink.js';
import { packStrings } from '../../../engine/core/packed-strings.js';
import type { Column } from '../../../engine/core/types.js';
import { batchOf } from '../store/random.js';
import { seededRandom } from '../../random.js';
import { seed } from '../../seed.js';
import { encodeFile } from './oracles.js';

/** The internal functions of hyparquet's Bloom filters: an implementation that shares no code with Strandlake's. */
interface HyparquetBloomFilter {
  xxhash64(bytes: Uint8Array): bigint;
  sbbfInsert(words: Uint32Array, hash: bigint): void;
  readBloomFilter(reader: { view: DataView; offset: number }): { blocks: Uint32Array } | undefined;
}
let hyparquetBloomFilter: HyparquetBloomFilter;
beforeAll(async () => {
  const load = async (name: string): Promise<object> =>
    (await import(pathToFileURL(`node_modules/hyparquet/src/${name}.js`).href)) as object;
  hyparquetBloomFilter = {
    ...(await load('xxhash')),
    ...(await load('bloom')),
  } as HyparquetBloomFilter;
});

/** Returns random byte strings of the given lengths, which follow one another in a buffer, after up to 6 other bytes. */
function randomByteStrings(lengths: readonly number[]) {
  const next = seededRandom(seed);
  const values = lengths.map((length) => Uint8Array.from({ length }, () => Math.floor(next() * 256))); // prettier-ignore
  const startOffset = Math.floor(next() * 7);
  const bytes = Buffer.concat([Buffer.alloc(startOffset), ...values]);
  const offsets = new Int32Array(values.length + 1);
  offsets[0] = startOffset;
  values.forEach((value, i) => (offsets[i + 1] = offsets[i]! + value.length));
  const view = dataViewOf(bytes);
  return {
    values,
    strings: { kind: 'strings', count: values.length, bytes, view, offsets } as const,
  };
}

/** Returns the hashes as 64-bit numbers. */
const longs = (hashes: Uint32Array): bigint[] => [...new BigUint64Array(hashes.buffer)];

describe(`bloom filters (STRANDLAKE_SEED=${seed})`, () => {
  test('hash like the reference implementation', () => {
    // Test vectors of xxHash itself (xxhsum -H64).
    expect(longs(filterHashes(packStrings(['', 'a', 'abc'])))).toEqual([0xef46db3751d8e999n, 0xd24ec4f1a98c6e5bn, 0x44bc2cf5ad770999n]); // prettier-ignore
    const { values, strings } = randomByteStrings(Array.from({ length: 40_000 }, (_, i) => i % 200)); // prettier-ignore
    expect(longs(filterHashes(strings))).toEqual(values.map((value) => hyparquetBloomFilter.xxhash64(value))); // prettier-ignore
  });

  test('have the bits that another implementation sets, and find every string', () => {
    const { values, strings } = randomByteStrings(Array.from({ length: 70_000 }, (_, i) => (i % 997 === 0 ? 3_000 : i % 90))); // prettier-ignore
    const filter = bloomFilter(strings)!;
    const words = new Uint32Array(filter.buffer);
    const expected = new Uint32Array(words.length);
    for (const value of values)
      hyparquetBloomFilter.sbbfInsert(expected, hyparquetBloomFilter.xxhash64(value));
    expect(Buffer.compare(filter, Buffer.from(expected.buffer))).toBe(0);
    const hashes = filterHashes(strings);
    expect(values.every((_, i) => mayContain(words, hashes, i))).toBe(true);
    let hitCount = 0;
    const otherHashes = filterHashes(
      packStrings(Array.from({ length: 20_000 }, (_, i) => `none ${i}`)),
    );
    for (let i = 0; i < 20_000; i++) if (mayContain(words, otherHashes, i)) hitCount++;
    expect(hitCount / 20_000).toBeLessThan(0.02);
    const sink = new ByteSink(64);
    writeBloomFilter(sink, filter);
    const writtenBytes = sink.writtenBytes().slice();
    sink.release();
    expect(parseBloomFilter(writtenBytes)).toEqual(words);
    expect(hyparquetBloomFilter.readBloomFilter({ view: new DataView(writtenBytes.buffer), offset: 0 })?.blocks).toEqual(words); // prettier-ignore
    expect(
      parseBloomFilter(Uint8Array.from([...writtenBytes].toSpliced(1, 1, 99))),
    ).toBeUndefined();
  });

  test('are made for strings in no order, and used by DuckDB', async () => {
    const next = seededRandom(seed + 1);
    const rows = 100_000;
    const randomId = (): string => `rs${Math.floor(next() * 1e9)}`;
    const column = (name: string, isList = false): Column => ({ name, physical: name, type: 'string', isList }); // prettier-ignore
    const columns = [column('id'), column('ids', true), column('place'), column('gene'), column('note')]; // prettier-ignore
    const columnValues = <T>(value: (i: number) => T): T[] =>
      Array.from({ length: rows }, (_, i) => value(i));
    const ids = columnValues((i) => (i % 10 === 0 ? null : randomId()));
    const values = [
      ids,
      columnValues((i) => Array.from({ length: i % 3 }, randomId)),
      columnValues((i) => `GRCh38-1-${1_000_000 + 3 * i}-A-${i % 2 === 0 ? 'C' : 'T'}`),
      columnValues((i) => `${i % 300}G`),
      columnValues(() => `${randomId()} ${'x'.repeat(200)}`),
    ];
    const folder = await mkdtemp(join(tmpdir(), 'strandlake-bloom-'));
    const duckdb = await DuckDBInstance.create();
    try {
      const path = join(folder, 'a.parquet');
      await writeFile(path, encodeFile(columns, [batchOf(columns, values, rows, 1n)]));
      const connection = await duckdb.connect();
      const runSql = async (sql: string): Promise<readonly unknown[][]> =>
        (await connection.runAndReadAll(sql)).getRows() as unknown[][];
      const filteredColumns = await runSql(`SELECT path_in_schema FROM parquet_metadata('${path}') WHERE bloom_filter_length > 0`); // prettier-ignore
      expect(filteredColumns.flat()).toEqual(['id', 'ids, list, element']);
      const excludes = async (value: string): Promise<unknown> =>
        (await runSql(`SELECT bool_and(bloom_filter_excludes) FROM parquet_bloom_probe('${path}', 'id', '${value}')`))[0]![0]; // prettier-ignore
      for (const value of ids.slice(0, 60).filter((one) => one !== null))
        expect(await excludes(value)).toBe(false);
      let excludedCount = 0;
      for (let i = 0; i < 60; i++) if ((await excludes(`none ${i}`)) === true) excludedCount++;
      expect(excludedCount).toBeGreaterThan(50);
    } finally {
      duckdb.closeSync();
      await rm(folder, { recursive: true });
    }
  });
});
