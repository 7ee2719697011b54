import { encodingId, type Encoder } from './encoding.js';
import type { ByteSink } from './byte-sink.js';
import { ThriftWriter } from './thrift.js';
import { compressFrame } from './zstd.js';

/** Codecs by their number in parquet.thrift (`CompressionCodec`). */
export const codecId = { none: 0, zstd: 6 } as const;

/** Pages by their number in parquet.thrift (`PageType`). */
export const pageType = { data: 0, dictionary: 2 } as const;

/** The size below which chunks are not compressed: wide schemas have thousands of small chunks, which consist mostly of headers. */
const leastChunkBytes = 1024;
/** Pages of fewer bytes are stored uncompressed. */
const leastPageBytes = 256;
/** A chunk is compressed if that saves this share of its bytes, */
const leastSaving = 0.05;
/** and, if it has several pages, this number of bytes per page. */
const leastPageSaving = 200;

/** The body of a page before and after compression. */
interface PageBody {
  readonly plain: Uint8Array;
  readonly stored: Uint8Array;
}

/** The body of a page that is not compressed. */
export function uncompressedBody(plain: Uint8Array): PageBody {
  return { plain, stored: plain };
}

/** The body of a page that is compressed with zstd. */
export function compressedBody(plain: Uint8Array): PageBody {
  return { plain, stored: plain.length < leastPageBytes ? rawFrame(plain) : compressFrame(plain) };
}

/**
 * A zstd frame with one raw block (RFC 8878, section 3.1.1), written without a call of zstd. All pages of a column
 * chunk have one codec, and zstd does not make the smallest pages smaller, so these become raw blocks.
 */
function rawFrame(plain: Uint8Array): Uint8Array {
  const frame = new Uint8Array(rawFrameBytes + plain.length);
  const view = new DataView(frame.buffer);
  view.setUint32(0, 0xfd2fb528, true); // magic
  view.setUint8(4, 0x20); // frame header: single segment, one byte of content size
  view.setUint8(5, plain.length);
  view.setUint16(6, 1 | (plain.length << 3), true); // block header of three bytes: last block, raw, its size
  frame.set(plain, rawFrameBytes);
  return frame;
}

const rawFrameBytes = 9;

/** Compresses the dictionary of a column chunk and one of its `pages`; undefined if the chunk should not be compressed. */
export function tryCompression(
  dictionary: Uint8Array,
  page: Uint8Array,
  pages: number,
): { readonly dictionary: PageBody; readonly page: PageBody } | undefined {
  const bytes = dictionary.length + page.length * pages;
  if (bytes < leastChunkBytes) return undefined;
  const hasDictionary = dictionary.length > 0;
  const tried = {
    dictionary: hasDictionary
      ? { plain: dictionary, stored: compressFrame(dictionary) }
      : uncompressedBody(dictionary),
    page: compressedBody(page),
  };
  const stored = tried.dictionary.stored.length + tried.page.stored.length * pages;
  const saving = Math.max(bytes * leastSaving, pages > 1 ? pages * leastPageSaving : 0);
  return bytes - stored > saving ? tried : undefined;
}

/** Appends a dictionary page; returns its size before compression, header included. */
export function writeDictionaryPage(file: ByteSink, body: PageBody, { entries }: Encoder): number {
  const page = startPage(file, pageType.dictionary, body);
  page.thrift.struct(7);
  page.thrift.i32(1, entries);
  page.thrift.i32(2, encodingId.plain);
  page.thrift.end();
  return endPage(file, page, body);
}

/** Appends a data page (version 1: the levels are compressed, too); returns its size before compression, header included. */
export function writeDataPage(
  file: ByteSink,
  body: PageBody,
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

interface OpenPage {
  readonly thrift: ThriftWriter;
  readonly begin: number;
}

/** Writes the first fields of a `PageHeader` (parquet.thrift). */
function startPage(file: ByteSink, type: number, body: PageBody): OpenPage {
  const thrift = new ThriftWriter(file);
  const begin = file.end;
  thrift.start();
  thrift.i32(1, type);
  thrift.i32(2, body.plain.length);
  thrift.i32(3, body.stored.length);
  return { thrift, begin };
}

function endPage(file: ByteSink, { thrift, begin }: OpenPage, body: PageBody): number {
  thrift.end();
  const header = file.end - begin;
  file.append(body.stored);
  return header + body.plain.length;
}
