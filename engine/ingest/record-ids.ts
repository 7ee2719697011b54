import { makeData, RecordBatch, Schema, Struct, Utf8, type Data } from 'apache-arrow';
import { Field } from 'apache-arrow';
import { acquireBuffer, releaseBuffer } from '../core/buffers.js';
import { AppError } from '../core/errors.js';
import { reservedColumns } from '../store/arrow-columns.js';
import type { Batch } from './batch.js';

const commitDigits = 10;
const chunkDigits = 4;
const rowDigits = 5;

/** Length of the part of an `_id` that all records of a chunk share, in characters. */
export const chunkPrefixLength = commitDigits + chunkDigits;
/** Length of a record's `_id` in characters. */
export const idLength = chunkPrefixLength + rowDigits;

/** A batch with the columns `_id` and `_commit`, which have their own buffers. */
interface IdentifiedBatch extends Batch {
  /** Releases the buffers of `_id` and `_commit`; the batch must not be used after this call. */
  release(): void;
}

/**
 * Adds the reserved columns in front: `_id`, which is unique on the server and ascends within a commit (the numbers of commit, chunk and
 * row in base 36, each of fixed width), and `_commit`, the commit's id as a string.
 */
export function withRecordIds(batch: Batch, commitId: number, chunk: number): IdentifiedBatch {
  const { rows } = batch;
  const reservedData = [recordIdColumn(rows, commitId, chunk), commitColumn(rows, commitId)];
  return {
    ...withReservedColumns(batch, reservedData.map(({ data }) => data)),
    release: () => reservedData.forEach(releaseColumn),
  }; // prettier-ignore
}

/** Returns the column `_commit` of records of one commit; `releaseColumn` releases its buffers. */
export function commitColumn(rows: number, commitId: number): PooledColumn {
  return repeatedColumn(rows, String(commitId));
}

/** Releases the buffers of a column, which must not be used after this call. */
export function releaseColumn({ bytes, offsets }: PooledColumn): void {
  releaseBuffer(bytes);
  releaseBuffer(offsets);
}

/** Adds the reserved columns, with these values, in front of the other columns. */
export function withReservedColumns(batch: Batch, reserved: readonly Data[]): Batch {
  const { rows, data } = batch;
  const fields = [
    ...reservedColumns.map(({ physical }) => new Field(physical, new Utf8(), true)),
    ...data.schema.fields,
  ];
  const children = [...reserved, ...data.data.children];
  const struct = makeData({ type: new Struct(fields), length: rows, nullCount: 0, children });
  return { ...batch, data: new RecordBatch(new Schema(fields), struct) };
}

/** Returns the `_id` of the first record of a chunk. */
export function firstRecordId(commitId: number, chunk: number): string {
  return base36(commitId, commitDigits) + base36(chunk, chunkDigits) + '0'.repeat(rowDigits);
}

/**
 * Returns the chunk of a record, which is the first part of its `_id`, and its row in the chunk; undefined for an `_id` of another form.
 */
export function parseRecordId(id: string): readonly [chunk: string, row: number] | undefined {
  if (id.length !== idLength || !/^[0-9a-z]+$/.test(id)) return undefined;
  return [id.slice(0, chunkPrefixLength), parseInt(id.slice(chunkPrefixLength), 36)];
}

/** Returns the row in its chunk of a record whose `_id` begins at `start`; -1 if a character of the row is not a digit of base 36. */
export function rowOfRecordId(bytes: Uint8Array, start: number): number {
  let row = 0;
  for (let at = start + chunkPrefixLength; at < start + idLength; at++) {
    const code = bytes[at]!;
    if (code >= 48 && code <= 57) row = row * 36 + code - 48;
    else if (code >= 97 && code <= 122) row = row * 36 + code - 87;
    else return -1;
  }
  return row;
}

/** Returns the `_id` of the record that is `rows` rows after the record `id` in the same chunk. */
export function recordIdAfterRows(id: string, rows: number): string {
  const [chunk, row] = parseRecordId(id)!;
  return chunk + base36(row + rows, rowDigits);
}

/** A string column with buffers of its own. */
interface PooledColumn {
  readonly data: Data;
  readonly bytes: Uint8Array;
  readonly offsets: Int32Array;
}

function recordIdColumn(rows: number, commitId: number, chunk: number): PooledColumn {
  const prefix = base36(commitId, commitDigits) + base36(chunk, chunkDigits);
  if (rows > 36 ** rowDigits) throw new AppError('internal', `${rows} records in one chunk`);
  const current = new TextEncoder().encode(prefix + '0'.repeat(rowDigits));
  const bytes = repeatBytes(rows, current);
  for (let row = 0, at = chunkPrefixLength; row < rows; row++, at += idLength) {
    for (let i = 0; i < rowDigits; i++) bytes[at + i] = current[chunkPrefixLength + i]!;
    // Increments the number in base 36 in place: 9 is followed by a, z by 0 with a carry.
    for (let i = idLength - 1; i >= 0; i--) {
      const c = current[i]!;
      if (c === 122) current[i] = 48;
      else {
        current[i] = c === 57 ? 97 : c + 1;
        break;
      }
    }
  }
  return stringColumn(rows, idLength, bytes);
}

function repeatedColumn(rows: number, value: string): PooledColumn {
  const bytes = new TextEncoder().encode(value);
  return stringColumn(rows, bytes.length, repeatBytes(rows, bytes));
}

/** Returns a buffer with `rows` copies of `valueBytes`; each step doubles the number of copies. */
function repeatBytes(rows: number, valueBytes: Uint8Array): Uint8Array {
  const size = rows * valueBytes.length;
  const bytes = acquireBuffer(Uint8Array, Math.max(1, size));
  if (rows > 0) bytes.set(valueBytes);
  for (let filled = valueBytes.length; filled < size; filled *= 2)
    bytes.copyWithin(filled, 0, Math.min(filled, size - filled));
  return bytes;
}

function stringColumn(rows: number, width: number, bytes: Uint8Array): PooledColumn {
  const offsets = acquireBuffer(Int32Array, rows + 1);
  for (let row = 0; row <= rows; row++) offsets[row] = row * width;
  const data = makeData({
    type: new Utf8(),
    length: rows,
    nullCount: 0,
    valueOffsets: offsets.subarray(0, rows + 1),
    data: bytes.subarray(0, rows * width),
  });
  return { data, bytes, offsets };
}

function base36(value: number, digits: number): string {
  const text = value.toString(36).padStart(digits, '0');
  if (text.length > digits)
    throw new AppError('internal', `${value} needs more than ${digits} digits`);
  return text;
}
