import type { Projected } from '../results/projection.js';
import { AppError } from '../../core/errors.js';
import { decompressPages, type DecompressedPage } from '../../parquet/read-pages.js';
import { ByteSink } from '../../parquet/byte-sink.js';
import { NotCovered } from './not-covered.js';
import type { RecordCursor } from './record-cursor.js';
import { RecordPage, valuesOf, type RecordValues } from './record-page.js';
import { recordWriter } from './record-writer.js';
import type { PagePlaces, RowGroup, SegmentFile } from './segment-file.js';

/** What keeps unpacked pages and dictionaries, for as long as it likes. */
export interface PageCache {
  get<T>(key: string): T | undefined;
  set(key: string, value: unknown, bytes: number): void;
}

/** Reads single records of a segment, each from one small page of every leaf that is asked for. */
export class RecordReader {
  readonly #file: SegmentFile;
  readonly #cache: PageCache;

  constructor(file: SegmentFile, cache: PageCache) {
    this.#file = file;
    this.#cache = cache;
  }

  /**
   * The JSON texts of the records in these rows of the segment, in this order: byte for byte what the SQL engine makes of them.
   * Throws `NotCovered` for a file whose pages do not begin at the same rows in all leaves, as older ones have them.
   */
  texts(rows: readonly number[], projection: readonly Projected[]): string[] {
    const writer = recordWriter(this.#file.leaves, projection);
    const { cursors } = writer;
    const out = new ByteSink(4096);
    // The same few pages again and again: asking the cache for each row would take longer than writing it.
    const known = new Map<number, readonly RecordPage[]>();
    try {
      return rows.map((row) => {
        const [groupIndex, group] = this.#groupOf(row);
        const inGroup = row - group.first;
        const rowsPerPage = cursors.length === 0 ? 1 : this.#rowsPerPage(group, cursors);
        const page = Math.floor(inGroup / rowsPerPage);
        const at = group.first + page * rowsPerPage;
        let pages = known.get(at);
        if (pages === undefined) {
          pages = this.#pages(groupIndex, cursors, page);
          known.set(at, pages);
        }
        for (let i = 0; i < cursors.length; i++) {
          cursors[i]!.page = pages[i]!;
          cursors[i]!.moveTo(row - at);
        }
        out.end = 0;
        writer.write(out);
        return Buffer.from(out.bytes.buffer, out.bytes.byteOffset, out.end).toString();
      });
    } catch (error) {
      if (error instanceof AppError || error instanceof NotCovered) throw error;
      throw this.#file.damaged('has records that cannot be read', error);
    } finally {
      out.release();
    }
  }

  #groupOf(row: number): readonly [number, RowGroup] {
    const { groups } = this.#file;
    let i = 0;
    while (i < groups.length - 1 && row >= groups[i + 1]!.first) i++;
    const group = groups[i];
    if (group === undefined || !(row >= 0 && row < group.first + group.rows))
      throw new AppError('internal', `segment ${this.#file.path} has no row ${row}`);
    return [i, group];
  }

  #rowsPerPage(group: RowGroup, cursors: readonly RecordCursor[]): number {
    let found = 0;
    for (const { leaf } of cursors) {
      const places = this.#file.pages(group, group.chunks[leaf.index]!);
      const rows = places === undefined ? 0 : evenRows(places);
      if (rows === 0 || (found !== 0 && rows !== found))
        throw new NotCovered('a file whose pages do not begin at the same records');
      found = rows;
    }
    return found;
  }

  /** The pages of all cursors that have this number; those that nobody kept are unpacked together, for each call takes its time. */
  #pages(
    groupIndex: number,
    cursors: readonly RecordCursor[],
    page: number,
  ): readonly RecordPage[] {
    const group = this.#file.groups[groupIndex]!;
    const wanted: {
      bytes: Uint8Array;
      isCompressed: boolean;
      take: (plain: DecompressedPage) => void;
    }[] = [];
    const found: RecordPage[] = [];
    const dictionaries: RecordValues[] = [];
    for (const [i, { leaf }] of cursors.entries()) {
      const name = `${this.#file.path} ${groupIndex} ${leaf.index}`;
      const known = this.#cache.get<RecordPage>(`page ${name} ${page}`);
      if (known !== undefined) {
        found[i] = known;
        continue;
      }
      const chunk = group.chunks[leaf.index]!;
      const { isCompressed, dictionaryOffset, dataOffset } = chunk;
      const { offsets, bytes, firstRows } = this.#file.pages(group, chunk)!;
      if (dictionaryOffset !== undefined) {
        const key = `dictionary ${name}`;
        const entries = this.#cache.get<RecordValues>(key);
        if (entries !== undefined) dictionaries[i] = entries;
        else
          wanted.push({
            bytes: this.#file.read(dictionaryOffset, dataOffset - dictionaryOffset),
            isCompressed,
            take: (plain) => {
              const made = valuesOf(plain, leaf.physical, plain.count);
              dictionaries[i] = made;
              this.#cache.set(key, made, made.bytes);
            },
          });
      }
      wanted.push({
        bytes: this.#file.read(offsets[page]!, bytes[page]!),
        isCompressed,
        take: (plain) => {
          const rows = firstRows[page + 1]! - firstRows[page]!;
          const made = new RecordPage(plain, leaf, rows, dictionaries[i]);
          found[i] = made;
          this.#cache.set(`page ${name} ${page}`, made, made.bytes);
        },
      });
    }
    if (wanted.length > 0)
      for (const [i, plain] of decompressPages(wanted).entries()) wanted[i]!.take(plain);
    return found;
  }
}

const steps = new WeakMap<PagePlaces, number>();

/** How many rows each page has but the last one; 0 if that differs. */
function evenRows(places: PagePlaces): number {
  const known = steps.get(places);
  if (known !== undefined) return known;
  const { firstRows } = places;
  const step = firstRows[1]!;
  const last = firstRows.length - 1;
  let isEven = last > 0 && firstRows[last]! - firstRows[last - 1]! <= step;
  for (let i = 0; i < last; i++) if (firstRows[i] !== i * step) isEven = false;
  const rows = isEven ? step : 0;
  steps.set(places, rows);
  return rows;
}
