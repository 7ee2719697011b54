import { mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { packStrings } from '../../../engine/core/packed-strings.js';
import { filterHashes, mayContainAny } from '../../../engine/parquet/bloom-filter.js';
import { rowIdColumn } from '../../../engine/store/row-ids.js';
import { SegmentFile } from '../../../engine/store/segment-file.js';
import { findSegmentProblems } from '../../../engine/store/verify-segment.js';
import { partNames } from '../../../engine/text/column-writer.js';
import { readPart } from '../../../engine/text/index-file.js';
import { indexedName } from '../../../engine/text/index-writer.js';
import { armFault } from '../../../engine/core/faultpoint.js';
import { readFooter } from '../../../engine/store/footer.js';
import {
  decompressChunkPages,
  decompressOneByOne,
  decompressPage,
  type DecompressedPage,
} from '../../../engine/parquet/read-pages.js';
import { parquetSchema } from '../../../engine/parquet/parquet-schema.js';
import { parquetColumns } from '../../../engine/store/arrow-columns.js';
import { writeSegment } from './write-segment.js';
import type { Columns } from '../../../engine/core/types.js';
import { column } from '../query/dataset.js';
import { encodeByWasm } from '../parquet/oracles.js';
import { batchOf, random, randomColumns, randomDistribution, randomValue } from './random.js';

let folder: string;
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'strandlake-segment-file-')));
});
afterAll(() => rm(folder, { recursive: true }));

let fileCount = 0;
const newFile = () => join(folder, `${fileCount++}.parquet`);

async function randomSegment(seed: number, rows: number): Promise<[string, Columns]> {
  const next = random(seed);
  const columns = randomColumns(next, 6, 3);
  const values = columns.map((column) => {
    const style = randomDistribution(next);
    return Array.from({ length: rows }, (_, row) => randomValue(next, column, style, row));
  });
  const file = newFile();
  await writeSegment({ columns, data: batchOf(columns, values, rows, 1n), rows }, file);
  return [file, columns];
}

describe('an opened segment', () => {
  const seed = Number(process.env['STRANDLAKE_SEED'] ?? 20_261_121);
  test(`has the leaves and levels that were written, and their chunks where the footer says (seed ${seed})`, async () => {
    for (let round = 0; round < 30; round++) {
      const [path, columns] = await randomSegment(seed + round, 1 + (round % 5) * 40);
      const footer = await readFooter(path);
      const bytes = await readFile(path);
      const file = new SegmentFile({ path });
      const { leaves } = parquetSchema(parquetColumns(columns));
      expect(
        file.leaves.map(({ path: names, physical, maxDefinition, maxRepetition, isDate }) => [
          names,
          [physical, maxDefinition, maxRepetition, isDate],
        ]),
      ).toEqual(
        leaves.map(({ path: names, physical, maxDefinition, maxRepetition, column }) => [
          names,
          [physical, maxDefinition, maxRepetition, column.type === 'timestamp'],
        ]),
      );
      for (const leaf of file.leaves) expect(file.leaf(leaf.columns)).toBe(leaf);
      expect(file.rows).toBe(Number(footer.num_rows));
      expect(file.groups.map(({ rows }) => rows)).toEqual(
        footer.row_groups.map(({ num_rows }) => Number(num_rows)),
      );
      for (const [g, { chunks }] of file.groups.entries()) {
        for (const [i, chunk] of chunks.entries()) {
          const meta = footer.row_groups[g]!.columns[i]!.meta_data!;
          const begin = Number(meta.dictionary_page_offset ?? meta.data_page_offset);
          expect([chunk.begin, chunk.bytes, chunk.slots, chunk.nulls]).toEqual([
            begin,
            Number(meta.total_compressed_size),
            Number(meta.num_values),
            Number(meta.statistics!.null_count),
          ]);
          const chunkBytes = bytes.subarray(begin, begin + chunk.bytes);
          expect(Buffer.compare(file.read(begin, chunk.bytes), chunkBytes)).toBe(0);
        }
      }
      file.close();
    }
  });

  test('tells a column named as what Parquet puts into lists from those levels', async () => {
    const leaf = (name: string) =>
      ({ name, physical: name, type: 'integer', isList: true }) as const;
    const columns: Columns = [
      { ...leaf('list'), type: 'object', children: [leaf('list'), leaf('element')] },
      leaf('a.b'),
    ];
    const values = [[[{ list: [1], element: [2] }]], [[3]]];
    const path = newFile();
    await writeSegment({ columns, data: batchOf(columns, values, 1, 1n), rows: 1 }, path);
    const file = new SegmentFile({ path });
    expect(file.leaves.map(({ key }) => key)).toEqual([
      '_id',
      '_commit',
      'list.list',
      'list.element',
      'a\\.b',
    ]);
    expect(file.leaf(['list', 'element'])?.path.join('.')).toBe(
      'list.list.element.element.list.element',
    );
    expect(file.leaf(['a', 'b'])).toBeUndefined();
    expect(file.leaf(['list'])).toBeUndefined();
    file.close();
  });

  test('knows the pages of a file of the Rust crate, which writes their index', async () => {
    const columns: Columns = [{ name: 'n', physical: 'n', type: 'integer', isList: false }];
    const rows = 50_000;
    const next = random(3);
    const values = [Array.from({ length: rows }, () => Math.floor(next() * 2 ** 31))];
    const path = newFile();
    await writeFile(path, encodeByWasm(columns, batchOf(columns, values, rows, 1n)));
    const file = new SegmentFile({ path });
    const { chunks } = file.groups[0]!;
    for (const chunk of chunks) {
      const pages = file.offsetIndexOf(file.groups[0]!, chunk)!;
      const count = pages.offsets.length;
      expect(pages.offsets[0]).toBe(chunk.dataOffset);
      expect(pages.firstRows.length).toBe(count + 1);
      expect([pages.firstRows[0], pages.firstRows[count]]).toEqual([0, rows]);
      for (let i = 1; i < count; i++) {
        expect(pages.firstRows[i]).toBeGreaterThan(pages.firstRows[i - 1]!);
        expect(pages.offsets[i]).toBe(pages.offsets[i - 1]! + pages.bytes[i - 1]!);
      }
      expect(pages.offsets[count - 1]! + pages.bytes[count - 1]!).toBe(chunk.begin + chunk.bytes);
      expect(file.offsetIndexOf(file.groups[0]!, chunk)).toBe(pages);
    }
    expect(
      chunks.some((chunk) => file.offsetIndexOf(file.groups[0]!, chunk)!.offsets.length > 1),
    ).toBe(true);
    file.close();
  });

  test('has pages where its index says, and single ones of several chunks are those of the whole', async () => {
    const next = random(5);
    const rows = 30_000;
    const columns: Columns = (['few', 'wild'] as const).map((name) => ({
      name,
      physical: name,
      type: 'double',
      isList: false,
    }));
    const fewValues = Array.from({ length: rows }, () => Math.floor(next() * 100));
    const values = [fewValues, Array.from({ length: rows }, () => next())];
    const path = newFile();
    await writeSegment({ columns, data: batchOf(columns, values, rows, 1n), rows }, path);
    const file = new SegmentFile({ path });
    const group = file.groups[0]!;
    expect(new Set(group.chunks.map(({ isCompressed }) => isCompressed)).size).toBe(2);
    const plainPage = ({ body, ...page }: DecompressedPage) => ({
      ...page,
      bytes: Buffer.from(body.bytes),
    });
    const wholePages: unknown[] = [];
    const singlePages: { bytes: Uint8Array; isCompressed: boolean }[] = [];
    for (const chunk of group.chunks) {
      const { begin, bytes, dataOffset, isCompressed } = chunk;
      for (const page of decompressChunkPages(file.read(begin, bytes), chunk))
        wholePages.push(plainPage(page));
      if (dataOffset > begin) {
        singlePages.push({ bytes: file.read(begin, dataOffset - begin), isCompressed });
      }
      const pages = file.offsetIndexOf(group, chunk)!;
      expect(pages.offsets.length).toBeGreaterThan(1);
      for (const [i, offset] of pages.offsets.entries()) {
        singlePages.push({ bytes: file.read(offset, pages.bytes[i]!), isCompressed });
      }
    }
    expect(singlePages.map((page) => plainPage(decompressPage(page)))).toEqual(wholePages);
    expect(Array.from(decompressOneByOne(singlePages), plainPage)).toEqual(wholePages);
    const longPage = { bytes: file.read(4, singlePages[0]!.bytes.length + 1), isCompressed: true };
    expect(() => decompressPage(longPage)).toThrow('does not have the length');
    file.close();
  });

  test('is refused when it is missing, torn, a link, or not reached by its own folder (D2)', async () => {
    const [path] = await randomSegment(1, 5);
    const bytes = await readFile(path);
    const expectRefusal = (at: string, why: string) => {
      expect(() => new SegmentFile({ path: at })).toThrow(
        expect.objectContaining({ code: 'damaged' }),
      );
      expect(() => new SegmentFile({ path: at })).toThrow(why);
    };
    expectRefusal(newFile(), 'is missing');
    for (const length of [0, 7, bytes.length - 1]) {
      const tornPath = newFile();
      await writeFile(tornPath, bytes.subarray(0, length));
      expectRefusal(tornPath, 'segment');
    }
    const link = newFile();
    await symlink(path, link);
    expectRefusal(link, 'is a symbolic link');
    await mkdir(join(folder, 'real'));
    await writeFile(join(folder, 'real', 'a.parquet'), bytes);
    await symlink(join(folder, 'real'), join(folder, 'linked'));
    expectRefusal(join(folder, 'linked', 'a.parquet'), 'is reached through a symbolic link');
    expectRefusal(folder, 'is not a regular file');
  });

  test('says so when the disk fails, and when it is read beyond its end or after it was closed', async () => {
    const [path] = await randomSegment(2, 5);
    armFault({ code: 'EIO', nth: 1, operations: ['read'] });
    try {
      expect(() => new SegmentFile({ path })).toThrow(/cannot read .*: EIO/);
    } finally {
      armFault(undefined);
    }
    const file = new SegmentFile({ path });
    expect(() => file.read(1, 1 << 20)).toThrow('ends early');
    file.close();
    file.close();
    expect(() => file.read(0, 4)).toThrow('has been closed already');
  });
});

test('a flipped bit in the page index, a Bloom filter or the text index is noticed by whoever reads that part, and by verification', async () => {
  const columns = [column('s', 'string'), column('t', 'text')];
  const rows = 30_000;
  const values = [
    Array.from({ length: rows }, (_, i) => `value ${(i * 7_919) % rows}`),
    Array.from({ length: rows }, (_, i) => `word${i % 4_000} text`),
  ];
  const path = newFile();
  const segment = await writeSegment({ columns, data: batchOf(columns, values, rows, 1n), rows }, path); // prettier-ignore
  const { blockChecksums } = segment;
  const wholeFile = new SegmentFile({ path, blockChecksums });
  const group = wholeFile.groups[0]!;
  const leafIndex = wholeFile.leaves.findIndex(({ key }) => key === 's');
  const { columnIndex, offsetIndex, bloomFilter } = group.chunks[leafIndex]!;
  const { summary, begins } = wholeFile.textIndex!.columns.get(indexedName(['t']))!;
  const textParts = partNames.filter((name) => summary.sizes[name] > 0);
  expect(textParts.length).toBeGreaterThan(2);
  type Part = readonly [name: string, begin: number, bytes: number, read: (file: SegmentFile) => unknown]; // prettier-ignore
  const parts: readonly Part[] = [
    ['column index', columnIndex!.begin, columnIndex!.bytes,
      (file) => file.pageStatisticsOf(file.groups[0]!.chunks[leafIndex]!, file.leaves[leafIndex]!)],
    ['offset index', offsetIndex!.begin, offsetIndex!.bytes,
      (file) => file.offsetIndexOf(file.groups[0]!, file.groups[0]!.chunks[leafIndex]!)],
    ['bloom filter', bloomFilter!.begin, bloomFilter!.bytes, (file) => file.filter(file.groups[0]!.chunks[leafIndex]!)],
    ...textParts.map((name): Part => [name, begins[name], summary.sizes[name], ({ textIndex }) => readPart(textIndex!, textIndex!.columns.get(indexedName(['t']))!, name)]),
  ]; // prettier-ignore
  const bytes = await readFile(path);
  for (const [name, begin, length, read] of parts) {
    expect([name, read(wholeFile)]).toEqual([name, expect.anything()]);
    for (const at of [begin, begin + (length >> 1), begin + length - 1]) {
      const damagedBytes = Buffer.from(bytes);
      damagedBytes[at]! ^= 1;
      await writeFile(path, damagedBytes);
      const readAgain = (): unknown => {
        const file = new SegmentFile({ path, blockChecksums });
        try {
          return read(file);
        } finally {
          file.close();
        }
      };
      expect(readAgain).toThrow('does not match its checksum');
      expect([name, at, (await findSegmentProblems(path, segment))[0]]).toEqual([name, at, 'does not match its checksum']); // prettier-ignore
    }
  }
  wholeFile.close();
});

test('sorted strings have Bloom filters only in a segment whose records are scattered over the dataset', async () => {
  const rows = 30_000;
  const columns = [rowIdColumn, column('id', 'string'), column('note', 'string')];
  const idOf = (row: number): string => `rs${1_000_000 + 7 * row}`;
  const valuesOf = (step: number) => [
    Array.from({ length: rows }, (_, row) => BigInt(step * row)),
    Array.from({ length: rows }, (_, row) => idOf(row)),
    Array.from({ length: rows }, (_, row) => `${row} ${'x'.repeat(200)}`),
  ];
  const open = async (step: number): Promise<SegmentFile> => {
    const path = newFile();
    await writeSegment({ columns, data: batchOf(columns, valuesOf(step), rows, 1n), rows }, path);
    return new SegmentFile({ path });
  };
  const filterOf = (file: SegmentFile): Uint32Array | undefined => {
    const [group] = file.groups;
    const chunk = group!.chunks[file.leaves.findIndex(({ key }) => key === 'id')]!;
    return chunk.bloomFilter && file.filter(chunk);
  };
  for (const [step, isFiltered] of [
    [1, false],
    [2, false],
    [3, true],
    [50, true],
  ] as const) {
    const file = await open(step);
    try {
      const words = filterOf(file);
      expect([step, words !== undefined]).toEqual([step, isFiltered]);
      if (words === undefined) continue;
      const mayContain = (id: string): boolean =>
        mayContainAny(words, filterHashes(packStrings([id])));
      for (let row = 0; row < rows; row += 997) expect(mayContain(idOf(row))).toBe(true);
      const missingFlags = Array.from({ length: 200 }, (_, i) =>
        mayContain(`rs${1_000_001 + 7 * i}`),
      );
      expect(missingFlags.filter(Boolean).length).toBeLessThan(20);
    } finally {
      file.close();
    }
  }
});

test('the prefix of a chunk with a filter is one of all its strings', async () => {
  const rows = 20_000;
  const columns = [column('id', 'string'), column('note', 'string')];
  const notes = Array.from({ length: rows }, (_, row) => `${row} ${'x'.repeat(400)}`);
  const cases: readonly (readonly [of: (shuffled: number) => string, prefix: string | RegExp])[] = [
    [(n) => `rs${n}`, 'rs'],
    [(n) => `ä${n}`, ''],
    [(n) => `aä${n}`, 'a'],
    [(n) => `a\u212A${n}`, 'a'],
    [(n) => (n === 17 ? '' : `rs${n}`), ''],
    [(n) => `${n % 2 === 0 ? 'GRCH38' : 'grch38'}-${n}`, ''],
    // Bounds are truncated.
    [(n) => `${'p'.repeat(100)}${n}`, /^p{30,100}$/],
  ];
  for (const [makeId, prefix] of cases) {
    const path = newFile();
    const ids = Array.from({ length: rows }, (_, row) => makeId((row * 7_919) % rows));
    const data = batchOf(columns, [ids, notes], rows, 1n);
    await writeSegment({ columns, data, rows }, path);
    const file = new SegmentFile({ path });
    try {
      const at = file.leaves.findIndex(({ key }) => key === 'id');
      for (const { chunks } of file.groups) {
        expect([chunks[at]!.bloomFilter !== undefined, ids[0]]).toEqual([true, ids[0]]);
        expect(chunks[at]!.prefix).toEqual(
          typeof prefix === 'string' ? prefix : expect.stringMatching(prefix),
        );
        expect(ids.every((id) => id.startsWith(chunks[at]!.prefix))).toBe(true);
      }
    } finally {
      file.close();
    }
  }
});
