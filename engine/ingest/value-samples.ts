import type { Data } from 'apache-arrow';
import { dataViewOf } from '../core/buffers.js';
import { isNumeric, type Columns } from '../core/types.js';
import { bitsAt } from '../parquet/hybrid.js';
import type { Batch } from './batch.js';
import { mayContainEntityIds } from './entities/detect.js';

/** The size of a sample of the distinct values of a field. */
export interface SampleSize {
  /** The maximum number of sampled values. */
  readonly count: number;
  /** The maximum share of the distinct values to sample, above 0 and at most 1. */
  readonly rate: number;
}

/** Which values of the fields of a chunk are sampled. */
export interface SamplingOptions extends SampleSize {
  /** Dotted names of fields of which no values are sampled. */
  readonly except?: readonly string[];
}

/**
 * A sample of the distinct values of one field of strings, or of numbers that may be ids: the values with the smallest hashes, in the order
 * of their hashes. Nulls and empty strings are not sampled.
 */
export interface FieldSample {
  readonly path: readonly string[];
  readonly hashes: readonly number[];
  /** The values, truncated to 48 bytes. */
  readonly values: readonly string[];
}

/*
 * The values with the smallest hashes are an unbiased sample of the distinct values. They depend neither on the order of the records nor on
 * how the records are split into chunks: the sample of an import is merged from the samples of its chunks. Only which of several values
 * with the same hash is sampled depends on their order.
 */

/** Maximum number of bytes of a sampled value; further bytes do not help to detect its entity type. */
const maxSampledValueBytes = 48;

/** Samples the columns of a chunk that contain strings, or numbers that may be ids of entities. */
export function sampleBatch(batch: Batch, size: SamplingOptions): readonly FieldSample[] {
  const samples: FieldSample[] = [];
  const exceptNames = new Set(size.except);
  visit(batch.columns, batch.data.data.children, []);
  return samples;

  function visit(columns: Columns, children: readonly Data[], above: readonly string[]): void {
    for (const [i, column] of columns.entries()) {
      const data = column.isList ? children[i]!.children[0]! : children[i]!;
      const path = [...above, column.name];
      if (column.type === 'object') visit(column.children ?? [], data.children, path);
      if (exceptNames.has(path.join('.'))) continue;
      if (column.type === 'string') samples.push({ path, ...sampleColumn(data, size) });
      if (isNumeric(column.type) && mayContainEntityIds(column.name))
        samples.push({ path, ...sampleNumbers(data, size) });
    }
  }
}

/** Samples a column of numbers. This is done only for columns whose names suggest ids, so it need not be fast. */
function sampleNumbers(data: Data, size: SampleSize): Omit<FieldSample, 'path'> {
  const column = data.values as Int32Array | BigInt64Array | Float64Array;
  const sample = new SmallestHashes<number>(size);
  for (let row = 0; row < data.length; row++) {
    if (!data.getValid(row)) continue;
    const mixed = Math.imul(Number(column[row]) ^ 0x9e3779b1, 0x85ebca6b);
    const hash = (mixed ^ (mixed >>> 15)) >>> 1;
    if (hash <= sample.maxHash) sample.add(hash, row);
  }
  const { hashes, values } = sample.result();
  return { hashes, values: values.map((row) => String(column[row])) };
}

function sampleColumn(data: Data, size: SampleSize): Omit<FieldSample, 'path'> {
  const bytes = data.values as Uint8Array;
  const view = dataViewOf(bytes);
  const offsets = data.valueOffsets as Int32Array;
  const { length } = data;
  const sample = new SmallestHashes<number>(size);
  // Most columns repeat values, so values whose hash was seen recently are skipped.
  const recent = new Int32Array(256).fill(-1);
  let { maxHash } = sample;
  const hasNulls = data.nullCount > 0;
  for (let first = 0; first < length; first += 8) {
    const rowsLeft = length - first;
    // Nulls are left out eight at a time, because many columns are mostly null.
    let present = rowsLeft < 8 ? (1 << rowsLeft) - 1 : 255;
    if (hasNulls) present &= bitsAt(data.nullBitmap, data.offset + first);
    for (; present !== 0; present &= present - 1) {
      const row = first + 31 - Math.clz32(present & -present);
      const from = offsets[row]!;
      const end = offsets[row + 1]!;
      if (from === end) continue; // an empty string
      const hash = sampleHash(view, from, Math.min(end - from, maxSampledValueBytes));
      if (hash > maxHash || recent[hash & 255] === hash) continue;
      recent[hash & 255] = hash;
      sample.add(hash, row);
      ({ maxHash } = sample);
    }
  }
  const { hashes, values } = sample.result();
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const value = (row: number): string =>
    text.toString(
      'utf8',
      offsets[row],
      Math.min(offsets[row + 1]!, offsets[row]! + maxSampledValueBytes),
    );
  return { hashes, values: values.map(value) };
}

/**
 * Hashes the length of a truncated value, its last four bytes and the four in its middle: every value is hashed, so this has to be fast.
 * Values that are equal in these count as one.
 */
function sampleHash(view: DataView, from: number, size: number): number {
  let end = 0;
  let middle = 0;
  if (size >= 4) {
    end = view.getInt32(from + size - 4, true);
    middle = view.getInt32(from + ((size - 4) >> 1), true);
  } else for (let i = 0; i < size; i++) end = (end << 8) | view.getUint8(from + i);
  let hash = Math.imul(end ^ Math.imul(size, 0x9e3779b1), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13) ^ middle, 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 1;
}

/** A map of values by hash that keeps those with the `count` smallest hashes. */
class SmallestHashes<T> {
  /** The greatest hash that can still be part of the sample. */
  maxHash: number;
  readonly #values = new Map<number, T>();
  readonly #count: number;

  constructor({ count, rate }: SampleSize) {
    this.#count = count;
    this.maxHash = Math.floor(rate * 0x7fffffff);
  }

  /** Adds a value unless there is one with the same hash. */
  add(hash: number, value: T): void {
    if (hash > this.maxHash || this.#values.has(hash)) return;
    this.#values.set(hash, value);
    // The map is trimmed in batches, which become rarer as `maxHash` decreases.
    if (this.#values.size > 4 * this.#count) this.#trim();
  }

  result(): { readonly hashes: readonly number[]; readonly values: readonly T[] } {
    this.#trim();
    const hashes = [...this.#values.keys()].sort((a, b) => a - b);
    return { hashes, values: hashes.map((hash) => this.#values.get(hash)!) };
  }

  #trim(): void {
    if (this.#values.size < this.#count) return;
    this.maxHash = Float64Array.from(this.#values.keys()).sort()[this.#count - 1]!;
    for (const hash of this.#values.keys()) if (hash > this.maxHash) this.#values.delete(hash);
  }
}

/** Merges the samples of the chunks of an import, which are added in the order of the chunks. */
export class SampleMerge {
  readonly #size: SampleSize;
  readonly #fields = new Map<
    string,
    { readonly path: readonly string[]; readonly values: SmallestHashes<string> }
  >();

  constructor(size: SampleSize) {
    this.#size = size;
  }

  add(samples: readonly FieldSample[]): void {
    for (const { path, hashes, values } of samples) {
      const key = JSON.stringify(path);
      const field = this.#fields.get(key) ?? {
        path,
        values: new SmallestHashes<string>(this.#size),
      };
      this.#fields.set(key, field);
      for (const [i, hash] of hashes.entries()) field.values.add(hash, values[i]!);
    }
  }

  result(): readonly FieldSample[] {
    return [...this.#fields.values()].map(({ path, values }) => ({ path, ...values.result() }));
  }
}
