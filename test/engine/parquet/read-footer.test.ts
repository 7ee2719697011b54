import { describe, expect, test } from '@jest/globals';
import { readColumnIndex, readOffsetIndex, type SchemaElement } from 'hyparquet';
import { footerLength, parseColumnIndex, parseFooter, parseOffsetIndex } from '../../../engine/parquet/read-footer.js'; // prettier-ignore
import { codecId } from '../../../engine/parquet/write-page.js';
import type { Columns } from '../../../engine/core/types.js';
import { seededRandom } from '../../random.js';
import { seed } from '../../seed.js';
import { batchOf, randomColumns, randomDistribution, randomValue } from '../store/random.js';
import { encodeFile, encodeByWasm, footerOf } from './oracles.js';

/** Returns two files with the same random records, one written by Strandlake and one by parquet-wasm. */
function randomFiles(seedOfFile: number, rows: number): readonly Uint8Array[] {
  const next = seededRandom(seedOfFile);
  const columns: Columns = randomColumns(next, 6, 3);
  const values = columns.map((column) => {
    const style = randomDistribution(next);
    return Array.from({ length: rows }, (_, row) => randomValue(next, column, style, row));
  });
  const batch = batchOf(columns, values, rows, 1n);
  // The files are copied, because slices of Node's Buffers share memory.
  return [encodeFile(columns, [batch]), encodeByWasm(columns, batch)].map((file) => Uint8Array.from(file)); // prettier-ignore
}

function footerBytes(file: Uint8Array): Uint8Array {
  return file.subarray(file.length - footerLength(file.subarray(-64), file.length));
}

const byteRange = (begin: bigint | undefined, bytes: number | undefined) =>
  begin === undefined ? undefined : { begin: Number(begin), bytes };
const numberOrUndefined = (value: bigint | undefined) =>
  value === undefined ? undefined : Number(value);

describe(`the footer of a file (STRANDLAKE_SEED=${seed})`, () => {
  test('is read as hyparquet reads it, whoever wrote it', () => {
    for (let round = 0; round < 40; round++) {
      for (const file of randomFiles(seed + round, 1 + (round % 5) * 400)) {
        const expectedFooter = footerOf(file);
        const found = parseFooter(footerBytes(file));
        expect(found.rows).toBe(Number(expectedFooter.num_rows));
        expect(found.schema).toEqual(
          expectedFooter.schema.map((element) => ({
            name: element.name,
            repetition: (element.repetition_type ?? 'REQUIRED').toLowerCase(),
            physical: element.type && physicalTypes.indexOf(element.type),
            childCount: element.num_children,
            isList: element.converted_type === 'LIST',
            isTimestamp: element.converted_type === 'TIMESTAMP_MICROS',
          })),
        );
        expect(
          found.groups.map(({ rows, chunks }) => ({
            rows,
            chunks: chunks.map(({ min: _min, max: _max, ...rest }) => rest),
          })),
        ).toEqual(
          expectedFooter.row_groups.map(({ num_rows, columns }) => ({
            rows: Number(num_rows),
            chunks: columns.map((column) => {
              const meta = column.meta_data!;
              return {
                path: meta.path_in_schema,
                codec: meta.codec === 'ZSTD' ? codecId.zstd : codecId.none,
                slots: Number(meta.num_values),
                storedBytes: Number(meta.total_compressed_size),
                plainBytes: Number(meta.total_uncompressed_size),
                dataOffset: Number(meta.data_page_offset),
                dictionaryOffset: numberOrUndefined(meta.dictionary_page_offset),
                nulls: Number(meta.statistics?.null_count ?? 0n),
                areBoundsExact:
                  (meta.statistics?.is_max_value_exact ?? true) &&
                  (meta.statistics?.is_min_value_exact ?? true),
                stringBytes: Number(meta.size_statistics?.unencoded_byte_array_data_bytes ?? 0n),
                filter: byteRange(meta.bloom_filter_offset, meta.bloom_filter_length),
                offsetIndex: byteRange(column.offset_index_offset, column.offset_index_length),
                columnIndex: byteRange(column.column_index_offset, column.column_index_length),
              };
            }),
          })),
        );
      }
    }
  });

  test('leads to the index of pages, which is read as hyparquet reads it', () => {
    let pageCount = 0;
    for (let round = 0; round < 10; round++) {
      for (const file of randomFiles(seed + round, 3000)) {
        const { groups, schema } = parseFooter(footerBytes(file));
        const leaves = schema.filter(({ physical }) => physical !== undefined);
        for (const [i, { offsetIndex, columnIndex }] of groups
          .flatMap((each) => each.chunks)
          .entries()) {
          // prettier-ignore
          const { physical } = leaves[i % leaves.length]!;
          if (offsetIndex) {
            const bytes = file.slice(offsetIndex.begin, offsetIndex.begin + offsetIndex.bytes);
            const expectedIndex = readOffsetIndex({ view: new DataView(bytes.buffer), offset: 0 });
            const found = parseOffsetIndex(bytes, 1_000_000);
            const { page_locations: expectedPages } = expectedIndex;
            expect([...found.offsets]).toEqual(expectedPages.map(({ offset }) => Number(offset)));
            expect([...found.bytes]).toEqual(
              expectedPages.map((page) => page.compressed_page_size),
            );
            const firstRows = expectedPages.map((page) => Number(page.first_row_index));
            expect([...found.firstRows]).toEqual([...firstRows, 1_000_000]);
            pageCount += expectedPages.length;
          }
          if (columnIndex) {
            const bytes = file.slice(columnIndex.begin, columnIndex.begin + columnIndex.bytes);
            const element = { type: physicalTypes[physical!] } as SchemaElement;
            const reader = { view: new DataView(bytes.buffer), offset: 0 };
            const expectedIndex = readColumnIndex(reader, element, { stringFromBytes: (value: unknown) => value } as never); // prettier-ignore
            expect(
              parseColumnIndex(bytes, physical!).map(({ nulls, min, max }) => [nulls, comparableBound(min), comparableBound(max)]), // prettier-ignore
            ).toEqual(
              expectedIndex.null_pages.map((isEmpty, page) => [
                Number(expectedIndex.null_counts![page]),
                isEmpty ? undefined : comparableBound(expectedIndex.min_values[page]),
                isEmpty ? undefined : comparableBound(expectedIndex.max_values[page]),
              ]),
            );
          }
        }
      }
    }
    expect(pageCount).toBeGreaterThan(100);
  });

  test('with changed or missing bytes is read or refused, and nothing else happens', () => {
    const next = seededRandom(seed);
    let refusedCount = 0;
    for (const file of randomFiles(seed, 50)) {
      const wholeFooter = footerBytes(file);
      for (let i = 0; i < 1500; i++) {
        const bytes = wholeFooter.slice(
          0,
          next() < 0.3 ? Math.floor(next() * wholeFooter.length) : undefined,
        );
        for (let n = 0; n < 3; n++) bytes[Math.floor(next() * bytes.length)] = Math.floor(next() * 256); // prettier-ignore
        try {
          parseFooter(bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
          refusedCount++;
        }
      }
    }
    expect(refusedCount).toBeGreaterThan(500);
  });
});

/** The Parquet types by number (`Type` of parquet.thrift). */
const physicalTypes: SchemaElement['type'][] = ['BOOLEAN', 'INT32', 'INT64', 'INT96', 'FLOAT', 'DOUBLE', 'BYTE_ARRAY']; // prettier-ignore

/** Returns a bound in a form in which equal bounds are equal by `toEqual`. */
function comparableBound(bound: unknown): unknown {
  if (bound instanceof Uint8Array) return Buffer.from(bound).toString('hex');
  return typeof bound === 'boolean' ? Number(bound) : bound;
}
