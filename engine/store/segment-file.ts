import { VerifiedBlocks, type ChecksummedFile } from '../core/block-checksums.js';
import { AppError } from '../core/errors.js';
import { openFileSync, type SyncFileReader } from '../core/files-sync.js';
import {
  boundOf,
  footerLength,
  parseColumnIndex,
  parseFooter,
  parseOffsetIndex,
  type ByteExtent,
  type FooterChunk,
  type FooterMetadata,
  type OffsetIndex,
  type PageStatistics,
} from '../parquet/read-footer.js';
import { parseBloomFilter } from '../parquet/bloom-filter.js';
import { openIndex, type TextIndex } from '../text/index-file.js';
import { isZstd } from '../parquet/read-pages.js';
import { physicalType } from '../parquet/parquet-schema.js';
import { leafKey } from './segment-stats.js';
import { segmentLeaves, type SegmentLeaf } from './segment-leaves.js';

/** A column chunk: the dictionary page and data pages of one leaf in one row group. */
export interface SegmentColumnChunk {
  /** Offset in the file of the chunk's first byte, which belongs to the dictionary page if there is one. */
  readonly begin: number;
  readonly bytes: number;
  readonly dictionaryOffset: number | undefined;
  readonly dataOffset: number;
  readonly slots: number;
  readonly nulls: number;
  readonly isCompressed: boolean;
  /** Minimum and maximum of integers and dates, from the footer; undefined for other types, and if the footer has none. */
  readonly range: readonly [bigint, bigint] | undefined;
  /** For strings, the total size of all values in bytes. */
  readonly textBytes: number;
  /** Location of the chunk's Bloom filter; undefined if it has none. */
  readonly bloomFilter: ByteExtent | undefined;
  /** ASCII characters with which every string of the chunk begins; empty if none are known, and for a chunk without a Bloom filter. */
  readonly prefix: string;
  /** Location of the chunk's OffsetIndex; undefined if it has none. */
  readonly offsetIndex: ByteExtent | undefined;
  /** Location of the chunk's ColumnIndex; undefined if it has none. */
  readonly columnIndex: ByteExtent | undefined;
}

/** A row group, whose first row is row `first` of the segment. */
export interface RowGroup {
  readonly first: number;
  readonly rows: number;
  /** The column chunks, in the order of `SegmentFile.leaves`. */
  readonly chunks: readonly SegmentColumnChunk[];
}

/** A segment's file, read synchronously. The constructor reads the footer once. */
export class SegmentFile {
  readonly path: string;
  readonly rows: number;
  readonly leaves: readonly SegmentLeaf[];
  readonly groups: readonly RowGroup[];
  /** The offset of the footer. */
  readonly footerOffset: number;
  /** The open file; undefined while it is closed. */
  #openFile: SyncFileReader | undefined;
  #isClosed = false;
  /** Verifies the checksums of blocks; undefined if the blocks have none. */
  readonly #blocks: VerifiedBlocks | undefined;
  readonly #leavesByKey: ReadonlyMap<string, SegmentLeaf>;
  #textIndex: TextIndex | 'none' | undefined;
  /** The number of pages that `#columnIndexes` describes. */
  #pagesWithStatistics = 0;
  #indexedPages = 0;
  readonly #offsetIndexes = new Map<SegmentColumnChunk, OffsetIndex>();
  readonly #columnIndexes = new Map<SegmentColumnChunk, readonly PageStatistics[]>();
  #nearIndex: { readonly begin: number; readonly bytes: Uint8Array } | undefined;

  /** Opens the file with this absolute path. Throws `damaged` if the file is missing or has no footer that this class can read. */
  constructor({ path, blockChecksums }: ChecksummedFile) {
    this.path = path;
    this.#openFile = openFileSync(path);
    try {
      this.#blocks =
        blockChecksums === undefined
          ? undefined
          : new VerifiedBlocks(blockChecksums, this.#openFile.bytes, () =>
              this.damagedError('does not match its checksum; restore the file from a backup'),
            );
      const bytes = this.#footerBytes();
      this.footerOffset = this.#openFile.bytes - bytes.byteLength;
      const footer = parseFooter(bytes);
      this.rows = footer.rows;
      this.leaves = segmentLeaves(footer.schema);
      this.groups = this.#rowGroups(footer);
    } catch (error) {
      this.close();
      throw error instanceof AppError ? error : this.damagedError(`has no good footer`, error);
    }
    this.#leavesByKey = new Map(this.leaves.map((leaf) => [leaf.key, leaf]));
  }

  /** Returns the leaf with this physical path, which excludes the levels that Parquet adds for lists; undefined if there is none. */
  leaf(path: readonly string[]): SegmentLeaf | undefined {
    return this.leafByKey(leafKey(path));
  }

  /** Returns the leaf with this key (`leafKey`). */
  leafByKey(key: string): SegmentLeaf | undefined {
    return this.#leavesByKey.get(key);
  }

  /** Reads exactly `length` bytes into a new buffer. */
  read(from: number, length: number): Uint8Array {
    // The buffer is not zero-filled, which would take as long as reading.
    const into = Buffer.allocUnsafeSlow(length);
    this.readInto(into, from);
    return into;
  }

  /** Fills `into` with the bytes from offset `from` on. */
  readInto(into: Uint8Array, from: number): void {
    const file = this.#file;
    if (this.#blocks === undefined) return file.readInto(into, from);
    this.#blocks.read(into, from, (part, at) => file.readInto(part, at));
  }

  /** Estimated size in memory, in bytes: of what has been read of the footer, the page index and the summary of the text index. */
  get memoryBytes(): number {
    const textColumns = typeof this.#textIndex === 'object' ? this.#textIndex.columns.size : 0;
    return (
      this.leaves.length * bytesPerLeaf +
      this.groups.length * this.leaves.length * bytesPerChunk +
      this.#offsetIndexes.size * bytesPerOffsetIndex +
      this.#indexedPages * bytesPerIndexedPage +
      this.#pagesWithStatistics * bytesPerPageStatistics +
      textColumns * bytesPerTextColumn
    );
  }

  readFooter(): FooterMetadata {
    return parseFooter(this.#footerBytes());
  }

  /** Returns the data pages of a chunk of this row group, from its OffsetIndex; undefined if it has none. Read once, then cached. */
  offsetIndexOf(group: RowGroup, chunk: SegmentColumnChunk): OffsetIndex | undefined {
    const knownIndex = this.#offsetIndexes.get(chunk);
    if (knownIndex !== undefined || chunk.offsetIndex === undefined) return knownIndex;
    const indexBytes = this.#indexBytes(chunk.offsetIndex);
    try {
      const offsetIndex = parseOffsetIndex(indexBytes, group.rows);
      this.#offsetIndexes.set(chunk, offsetIndex);
      this.#indexedPages += offsetIndex.offsets.length;
      return offsetIndex;
    } catch (error) {
      throw this.damagedError('has an index of pages that cannot be read', error);
    }
  }

  /** Returns the statistics of the data pages of a chunk, from its ColumnIndex; undefined if it has none. Read once, then cached. */
  pageStatisticsOf(
    chunk: SegmentColumnChunk,
    leaf: SegmentLeaf,
  ): readonly PageStatistics[] | undefined {
    const knownStatistics = this.#columnIndexes.get(chunk);
    if (knownStatistics !== undefined || chunk.columnIndex === undefined) return knownStatistics;
    const indexBytes = this.#indexBytes(chunk.columnIndex);
    try {
      const statistics = parseColumnIndex(indexBytes, leaf.physical);
      this.#columnIndexes.set(chunk, statistics);
      this.#pagesWithStatistics += statistics.length;
      return statistics;
    } catch (error) {
      throw this.damagedError('has an index of pages that cannot be read', error);
    }
  }

  /**
   * Reads a part of the page index. The parts that follow it, which are usually requested next, are read with it and kept until other parts
   * are read or `closeDescriptor` is called.
   */
  #indexBytes({ begin, bytes }: ByteExtent): Uint8Array {
    let near = this.#nearIndex;
    if (
      near === undefined ||
      begin < near.begin ||
      begin + bytes > near.begin + near.bytes.length
    ) {
      const length = Math.max(bytes, Math.min(indexReadAheadBytes, this.footerOffset - begin));
      near = this.#nearIndex = { begin, bytes: this.read(begin, length) };
    }
    return near.bytes.subarray(begin - near.begin, begin - near.begin + bytes);
  }

  /** Returns the words of a chunk's Bloom filter; undefined if it has none of a known kind. */
  filter({ bloomFilter }: SegmentColumnChunk): Uint32Array | undefined {
    return bloomFilter && parseBloomFilter(this.read(bloomFilter.begin, bloomFilter.bytes));
  }

  /** The text index; undefined if the file has none of the current version. Its summary is read once, then cached. */
  get textIndex(): TextIndex | undefined {
    if (this.#textIndex === undefined) this.#textIndex = openIndex(this) ?? 'none';
    return this.#textIndex === 'none' ? undefined : this.#textIndex;
  }

  /** Closes the file until the next read. A cached file must not stay open, because a deleted file would keep its disk space. */
  closeDescriptor(): void {
    this.#openFile?.close();
    this.#openFile = undefined;
    this.#nearIndex = undefined;
  }

  close(): void {
    this.closeDescriptor();
    this.#isClosed = true;
  }

  get #file(): SyncFileReader {
    if (this.#isClosed) throw this.damagedError('has been closed already');
    this.#openFile ??= openFileSync(this.path);
    return this.#openFile;
  }

  /** Returns the error to throw when bytes of this file are invalid. */
  damagedError(what: string, cause?: unknown): AppError {
    const name = this.path.split(/[\\/]/).at(-1);
    const reason = cause === undefined ? '' : ` (${String(cause)})`;
    return new AppError('damaged', `segment ${name} ${what}${reason}`, undefined, cause);
  }

  /** Returns the bytes of the footer, including the last eight bytes of the file, which contain its length. */
  #footerBytes(): Uint8Array {
    const { bytes: fileBytes } = this.#file;
    // For nearly all files, reading this many bytes once includes the whole footer.
    const guess = Math.min(fileBytes, assumedFooterBytes);
    let bytes = this.read(fileBytes - guess, guess);
    const length = footerLength(bytes, fileBytes);
    if (length > guess) bytes = this.read(fileBytes - length, length);
    return length < guess ? bytes.subarray(guess - length) : bytes;
  }

  #rowGroups(footer: FooterMetadata): readonly RowGroup[] {
    let first = 0;
    return footer.groups.map(({ rows, chunks }) => {
      const group = { first, rows, chunks: chunks.map((chunk, i) => this.#chunk(chunk, i)) };
      first += rows;
      return group;
    });
  }

  #chunk(chunk: FooterChunk, i: number): SegmentColumnChunk {
    const leaf = this.leaves[i];
    if (leaf === undefined || !arePathsEqual(chunk.path, leaf.path))
      throw this.damagedError(`has no column ${leaf?.key} in its place`);
    const { dictionaryOffset, dataOffset, slots, nulls, filter, offsetIndex, columnIndex } = chunk;
    return {
      dictionaryOffset,
      dataOffset,
      slots,
      nulls,
      bloomFilter: filter,
      prefix: filter === undefined ? '' : commonPrefixOf(chunk),
      offsetIndex,
      columnIndex,
      begin: dictionaryOffset ?? dataOffset,
      bytes: chunk.storedBytes,
      isCompressed: isZstd(chunk.codec),
      range: integerRangeOf(chunk, leaf),
      textBytes: chunk.stringBytes,
    };
  }
}

const assumedFooterBytes = 64 << 10;

// What the parts of an opened file take in memory, in bytes, as a test measures it.
const bytesPerLeaf = 650;
const bytesPerChunk = 600;
const bytesPerOffsetIndex = 934;
const bytesPerIndexedPage = 16;
const bytesPerPageStatistics = 300;
const bytesPerTextColumn = 1_500;

/** Number of bytes of the page index that are read at once: they cover all leaves of one row group of a VCF file. */
const indexReadAheadBytes = 16 << 10;

function arePathsEqual(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name, i) => name === b[i]);
}

/** Returns the ASCII characters with which both bounds of a chunk of strings begin, and so do all strings between them. */
function commonPrefixOf({ min, max }: FooterChunk): string {
  if (min === undefined || max === undefined) return '';
  let length = 0;
  while (length < min.length && min[length] === max[length] && min[length]! < 0x80) length++;
  return Buffer.from(min.subarray(0, length)).toString('latin1');
}

function integerRangeOf(
  { min, max }: FooterChunk,
  { physical }: SegmentLeaf,
): readonly [bigint, bigint] | undefined {
  const isWhole = physical === physicalType.int32 || physical === physicalType.int64;
  if (!isWhole || min === undefined || max === undefined) return undefined;
  const valueOf = (bytes: Uint8Array): bigint =>
    BigInt(boundOf(bytes, physical) as number | bigint);
  return [valueOf(min), valueOf(max)];
}
