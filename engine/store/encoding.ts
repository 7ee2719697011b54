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

/**
 * What the encoder may use, by the leaves of the schema: it keeps every leaf's buffers of a row group at once, and traps
 * when its memory ends. A leaf of whole numbers takes 1.5 MB with version 2 (its delta encoder), a zstd context 160 kB, a
 * dictionary 65 kB; without any of them 8 kB. 1,200 samples of a VCF are 6,000 leaves.
 */
const frugality = [
  { leaves: 64, version: WriterVersion.V2, compression: Compression.ZSTD, dictionary: true },
  { leaves: 256, version: WriterVersion.V1, compression: Compression.ZSTD, dictionary: true },
  {
    leaves: Infinity,
    version: WriterVersion.V1,
    compression: Compression.SNAPPY,
    dictionary: false,
  },
];

const sampleBlocks = 16;
const sampleBlockRows = 64;

/**
 * How the Parquet file is written. Version 2 pages, because their fallbacks are the delta encodings, which nested columns
 * could not get otherwise: the encoder takes settings by name for top-level columns only.
 */
export function writerProperties(columns: Columns, children: readonly Data[]): WriterProperties {
  const leaves = leafCount(columns);
  const use = frugality.find((step) => leaves <= step.leaves)!;
  let builder = new WriterPropertiesBuilder()
    .setCreatedBy('strandlake')
    .setWriterVersion(use.version)
    .setCompression(use.compression) // zstd: level 1
    .setDictionaryEnabled(use.dictionary)
    .setStatisticsEnabled(EnabledStatistics.Chunk)
    .setDictionaryPageSizeLimit(dictionaryBytes)
    .setMaxRowGroupSize(rowGroupRows);
  for (const [i, column] of [...reservedColumns, ...columns].entries()) {
    if (column.isList || column.type === 'object') continue;
    if (column.physical !== '_id' && leaves > frugality[0]!.leaves) continue;
    const encoding = column.physical === '_id' ? Encoding.DELTA_BYTE_ARRAY : choose(children[i]!);
    if (encoding === undefined) continue;
    builder = builder
      .setColumnDictionaryEnabled(column.physical, false)
      .setColumnEncoding(column.physical, encoding);
  }
  return builder.build();
}

function leafCount(columns: Columns): number {
  return columns.reduce((sum, { children }) => sum + (children ? leafCount(children) : 1), 0);
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
