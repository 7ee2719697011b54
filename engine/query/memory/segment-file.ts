import { VerifiedBlocks, type CheckedFile } from '../../core/block-checksums.js';
import { AppError } from '../../core/errors.js';
import { openFileSync, type SyncFileReader } from '../../core/files-sync.js';
import {
  boundOf,
  footerLength,
  parseColumnIndex,
  parseFooter,
  parseOffsetIndex,
  type Extent,
  type FooterChunk,
  type FooterMetadata,
  type OffsetIndex,
  type PageStatistics,
} from '../../parquet/read-footer.js';
import { parseBloomFilter } from '../../parquet/bloom-filter.js';
import { openIndex, type TextIndex } from '../../text/index-file.js';
import { isZstd } from '../../parquet/read-pages.js';
import { physicalType } from '../../parquet/schema.js';
import { leafKey } from '../../store/stats.js';
import { segmentLeaves, type SegmentLeaf } from './segment-leaves.js';

/** A column chunk: the dictionary page and data pages of one leaf in one row group. */
export interface SegmentChunk {
  /** Offset of the first byte in the file, of the dictionary page if there is one. */
  readonly begin: number;
  readonly bytes: number;
  readonly dictionaryOffset: number | undefined;
  readonly dataOffset: number;
  readonly slots: number;
  readonly nulls: number;
  readonly isCompressed: boolean;
  /** Minimum and maximum if they are integers, as for integers and dates; undefined without a value. */
  readonly range: readonly [bigint, bigint] | undefined;
  /** For strings, the total size of all values in bytes. */
  readonly textBytes: number;
  /** Location of the chunk's bloom filter; undefined if it has none. */
  readonly filter: Extent | undefined;
  /** Location of the chunk's OffsetIndex; undefined if it has none. */
  readonly offsetIndex: Extent | undefined;
  /** Location of the chunk's ColumnIndex; undefined if it has none. */
  readonly columnIndex: Extent | undefined;
}

/** A row group, whose first row is row `first` of the segment. */
export interface RowGroup {
  readonly first: number;
  readonly rows: number;
  /** The column chunks, in the order of `SegmentFile.leaves`. */
  readonly chunks: readonly SegmentChunk[];
}

/** A segment's file, read synchronously. The footer is read once, by the constructor. */
export class SegmentFile {
  readonly path: string;
  readonly rows: number;
  readonly leaves: readonly SegmentLeaf[];
  readonly groups: readonly RowGroup[];
  /** The offset of the footer. */
  readonly footerAt: number;
  /** Undefined while the descriptor is closed. */
  #open: SyncFileReader | undefined;
  #isClosed = false;
  /** Undefined if the blocks have no checksums. */
  readonly #blocks: VerifiedBlocks | undefined;
  readonly #byKey: ReadonlyMap<string, SegmentLeaf>;
  #textIndex: TextIndex | 'none' | undefined;
  readonly #offsetIndexes = new Map<SegmentChunk, OffsetIndex>();
  readonly #columnIndexes = new Map<SegmentChunk, readonly PageStatistics[]>();
  #nearIndex: { readonly begin: number; readonly bytes: Uint8Array } | undefined;

  /** Opens the file with this absolute path. Throws `damaged` if it is not a Parquet file that we wrote. */
  constructor({ path, blockChecksums }: CheckedFile) {
    this.path = path;
    this.#open = openFileSync(path);
    try {
      this.#blocks =
        blockChecksums === undefined
          ? undefined
          : new VerifiedBlocks(blockChecksums, this.#open.bytes, () =>
              this.damaged('does not match its checksum; restore the file from a backup'),
            );
      const bytes = this.#footerBytes();
      this.footerAt = this.#open.bytes - bytes.byteLength;
      const footer = parseFooter(bytes);
      this.rows = footer.rows;
      this.leaves = segmentLeaves(footer.schema);
      this.groups = this.#rowGroups(footer);
    } catch (error) {
      this.close();
      throw error instanceof AppError ? error : this.damaged(`has no good footer`, error);
    }
    this.#byKey = new Map(this.leaves.map((leaf) => [leaf.key, leaf]));
  }

  /** The leaf with this physical path, without the levels that Parquet adds for lists; undefined if there is none. */
  leaf(path: readonly string[]): SegmentLeaf | undefined {
    return this.leafAt(leafKey(path));
  }

  /** The leaf with this key (`leafKey`). */
  leafAt(key: string): SegmentLeaf | undefined {
    return this.#byKey.get(key);
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

  /** Reads and parses the footer. */
  readFooter(): FooterMetadata {
    return parseFooter(this.#footerBytes());
  }

  /** The data pages of a chunk of this row group, from its OffsetIndex; undefined if it has none. Read once, then cached. */
  pages(group: RowGroup, chunk: SegmentChunk): OffsetIndex | undefined {
    const known = this.#offsetIndexes.get(chunk);
    if (known !== undefined || chunk.offsetIndex === undefined) return known;
    const index = this.#indexBytes(chunk.offsetIndex);
    try {
      const found = parseOffsetIndex(index, group.rows);
      this.#offsetIndexes.set(chunk, found);
      return found;
    } catch (error) {
      throw this.damaged('has an index of pages that cannot be read', error);
    }
  }

  /** The statistics of the data pages of a chunk, from its ColumnIndex; undefined if it has none. Read once, then cached. */
  statistics(chunk: SegmentChunk, leaf: SegmentLeaf): readonly PageStatistics[] | undefined {
    const known = this.#columnIndexes.get(chunk);
    if (known !== undefined || chunk.columnIndex === undefined) return known;
    const index = this.#indexBytes(chunk.columnIndex);
    try {
      const found = parseColumnIndex(index, leaf.physical);
      this.#columnIndexes.set(chunk, found);
      return found;
    } catch (error) {
      throw this.damaged('has an index of pages that cannot be read', error);
    }
  }

  /** Reads a part of the page index. Other parts are near it and are asked for next: they are read along, and kept until the file rests. */
  #indexBytes({ begin, bytes }: Extent): Uint8Array {
    let near = this.#nearIndex;
    if (
      near === undefined ||
      begin < near.begin ||
      begin + bytes > near.begin + near.bytes.length
    ) {
      const length = Math.max(bytes, Math.min(nearIndexBytes, this.footerAt - begin));
      near = this.#nearIndex = { begin, bytes: this.read(begin, length) };
    }
    return near.bytes.subarray(begin - near.begin, begin - near.begin + bytes);
  }

  /** The words of a chunk's bloom filter; undefined if it has none that we know. */
  filter({ filter }: SegmentChunk): Uint32Array | undefined {
    return filter && parseBloomFilter(this.read(filter.begin, filter.bytes));
  }

  /** The text index; undefined if there is none of the current version. Its summary is read once, then cached. */
  get textIndex(): TextIndex | undefined {
    if (this.#textIndex === undefined) this.#textIndex = openIndex(this) ?? 'none';
    return this.#textIndex === 'none' ? undefined : this.#textIndex;
  }

  /** Closes the descriptor until the next read. A cached file must not stay open: a deleted one would keep its disk space. */
  rest(): void {
    this.#open?.close();
    this.#open = undefined;
    this.#nearIndex = undefined;
  }

  close(): void {
    this.rest();
    this.#isClosed = true;
  }

  get #file(): SyncFileReader {
    if (this.#isClosed) throw this.damaged('has been closed already');
    this.#open ??= openFileSync(this.path);
    return this.#open;
  }

  /** The error to throw when the bytes of this file are not what they should be. */
  damaged(what: string, cause?: unknown): AppError {
    const name = this.path.split(/[\\/]/).at(-1);
    const reason = cause === undefined ? '' : ` (${String(cause)})`;
    return new AppError('damaged', `segment ${name} ${what}${reason}`, undefined, cause);
  }

  /** The footer and the eight bytes that follow it, which hold its length. */
  #footerBytes(): Uint8Array {
    const { bytes: fileBytes } = this.#file;
    // Nearly all footers need a single read.
    const guess = Math.min(fileBytes, usualFooterBytes);
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

  #chunk(chunk: FooterChunk, i: number): SegmentChunk {
    const leaf = this.leaves[i];
    if (leaf === undefined || !areEqual(chunk.path, leaf.path))
      throw this.damaged(`has no column ${leaf?.key} in its place`);
    const { dictionaryOffset, dataOffset, slots, nulls, filter, offsetIndex, columnIndex } = chunk;
    return {
      dictionaryOffset,
      dataOffset,
      slots,
      nulls,
      filter,
      offsetIndex,
      columnIndex,
      begin: dictionaryOffset ?? dataOffset,
      bytes: chunk.storedBytes,
      isCompressed: isZstd(chunk.codec),
      range: rangeOf(chunk, leaf),
      textBytes: chunk.stringBytes,
    };
  }
}

const usualFooterBytes = 64 << 10;

/** Bytes of the page index that are read at once: those of all leaves of a row group of a VCF. */
const nearIndexBytes = 16 << 10;

function areEqual(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name, i) => name === b[i]);
}

function rangeOf(
  { min, max }: FooterChunk,
  { physical }: SegmentLeaf,
): readonly [bigint, bigint] | undefined {
  const isWhole = physical === physicalType.int32 || physical === physicalType.int64;
  if (!isWhole || min === undefined || max === undefined) return undefined;
  const valueOf = (bytes: Uint8Array): bigint =>
    BigInt(boundOf(bytes, physical) as number | bigint);
  return [valueOf(min), valueOf(max)];
}
