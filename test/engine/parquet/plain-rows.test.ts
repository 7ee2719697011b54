import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { DuckDBInstance } from '@duckdb/node-api';
import { ParquetEncoder } from '../../../engine/parquet/file-encoder.js';
import { batchOfRows, rowsOfParts, type ParquetRow, type ParquetValue } from '../../../engine/parquet/plain-rows.js'; // prettier-ignore
import { readChunk } from '../../../engine/parquet/read-column-chunk.js';
import { isZstd } from '../../../engine/parquet/read-pages.js';
import { parquetSchema, type ParquetColumn } from '../../../engine/parquet/parquet-schema.js';
import { readFooter } from '../../../engine/store/footer.js';
import { seededRandom, type Random } from '../../random.js';
import { seed } from '../../seed.js';

const caseCount = Number(process.env['STRANDLAKE_CASES'] ?? 60);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'strandlake-rows-'));
});
afterAll(() => rm(folder, { recursive: true }));

const leafTypes = ['string', 'int32', 'int64', 'boolean'] as const;

function randomColumn(next: Random, name: string, depth: number): ParquetColumn {
  const randomBelow = (count: number): number => Math.floor(next() * count);
  const roll = next();
  const isList = next() < 0.3;
  if (roll < 0.2)
    return {
      name,
      type: 'group',
      isList: true,
      isMap: true,
      children: [
        { name: 'key', type: 'string', isList: false },
        depth === 0
          ? { name: 'value', type: 'int64', isList: false }
          : randomColumn(next, 'value', depth - 1),
      ],
    };
  if (roll < 0.5 && depth > 0) {
    const children = Array.from({ length: 1 + randomBelow(3) }, (_, i) => randomColumn(next, `${name}${i}`, depth - 1)); // prettier-ignore
    return { name, type: 'group', isList, children };
  }
  return { name, type: leafTypes[randomBelow(4)]!, isList };
}

/** Returns a random value, which is null only if `mayBeNull`. Members of objects may be absent. */
function randomValue(next: Random, column: ParquetColumn, mayBeNull = true): ParquetValue {
  if (mayBeNull && next() < 0.3) return null;
  if (column.isMap === true)
    return Array.from({ length: Math.floor(next() * 3) }, (_, i) => {
      const value = randomValue(next, column.children![1]!);
      return value === null ? { key: `k${i}` } : { key: `k${i}`, value };
    });
  if (column.isList)
    return Array.from({ length: Math.floor(next() * 4) }, () =>
      randomValue(next, { ...column, isList: false }),
    );
  switch (column.type) {
    case 'group':
      return randomRow(next, column.children!);
    case 'string':
      return ['', 'a', 'Größe', '🧬'.repeat(9)][Math.floor(next() * 4)]!;
    case 'boolean':
      return next() < 0.5;
    case 'int32':
      return Math.floor((next() - 0.5) * 2 ** 32);
    default:
      return Math.floor((next() - 0.5) * 2 ** 53);
  }
}

function randomRow(next: Random, columns: readonly ParquetColumn[]): ParquetRow {
  const members = columns.map((one) => [one.name, randomValue(next, one)] as const);
  return Object.fromEntries(members.filter(([, value]) => value !== null));
}

test(`rows that are written are read back, also by DuckDB (STRANDLAKE_SEED=${seed})`, async () => {
  const duckdb = await (await DuckDBInstance.create(':memory:')).connect();
  for (let round = 0; round < caseCount; round++) {
    const next = seededRandom(seed + round);
    const columns = Array.from({ length: 1 + Math.floor(next() * 4) }, (_, i) => randomColumn(next, `c${i}_`, 2)); // prettier-ignore
    const rows = Array.from({ length: 1 + Math.floor(next() * 40) }, () =>
      randomRow(next, columns),
    );
    const encoder = new ParquetEncoder(columns, 'test');
    const pieces = Array.from(encoder.encodeBatches([batchOfRows(columns, rows)]), (one) =>
      one.slice(),
    );
    const bytes = Buffer.concat(pieces);
    const path = join(folder, `${round}.parquet`);
    await writeFile(path, bytes);
    const schema = parquetSchema(columns);
    const [group] = (await readFooter(path)).row_groups;
    const chunks = schema.leaves.map((leaf, i) => {
      const meta = group!.columns[i]!.meta_data!;
      const begin = Number(meta.dictionary_page_offset ?? meta.data_page_offset);
      const chunk = bytes.subarray(begin, begin + Number(meta.total_compressed_size));
      const slots = Number(meta.num_values);
      return readChunk(chunk, leaf, { slots, isCompressed: isZstd(meta.codec) });
    });
    expect([round, rowsOfParts(schema, chunks, rows.length)]).toEqual([round, rows]);
    const duckdbResult = await duckdb.runAndReadAll(`SELECT to_json(t)::VARCHAR FROM read_parquet('${path}') t`); // prettier-ignore
    const duckdbRows = duckdbResult
      .getRows()
      .map(([json]) => JSON.parse(String(json)) as ParquetValue);
    expect([round, duckdbRows]).toEqual([round, rows.map((row) => valueAsDuckdbJson({ name: '', type: 'group', isList: false, children: columns }, row))]); // prettier-ignore
  }
  duckdb.closeSync();
});

/** Returns a value as DuckDB shows it in JSON: a map is an object, and a missing member is null. */
function valueAsDuckdbJson(column: ParquetColumn, value: ParquetValue | undefined): unknown {
  if (value === null || value === undefined) return null;
  if (column.isMap === true) {
    const entries = value as readonly ParquetRow[];
    return Object.fromEntries(entries.map((one) => [one['key'], valueAsDuckdbJson(column.children![1]!, one['value'])])); // prettier-ignore
  }
  if (column.isList) return (value as readonly ParquetValue[]).map((one) => valueAsDuckdbJson({ ...column, isList: false }, one)); // prettier-ignore
  if (column.type !== 'group') return value;
  const row = value as ParquetRow;
  return Object.fromEntries(
    column.children!.map((one) => [one.name, valueAsDuckdbJson(one, row[one.name])]),
  );
}

test('a value of another type, and a name that there is no column for, are refused', () => {
  const text: ParquetColumn = { name: 'a', type: 'string', isList: false };
  expect(() => batchOfRows([text], [{ a: 1 }])).toThrow('column a holds a number');
  expect(() => batchOfRows([text], [{ b: 'x' }])).toThrow('has no column b');
  const group: ParquetColumn = { name: 'g', type: 'group', isList: false, children: [text] };
  expect(() => batchOfRows([group], [{ g: 5 }])).toThrow('column g holds a number');
  expect(() => batchOfRows([{ ...text, isList: true }], [{ a: 'x' }])).toThrow('column a is a list and holds a string'); // prettier-ignore
  expect(() => batchOfRows([{ ...text, type: 'double' }], [{ a: 1 }])).toThrow();
});
