import type { Data } from 'apache-arrow';
import {
  Compression,
  EnabledStatistics,
  Encoding,
  WriterPropertiesBuilder,
  WriterVersion,
  type WriterProperties,
} from 'parquet-wasm/node';
import type { Columns } from '../types.js';
import { reservedColumns } from './arrow.js';

/** DuckDB's own vector group; also bounds what the encoder holds in memory. */
export const rowGroupRows = 122_880;

/**
 * A column whose dictionary outgrows this falls back to the plain or delta encoding. Small on purpose: of 250,000 rows of
 * 22 columns, 1 MB (the default) took 555 ms and 7.0 MB, 32 kB took 390 ms and 4.7 MB, with the same speed of queries.
 */
const dictionaryBytes = 32 << 10;

const sampleBlocks = 16;
const sampleBlockRows = 64;

/**
 * How the Parquet file is written. Version 2 pages, because their fallbacks are the delta encodings, which nested columns
 * could not get otherwise: the encoder takes settings by name for top-level columns only.
 */
export function writerProperties(columns: Columns, children: readonly Data[]): WriterProperties {
  let builder = new WriterPropertiesBuilder()
    .setCreatedBy('strandlake')
    .setWriterVersion(WriterVersion.V2)
    .setCompression(Compression.ZSTD) // level 1
    .setStatisticsEnabled(EnabledStatistics.Chunk)
    .setDictionaryPageSizeLimit(dictionaryBytes)
    .setMaxRowGroupSize(rowGroupRows);
  for (const [i, column] of [...reservedColumns, ...columns].entries()) {
    if (column.isList || column.type === 'object') continue;
    const encoding = column.physical === '_id' ? Encoding.DELTA_BYTE_ARRAY : choose(children[i]!);
    if (encoding === undefined) continue;
    builder = builder
      .setColumnDictionaryEnabled(column.physical, false)
      .setColumnEncoding(column.physical, encoding);
  }
  return builder.build();
}

/** The encoding of a column whose values hardly repeat; undefined where a dictionary is better, or soon given up. */
function choose(data: Data): Encoding | undefined {
  const values = data.values as unknown;
  if (data.nullCount > data.length / 2) return undefined;
  if (values instanceof BigInt64Array) return numbers(values, data.length);
  if (values instanceof Int32Array) return numbers(values, data.length);
  if (data.valueOffsets === undefined) return undefined;
  return text(values as Uint8Array, data.valueOffsets as Int32Array, data.length);
}

/** Whole numbers that hardly ever fall (positions) are smallest as differences. */
function numbers(values: BigInt64Array | Int32Array, length: number): Encoding | undefined {
  const seen = new Set<bigint | number>();
  let rising = 0;
  let sampled = 0;
  for (const i of sample(length)) {
    seen.add(values[i]!);
    if (i > 0 && values[i]! >= values[i - 1]!) rising++;
    sampled++;
  }
  if (seen.size * 2 < sampled) return undefined;
  return rising >= sampled * 0.9 ? Encoding.DELTA_BINARY_PACKED : undefined;
}

/** Texts that share their beginnings (`GRCh38-1-10468-…`) are smallest as what differs. */
function text(bytes: Uint8Array, offsets: Int32Array, length: number): Encoding | undefined {
  const seen = new Set<string>();
  let total = 0;
  let shared = 0;
  let sampled = 0;
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (const i of sample(length)) {
    const from = offsets[i]!;
    const size = offsets[i + 1]! - from;
    seen.add(buffer.toString('latin1', from, from + Math.min(size, 64)));
    sampled++;
    total += size;
    if (i === 0) continue;
    const before = offsets[i - 1]!;
    const most = Math.min(size, from - before);
    let k = 0;
    while (k < most && bytes[before + k] === bytes[from + k]) k++;
    shared += k;
  }
  if (seen.size * 2 < sampled) return undefined;
  return shared * 2 > total ? Encoding.DELTA_BYTE_ARRAY : Encoding.PLAIN;
}

/** Rows of a few blocks spread over the column: neighbours are what a page's compression sees. */
function* sample(length: number): Generator<number> {
  const step = Math.max(sampleBlockRows, Math.floor(length / sampleBlocks));
  for (let block = 0; block < length; block += step) {
    const end = Math.min(length, block + sampleBlockRows);
    for (let i = block; i < end; i++) yield i;
  }
}
