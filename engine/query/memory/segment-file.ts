import type { FileMetaData } from 'hyparquet';
import { AppError } from '../../core/errors.js';
import { openFileSync, type SyncFileReader } from '../../core/files-sync.js';
import { footerLength, parseFooter, parseOffsetIndex } from '../../parquet/read-footer.js';
import { isZstd } from '../../parquet/read-pages.js';
import { leafKey } from '../../store/stats.js';
import { segmentLeaves, type SegmentLeaf } from './segment-leaves.js';

/** The values of one leaf in one row group: where its bytes are, dictionary and pages one behind the other. */
export interface SegmentChunk {
  /** First byte, of the dictionary if there is one. */
  readonly begin: number;
  readonly bytes: number;
  readonly dictionaryOffset: number | undefined;
  readonly dataOffset: number;
  readonly slots: number;
  readonly nulls: number;
  readonly isCompressed: boolean;
  /** The least and the greatest of whole numbers of 64 bits and dates; undefined if there are none, and of other types. */
  readonly range: readonly [bigint, bigint] | undefined;
  /** Of text: how many bytes all values have together. */
  readonly textBytes: number;
  /** Where Parquet's OffsetIndex of the chunk is; undefined if it has none. */
  readonly offsetIndex: { readonly begin: number; readonly bytes: number } | undefined;
}

/** Records that lie together: row `first` of the segment is their first. */
export interface RowGroup {
  readonly first: number;
  readonly rows: number;
  /** In the order of `SegmentFile.leaves`. */
  readonly chunks: readonly SegmentChunk[];
}

/** Where the data pages of a chunk are. Page i holds rows `firstRows[i]` to `firstRows[i + 1]` of its row group. */
export interface OffsetIndex {
  readonly offsets: Float64Array;
  /** Headers included. */
  readonly bytes: Int32Array;
  /** One more than there are pages: the last one is the number of rows. */
  readonly firstRows: Int32Array;
}

/** A segment's file opened for synchronous reading. Its footer is read once, at first. */
export class SegmentFile {
  readonly path: string;
  readonly rows: number;
  readonly leaves: readonly SegmentLeaf[];
  readonly groups: readonly RowGroup[];
  /** Undefined while it rests. */
  #open: SyncFileReader | undefined;
  #isClosed = false;
  readonly #byKey: ReadonlyMap<string, SegmentLeaf>;
  readonly #places = new Map<SegmentChunk, OffsetIndex>();

  /** Opens the file of this absolute path in the data folder; one that is not what we wrote is `damaged`. */
  constructor(path: string) {
    this.path = path;
    this.#open = openFileSync(path);
    try {
      const footer = this.#footer();
      this.rows = Number(footer.num_rows);
      this.leaves = segmentLeaves(footer.schema);
      this.groups = this.#rowGroups(footer);
    } catch (error) {
      this.close();
      throw error instanceof AppError ? error : this.damaged(`has no good footer`, error);
    }
    this.#byKey = new Map(this.leaves.map((leaf) => [leaf.key, leaf]));
  }

  /** The leaf of this physical path (of columns: without the levels that Parquet gives to lists); undefined if there is none. */
  leaf(path: readonly string[]): SegmentLeaf | undefined {
    return this.#byKey.get(leafKey(path));
  }

  /** Exactly these bytes, in a buffer of their own. */
  read(from: number, length: number): Uint8Array {
    return this.#file.read(from, length);
  }

  /** Fills `into` with the bytes from `from` on. */
  readInto(into: Uint8Array, from: number): void {
    this.#file.readInto(into, from);
  }

  /** The data pages of a chunk of this row group, by its OffsetIndex, which is read once; undefined if it has none. */
  pages(group: RowGroup, chunk: SegmentChunk): OffsetIndex | undefined {
    const known = this.#places.get(chunk);
    if (known !== undefined || chunk.offsetIndex === undefined) return known;
    const { begin, bytes: length } = chunk.offsetIndex;
    const index = this.#file.read(begin, length);
    try {
      const pages = parseOffsetIndex(index);
      const firstRows = Int32Array.from([
        ...pages.map((page) => Number(page.first_row_index)),
        group.rows,
      ]);
      const offsets = Float64Array.from(pages, ({ offset }) => Number(offset));
      const bytes = Int32Array.from(pages, (page) => page.compressed_page_size);
      const places = { offsets, bytes, firstRows };
      this.#places.set(chunk, places);
      return places;
    } catch (error) {
      throw this.damaged('has an index of pages that cannot be read', error);
    }
  }

  /** Gives the descriptor back until the next read: files that are kept must not be held, or dropped ones would keep their disk. */
  rest(): void {
    this.#open?.close();
    this.#open = undefined;
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

  /** What to throw when bytes of this file are not what they should be. */
  damaged(what: string, cause?: unknown): AppError {
    const name = this.path.split(/[\\/]/).at(-1);
    const reason = cause === undefined ? '' : ` (${String(cause)})`;
    return new AppError('damaged', `segment ${name} ${what}${reason}`, undefined, cause);
  }

  #footer(): FileMetaData {
    const { bytes: fileBytes } = this.#file;
    // One read is enough for nearly all footers.
    const guess = Math.min(fileBytes, usualFooterBytes);
    let bytes = this.#file.read(fileBytes - guess, guess);
    const length = footerLength(bytes, fileBytes);
    if (length > guess) bytes = this.#file.read(fileBytes - length, length);
    return parseFooter(length < guess ? bytes.subarray(guess - length) : bytes);
  }

  #rowGroups(footer: FileMetaData): readonly RowGroup[] {
    let first = 0;
    return footer.row_groups.map(({ num_rows, columns }) => {
      const rows = Number(num_rows);
      const chunks = columns.map((column, i): SegmentChunk => {
        const { meta_data: meta, offset_index_offset: index, offset_index_length } = column;
        if (meta === undefined || meta.path_in_schema.join('.') !== this.leaves[i]?.path.join('.'))
          throw this.damaged(`has no column ${this.leaves[i]?.key} in its place`);
        const dictionary = meta.dictionary_page_offset;
        const dataOffset = Number(meta.data_page_offset);
        const dictionaryOffset = dictionary === undefined ? undefined : Number(dictionary);
        return {
          begin: dictionaryOffset ?? dataOffset,
          bytes: Number(meta.total_compressed_size),
          dictionaryOffset,
          dataOffset,
          slots: Number(meta.num_values),
          nulls: Number(meta.statistics?.null_count ?? 0n),
          isCompressed: isZstd(meta.codec),
          range: rangeOf(meta.statistics?.min_value, meta.statistics?.max_value),
          textBytes: Number(meta.size_statistics?.unencoded_byte_array_data_bytes ?? 0n),
          offsetIndex:
            index === undefined || offset_index_length === undefined
              ? undefined
              : { begin: Number(index), bytes: offset_index_length },
        };
      });
      const group = { first, rows, chunks };
      first += rows;
      return group;
    });
  }
}

const usualFooterBytes = 64 << 10;

function rangeOf(min: unknown, max: unknown): readonly [bigint, bigint] | undefined {
  return typeof min === 'bigint' && typeof max === 'bigint' ? [min, max] : undefined;
}
