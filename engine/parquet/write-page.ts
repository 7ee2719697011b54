import { encodingId, type Encoder } from './page-encodings.js';
import type { ByteSink } from './byte-sink.js';
import { ThriftWriter } from './thrift.js';
import { compressFrame } from './zstd.js';

/** Codecs by their number in parquet.thrift (`CompressionCodec`). */
export const codecId = { none: 0, zstd: 6 } as const;

/** Pages by their number in parquet.thrift (`PageType`). */
export const pageType = { data: 0, dictionary: 2 } as const;

/** The size below which chunks are not compressed: wide schemas have thousands of small chunks, which consist mostly of headers. */
const minCompressedChunkBytes = 1024;
/** In a compressed chunk, data pages of fewer bytes are stored as zstd frames with one raw block. */
const minCompressedPageBytes = 256;
/** A chunk is compressed only if that saves more than this fraction of its bytes and, with several pages, `minSavedBytesPerPage` each. */
const minSavedShare = 0.05;
/** Number of bytes per page that compression must save in a chunk of several pages. */
const minSavedBytesPerPage = 200;

/** The body of a page before and after compression. */
interface PageBody {
  readonly plain: Uint8Array;
  readonly stored: Uint8Array;
}

/** Returns the body of a page that stays uncompressed. */
export function uncompressedBody(plain: Uint8Array): PageBody {
  return { plain, stored: plain };
}

/** Returns the body of a data page as a zstd frame. */
export function compressedBody(plain: Uint8Array): PageBody {
  return {
    plain,
    stored: plain.length < minCompressedPageBytes ? rawFrame(plain) : compressFrame(plain),
  };
}

/**
 * Returns a zstd frame with one raw block (RFC 8878, section 3.1.1), written without a call of zstd. All pages of a column chunk have one
 * codec, and zstd does not make the smallest pages smaller, so these become raw blocks.
 */
function rawFrame(plain: Uint8Array): Uint8Array {
  const frame = new Uint8Array(rawFrameBytes + plain.length);
  const view = new DataView(frame.buffer);
  view.setUint32(0, 0xfd2fb528, true); // the magic number of zstd
  view.setUint8(4, 0x20); // frame header: single segment, one byte of content size
  view.setUint8(5, plain.length);
  view.setUint16(6, 1 | (plain.length << 3), true); // block header of three bytes: last block, raw, its size
  frame.set(plain, rawFrameBytes);
  return frame;
}

const rawFrameBytes = 9;

/** Compresses the dictionary and one of the `pages` pages of a column chunk. Returns undefined if the chunk should not be compressed. */
export function tryCompression(
  dictionary: Uint8Array,
  page: Uint8Array,
  pages: number,
): { readonly dictionary: PageBody; readonly page: PageBody } | undefined {
  const bytes = dictionary.length + page.length * pages;
  if (bytes < minCompressedChunkBytes) return undefined;
  const hasDictionary = dictionary.length > 0;
  const tried = {
    dictionary: hasDictionary
      ? { plain: dictionary, stored: compressFrame(dictionary) }
      : uncompressedBody(dictionary),
    page: compressedBody(page),
  };
  const storedBytes = tried.dictionary.stored.length + tried.page.stored.length * pages;
  const saving = Math.max(bytes * minSavedShare, pages > 1 ? pages * minSavedBytesPerPage : 0);
  return bytes - storedBytes > saving ? tried : undefined;
}

/** Appends a dictionary page; returns its size before compression, header included. */
export function writeDictionaryPage(file: ByteSink, body: PageBody, { entries }: Encoder): number {
  const page = startPage(file, pageType.dictionary, body);
  page.thrift.startStruct(7);
  page.thrift.i32(1, entries);
  page.thrift.i32(2, encodingId.plain);
  page.thrift.endStruct();
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
  page.thrift.startStruct(5);
  page.thrift.i32(1, slots);
  page.thrift.i32(2, encoding);
  page.thrift.i32(3, encodingId.rle); // encoding of the definition levels
  page.thrift.i32(4, encodingId.rle); // encoding of the repetition levels
  page.thrift.endStruct();
  return endPage(file, page, body);
}

interface OpenPage {
  readonly thrift: ThriftWriter;
  readonly begin: number;
}

/** Writes the first fields of a `PageHeader` (parquet.thrift). */
function startPage(file: ByteSink, type: number, body: PageBody): OpenPage {
  const thrift = new ThriftWriter(file);
  const begin = file.endOffset;
  thrift.start();
  thrift.i32(1, type);
  thrift.i32(2, body.plain.length);
  thrift.i32(3, body.stored.length);
  return { thrift, begin };
}

function endPage(file: ByteSink, { thrift, begin }: OpenPage, body: PageBody): number {
  thrift.endStruct();
  const header = file.endOffset - begin;
  file.append(body.stored);
  return header + body.plain.length;
}
