import { constants, zstdCompressSync } from 'node:zlib';
import { encodingId, type Encoder } from './encoding.js';
import type { ByteSink } from './sink.js';
import { ThriftWriter } from './thrift.js';

/** Codecs by their number in parquet.thrift (`CompressionCodec`). */
export const codecId = { none: 0, zstd: 6 } as const;

/** Pages by their number in parquet.thrift (`PageType`). */
export const pageType = { data: 0, dictionary: 2 } as const;

/**
 * Level 1: higher ones take twice the time and more for a few percent. With tables that stay in the processor's first
 * cache it takes 15 % less time, for files 1 % larger.
 */
const zstdParams = {
  [constants.ZSTD_c_compressionLevel]: 1,
  [constants.ZSTD_c_windowLog]: 17,
  [constants.ZSTD_c_hashLog]: 13,
};
/** Less than this is not worth a call, which takes 12 µs: wide schemas have thousands of small chunks. */
const leastBytes = 1024;
/** Compression that saves less than this costs readers more than the disk gains. */
const leastSaving = 0.05;

/** The body of a page as it is, and as the file has it. */
export interface Body {
  readonly plain: Uint8Array;
  readonly stored: Uint8Array;
}

/** A body as it is. */
export function uncompressed(plain: Uint8Array): Body {
  return { plain, stored: plain };
}

/** A body compressed. */
export function compressed(plain: Uint8Array): Body {
  if (plain.length === 0) return uncompressed(plain); // there is no such page
  const stored = zstdCompressSync(plain, {
    chunkSize: (plain.length >> 1) + 1024, // the buffer for the result; two if it is not enough
    pledgedSrcSize: plain.length,
    params: zstdParams,
  });
  return { plain, stored };
}

/** The first bodies of a column chunk compressed; undefined if it is better to leave the chunk as it is. */
export function tryCompression(bodies: readonly Uint8Array[]): readonly Body[] | undefined {
  const bytes = bodies.reduce((sum, body) => sum + body.length, 0);
  if (bytes < leastBytes || bodies.every(looksRandom)) return undefined;
  const tried = bodies.map(compressed);
  const stored = tried.reduce((sum, body) => sum + body.stored.length, 0);
  return stored < bytes * (1 - leastSaving) ? tried : undefined;
}

const sampleBytes = 16 << 10;

/** Would compressing a large body be in vain? A piece from its middle tells, behind the levels. */
function looksRandom(body: Uint8Array): boolean {
  if (body.length < 4 * sampleBytes) return body.length < leastBytes;
  const middle = body.length >> 1;
  const { stored } = compressed(body.subarray(middle, middle + sampleBytes));
  return stored.length > sampleBytes * (1 - leastSaving);
}

/** Appends a dictionary page; returns its size as if nothing were compressed. */
export function writeDictionaryPage(file: ByteSink, body: Body, { entries }: Encoder): number {
  const page = startPage(file, pageType.dictionary, body);
  page.thrift.struct(7);
  page.thrift.i32(1, entries);
  page.thrift.i32(2, encodingId.plain);
  page.thrift.end();
  return endPage(file, page, body);
}

/** Appends a data page of so many slots (version 1, which compresses the levels, too); returns its size likewise. */
export function writeDataPage(
  file: ByteSink,
  body: Body,
  slots: number,
  { encoding }: Encoder,
): number {
  const page = startPage(file, pageType.data, body);
  page.thrift.struct(5);
  page.thrift.i32(1, slots);
  page.thrift.i32(2, encoding);
  page.thrift.i32(3, encodingId.rle); // of definition levels
  page.thrift.i32(4, encodingId.rle); // of repetition levels
  page.thrift.end();
  return endPage(file, page, body);
}

interface Page {
  readonly thrift: ThriftWriter;
  readonly begin: number;
}

/** The fields that all page headers (parquet.thrift, `PageHeader`) begin with. */
function startPage(file: ByteSink, type: number, body: Body): Page {
  const thrift = new ThriftWriter(file);
  const begin = file.end;
  thrift.start();
  thrift.i32(1, type);
  thrift.i32(2, body.plain.length);
  thrift.i32(3, body.stored.length);
  return { thrift, begin };
}

function endPage(file: ByteSink, { thrift, begin }: Page, body: Body): number {
  thrift.end();
  const header = file.end - begin;
  file.append(body.stored);
  return header + body.plain.length;
}
