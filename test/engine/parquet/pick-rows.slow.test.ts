import { expect, test } from '@jest/globals';
import type { Column, Value } from '../../../engine/core/types.js';
import { readValues, type DecodedValues } from '../../../engine/parquet/decode-values.js';
import { encodingId } from '../../../engine/parquet/page-encodings.js';
import { pickRow, pickRows } from '../../../engine/parquet/pick-rows.js';
import { readChunk, type DecodedLeaf } from '../../../engine/parquet/read-column-chunk.js';
import { footerLength, parseFooter } from '../../../engine/parquet/read-footer.js';
import {
  decompressChunkPages,
  decompressPage,
  isZstd,
  pageExtents,
} from '../../../engine/parquet/read-pages.js';
import { parquetSchema, type ParquetLeaf } from '../../../engine/parquet/parquet-schema.js';
import { parquetColumns } from '../../../engine/store/arrow-columns.js';
import { seed } from '../../seed.js';
import {
  batchOf,
  random,
  randomColumns,
  randomDistribution,
  randomValue,
} from '../store/random.js';
import { encodeFile } from './oracles.js';

/** A slot of a row: its levels, and its value if it has one. */
type Slot = readonly [repetition: number, definition: number, value?: unknown];

/** Returns the values of pages as plain values. */
function plainValues(pages: readonly DecodedValues[]): readonly unknown[] {
  return pages.flatMap((values): unknown[] => {
    if (values.kind === 'booleans') return [...values.booleans];
    if (values.kind === 'int32s') return [...values.int32s];
    if (values.kind === 'int64s')
      return Array.from({ length: values.int32s.length / 2 }, (_, i) =>
        values.int32s.subarray(2 * i, 2 * i + 2).join(' '),
      );
    const { bytes, offsets } = values;
    return Array.from({ length: offsets.length - 1 }, (_, i) =>
      Buffer.from(bytes.subarray(offsets[i], offsets[i + 1])).toString('hex'),
    );
  });
}

/** Returns the slots of each row. */
function rowsOf(
  { definition, repetition, slots }: DecodedLeaf,
  values: readonly unknown[],
  { maxDefinition }: ParquetLeaf,
): readonly (readonly Slot[])[] {
  const rows: Slot[][] = [];
  let valueIndex = 0;
  for (let i = 0; i < slots; i++) {
    const levels = [repetition?.[i] ?? 0, definition[i]!] as const;
    if (levels[0] === 0) rows.push([]);
    rows.at(-1)!.push(levels[1] === maxDefinition ? [...levels, values[valueIndex++]] : levels);
  }
  expect(valueIndex).toBe(values.length);
  return rows;
}

test(`picked rows are those of whole chunks, in every encoding (STRANDLAKE_SEED=${seed})`, () => {
  const encodings = new Set<number>();
  for (let round = 0; round < 12; round++) {
    const next = random(seed + round);
    const randomBelow = (most: number): number => Math.floor(next() * most);
    const nearColumn: Column = {
      name: 'near',
      physical: 'near',
      type: 'long',
      isList: next() < 0.5,
    };
    const columns = [...randomColumns(next, 5, 3), nearColumn, { name: 'far', physical: 'far', type: 'integer', isList: false } as const]; // prettier-ignore
    const rowCount = [1, 50, 3_000, 12_000][round % 4]!;
    const valuesByColumn = columns.map((column): Value[] => {
      const style = randomDistribution(next);
      return Array.from({ length: rowCount }, (_, row): Value => {
        if (column.name === 'far') return next() < 0.1 ? null : randomBelow(2 ** 20);
        if (column !== nearColumn) return randomValue(next, column, style, row);
        const number = 4_711n * BigInt(randomBelow(rowCount));
        return column.isList ? Array.from({ length: randomBelow(3) }, () => number) : number;
      });
    });
    const file = encodeFile(columns, [batchOf(columns, valuesByColumn, rowCount, 1n)]);
    const footer = parseFooter(file.subarray(file.length - footerLength(file, file.length)));
    for (const [i, leaf] of parquetSchema(parquetColumns(columns)).leaves.entries()) {
      const { dictionaryOffset, dataOffset, storedBytes, codec, slots } = footer.groups[0]!.chunks[i]!; // prettier-ignore
      const begin = dictionaryOffset ?? dataOffset;
      const bytes = file.subarray(begin, begin + storedBytes);
      const chunk = { slots, isCompressed: isZstd(codec) };
      const wholeChunk = readChunk(bytes, leaf, chunk);
      const expectedRows = rowsOf(wholeChunk, plainValues(wholeChunk.values), leaf);
      expect(expectedRows.length).toBe(rowCount);

      const share = [1, 0.5, 0.01][randomBelow(3)]!;
      const rows = Int32Array.from(expectedRows.keys()).filter(() => next() < share);
      const pickedChunk = pickRows(decompressChunkPages(bytes, chunk), leaf, rows);
      const caseInfo = [seed, round, leaf.path];
      const foundRows = rowsOf(pickedChunk, plainValues(pickedChunk.values), leaf);
      expect([caseInfo, foundRows]).toEqual([
        caseInfo,
        Array.from(rows, (row) => expectedRows[row]),
      ]);
      const tooMany = Int32Array.of(...rows.subarray(-1), rowCount);
      expect(() => pickRows(decompressChunkPages(bytes, chunk), leaf, tooMany)).toThrow(RangeError);

      let pageFirstRow = 0;
      let dictionary: readonly unknown[] = [];
      for (const extent of pageExtents(bytes, chunk)) {
        const pageBytes = bytes.subarray(extent.begin, extent.end);
        const decompress = () =>
          decompressPage({ bytes: pageBytes, isCompressed: chunk.isCompressed });
        const { body, encoding, count: entryCount } = decompress();
        if (extent.isDictionary) {
          dictionary = plainValues([
            readValues(body, leaf.physical, encoding, entryCount, undefined),
          ]);
          continue;
        }
        encodings.add(encoding);
        let pageRowCount = 0;
        for (let entriesLeft = entryCount; entriesLeft > 0; pageRowCount++)
          entriesLeft -= expectedRows[pageFirstRow + pageRowCount]!.length;
        for (const row of [
          0,
          pageRowCount - 1,
          randomBelow(pageRowCount),
          randomBelow(pageRowCount),
        ]) {
          const pickedRow = pickRow(decompress(), leaf, row);
          const values = plainValues(pickedRow.values);
          const isIndexed = encoding === encodingId.rleDictionary;
          const ownValues = isIndexed ? values.map((index) => dictionary[index as number]) : values;
          expect([caseInfo, rowsOf(pickedRow, ownValues, leaf)]).toEqual([
            caseInfo,
            [expectedRows[pageFirstRow + row]],
          ]);
        }
        expect(() => pickRow(decompress(), leaf, pageRowCount)).toThrow(`no row ${pageRowCount} in ${pageRowCount} rows`); // prettier-ignore
        pageFirstRow += pageRowCount;
      }
      expect(pageFirstRow).toBe(rowCount);
    }
  }
  expect([...encodings].sort()).toEqual(Object.values(encodingId).sort());
});
