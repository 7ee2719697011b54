import { copyFileSync, mkdtempSync, openSync, rmSync, writeSync, closeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { findRows } from '../../../engine/change/find-rows.js';
import type { KeyColumn } from '../../../engine/change/row-keys.js';
import type { Column, StoredType, Value } from '../../../engine/core/types.js';
import { deletionVector } from '../../../engine/store/deletion-vector.js';
import { SegmentFile } from '../../../engine/store/segment-file.js';
import { seededRandom, shuffled } from '../../random.js';
import { seed } from '../../seed.js';
import { batchOf } from '../store/random.js';
import { writeSegment } from '../store/write-segment.js';

const folder = mkdtempSync(join(tmpdir(), 'strandlake-keys-'));
afterAll(() => rmSync(folder, { recursive: true }));
let fileCount = 0;

function columnOf(name: string, type: StoredType): Column {
  return { name, physical: name, type, isList: false };
}

async function writeValues(
  columns: readonly Column[],
  values: readonly (readonly Value[])[],
  isIntermediate = false,
) {
  const rows = values[0]!.length;
  const path = join(folder, `${fileCount++}.parquet`);
  const data = batchOf(columns, values, rows, 1n);
  const { blockChecksums } = await writeSegment({ columns, data, rows, isIntermediate }, path);
  return { path, blockChecksums, deletion: undefined, baseRowId: 0, bounds: undefined, rows };
}

const rows = 20_000;
/** By the name of a column: its type in the dataset, its type in the segments, and a function that returns its value in a row. */
const columnKinds: Readonly<Record<string, readonly [StoredType, StoredType, (row: number, fraction: number) => Value]>> = {
  rising: ['string', 'string', (row) => `GRCH38-1-${1000 * row + 1}-T`],
  random: ['string', 'string', (_, fraction) => `rs${Math.floor(fraction * 1e9)}`],
  gene: ['string', 'string', (_, fraction) => `GENE${Math.floor(fraction * 50)}`],
  sample: ['text', 'text', (row) => ['é', 'É', '', 'sample'][row >> 13]!],
  start: ['integer', 'integer', (row) => row >> 1],
  identifier: ['long', 'long', (row) => 2n ** 53n + BigInt(row)],
  wide: ['double', 'long', (row) => 2n ** 53n + BigInt(row)],
  score: ['double', 'double', (row, fraction) => (fraction < 0.01 ? -0 : row / 8)],
  frequency: ['float', 'float', (_, fraction) => Math.fround(fraction)],
  undefinedNumber: ['double', 'double', (row) => (row % 100 === 7 ? NaN : row)],
  day: ['date', 'date', (row) => BigInt(row >> 4) * 86_400_000_000n],
  // Columns with few distinct values. They are dictionary-encoded if their type allows it.
  fewDays: ['date', 'date', (_, fraction) => BigInt(Math.floor(fraction * 9)) * 86_400_000_000n],
  fewIdentifiers: ['long', 'long', (_, fraction) => 2n ** 60n + BigInt(Math.floor(fraction * 9))],
  fewWide: ['double', 'long', (_, fraction) => 2n ** 60n + BigInt(Math.floor(fraction * 9))],
  fewStarts: ['integer', 'integer', (_, fraction) => Math.floor(fraction * 9) - 4],
  fewScores: ['double', 'double', (_, fraction) => Math.floor(fraction * 9) / 7],
  fewFrequencies: ['float', 'float', (_, fraction) => Math.fround(Math.floor(fraction * 9) / 7)],
  flag: ['boolean', 'boolean', (row) => row > 15_000],
}; // prettier-ignore

/** Returns a text that is equal for rows whose keys are equal by the documentation; undefined if a value is missing. */
function keyOf(types: readonly StoredType[], values: readonly Value[]): string | undefined {
  if (values.includes(null)) return undefined;
  return values.map((value, i) => (types[i] === 'double' ? String(Number(value) + 0) : String(value))).join('\n'); // prettier-ignore
}

test.each([
  ['few', 5],
  ['many', 9_000],
])(
  `%s keys of one to three columns are found where a loop finds them (STRANDLAKE_SEED=${seed})`,
  async (_, count) => {
    const next = seededRandom(seed);
    for (let namesLeft = shuffled(next, Object.keys(columnKinds)); namesLeft.length > 0;) {
      const names = namesLeft.splice(0, 1 + Math.floor(next() * 3));
      const nullShare = next() < 0.5 ? 0 : 0.05;
      const writtenSegments = await Promise.all(
        [0, 1].map(async (segmentIndex) => {
          const values = names.map((name) =>
            Array.from({ length: rows }, (__, row) => {
              const value = columnKinds[name]![2](segmentIndex * (rows / 2) + row, next());
              return next() < nullShare ? null : value;
            }),
          );
          const goneRows = Int32Array.from({ length: rows }, (__, row) => row).filter(
            () => next() < 0.1,
          );
          const stored = names.map((name) => columnOf(name, columnKinds[name]![1]));
          const segment = {
            ...(await writeValues(stored, values)),
            deletion: deletionVector(goneRows),
          };
          return { segment, values, gone: new Set(goneRows) };
        }),
      );
      const types = names.map((name) => columnKinds[name]![0]);
      const givenKeys = Array.from({ length: count }, () => {
        const { values } = writtenSegments[Math.floor(next() * 2)]!;
        const row = Math.floor(next() * rows);
        const firstColumnRow = next() < 0.2 ? Math.floor(next() * rows) : row; // sometimes a combination that no row has
        return values.map((column, i) => {
          const value = column[i === 0 ? firstColumnRow : row]!;
          return types[i] === 'double' && value !== null ? Number(value) : value;
        });
      });
      const wantedSegment = await writeValues(
        names.map((name, i) => columnOf(`g_${name}`, types[i]!)),
        names.map((__, i) => givenKeys.map((values) => values[i]!)),
        true,
      );
      const columns = names.map((name, i): KeyColumn => ({ given: [`g_${name}`], stored: [name], type: types[i]! })); // prettier-ignore
      const segments = writtenSegments.map(({ segment }) => segment);
      const result = findRows({ wanted: [wantedSegment], columns, segments, isUnique: false });
      const firstIndexByKey = new Map<string, number>();
      for (const [i, values] of givenKeys.entries()) {
        const key = keyOf(types, values);
        if (key !== undefined && !firstIndexByKey.has(key)) firstIndexByKey.set(key, i);
      }
      expect([names, result.distinctKeyCount]).toEqual([names, firstIndexByKey.size]);
      for (const [index, { values, gone }] of writtenSegments.entries()) {
        const expected: [number, number][] = [];
        for (let row = 0; row < rows; row++) {
          const key = keyOf(types, values.map((column) => column[row]!)); // prettier-ignore
          const at = key === undefined || gone.has(row) ? undefined : firstIndexByKey.get(key);
          if (at !== undefined) expected.push([row, at]);
        }
        const { rows: foundRows, given: foundGiven } = result.segments[index]!;
        expect([names, [...foundRows].map((row, i) => [row, foundGiven[i]])]).toEqual([
          names,
          expected,
        ]);
      }
    }
  },
);

/** Returns a copy of a segment in which the data pages of a column are overwritten, except for those with the given rows. */
function copyWithDamagedPages(segment: Awaited<ReturnType<typeof writeValues>>, name: string, keptRows: readonly number[]) {
  const path = `${segment.path}.damaged`;
  copyFileSync(segment.path, path);
  const file = new SegmentFile({ path: segment.path, blockChecksums: undefined });
  const descriptor = openSync(path, 'r+');
  let pageCount = 0;
  try {
    for (const group of file.groups) {
      const { offsets, bytes, firstRows } = file.offsetIndexOf(group, group.chunks[file.leaf([name])!.index]!)!; // prettier-ignore
      for (const [page, offset] of offsets.entries()) {
        pageCount++;
        const isKept = keptRows.some((row) => row >= group.first + firstRows[page]! && row < group.first + firstRows[page + 1]!); // prettier-ignore
        if (!isKept) writeSync(descriptor, Buffer.alloc(bytes[page]!, 0xff), 0, bytes[page], offset);
      }
    }
  } finally {
    file.close();
    closeSync(descriptor);
  }
  expect(pageCount).toBeGreaterThan(4);
  return { ...segment, path, blockChecksums: undefined };
} // prettier-ignore

async function search(
  given: readonly (readonly [name: string, type: StoredType, values: readonly Value[]])[],
  segment: Awaited<ReturnType<typeof writeValues>>,
) {
  const givenColumns = given.map(([name, type]) => columnOf(name, type));
  const wantedSegment = await writeValues(givenColumns, given.map(([, , values]) => values), true); // prettier-ignore
  const columns = given.map(([name, type]): KeyColumn => ({ given: [name], stored: [name], type }));
  return [...findRows({ wanted: [wantedSegment], columns, segments: [segment], isUnique: true }).segments[0]!.rows]; // prettier-ignore
}

test('only pages whose bounds admit a wanted value are read', async () => {
  const values = Array.from({ length: rows }, (_, row) => `v${100_000 + row}`);
  const segment = copyWithDamagedPages(await writeValues([columnOf('v', 'string')], [values]), 'v', [12_345]);
  expect(await search([['v', 'string', ['v112345', 'w', 'u', 'v2', '']]], segment)).toEqual([12_345]); // prettier-ignore
  await expect(search([['v', 'string', ['v100001']]], segment)).rejects.toThrow('cannot give a page');
}); // prettier-ignore

test('no page is read if the dictionary has no wanted value', async () => {
  const values = Array.from({ length: rows }, (_, row) => `gene ${(row * 7) % 31}`);
  const labels = Array.from({ length: rows }, (_, row) => `a long label of row ${row}`);
  const columns = [columnOf('g', 'string'), columnOf('l', 'string')];
  const segment = copyWithDamagedPages(await writeValues(columns, [values, labels]), 'g', []);
  expect(await search([['g', 'string', ['gene 0a', 'gene 12b', 'Gene 3']]], segment)).toEqual([]);
  await expect(search([['g', 'string', ['gene 3']]], segment)).rejects.toThrow('cannot give its');
});

test('no page is read if the Bloom filter has no wanted value', async () => {
  const random = seededRandom(12);
  const values = Array.from({ length: 4 * rows }, () => `rs${Math.floor(random() * 1e12)}`);
  const segment = copyWithDamagedPages(
    await writeValues([columnOf('r', 'string')], [values]),
    'r',
    [],
  );
  expect(await search([['r', 'string', ['rs1234x', 'rs5678x', 'rs9x']]], segment)).toEqual([]);
  await expect(search([['r', 'string', [values[77]!]]], segment)).rejects.toThrow('cannot give');
});

test('of several columns, the one that rules out most is read first, and the others only where it has a wanted value', async () => {
  const genes = Array.from({ length: rows }, (_, row) => `gene ${(row * 7) % 31} `.repeat(1 + (row % 3))); // prettier-ignore
  const starts = Array.from({ length: rows }, (_, row) => 2 * row);
  const segment = copyWithDamagedPages(
    await writeValues([columnOf('g', 'string'), columnOf('s', 'integer')], [genes, starts]),
    'g',
    [9_000],
  );
  const searchStart = (start: number) => search([['g', 'string', [genes[9_000]!]], ['s', 'integer', [start]]], segment); // prettier-ignore
  expect(await searchStart(18_000)).toEqual([9_000]);
  expect(await searchStart(5_001)).toEqual([]); // between two starts of another page
  await expect(searchStart(5_000)).rejects.toThrow('cannot give a page');
});
