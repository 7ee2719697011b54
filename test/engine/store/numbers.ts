import { join } from 'node:path';
import { expect } from '@jest/globals';
import type { DataFolder } from '../../../engine/core/data-folder.js';
import { makeFolder } from '../../../engine/core/files.js';
import type { Columns } from '../../../engine/core/types.js';
import {
  deletedRows,
  deletionVector,
  withMoreDeleted,
} from '../../../engine/store/deletion-vector.js';
import { encodeOrigins } from '../../../engine/store/origins.js';
import {
  liveRowCount,
  type Rewrite,
  type Segment,
  type Snapshot,
  type Store,
  type SegmentRowSet,
} from '../../../engine/store/store.js';
import type { Random } from '../../random.js';
import { batchOf } from './random.js';
import { writeSegment } from './write-segment.js';

const columns: Columns = [{ name: 'n', physical: 'n', type: 'long', isList: false }];

/** A dataset whose records are numbers, and a model of the content of each of its files and versions. */
export class NumbersDataset {
  readonly #folder: DataFolder;
  readonly #store: Store;
  readonly #id: number;
  readonly #next: Random;
  /** The number in each row of a file, deleted rows included. */
  readonly #files = new Map<string, readonly number[]>();
  readonly versions: { readonly snapshot: Snapshot; readonly live: readonly number[] }[] = [];
  #nextNumber = 0;

  constructor(folder: DataFolder, store: Store, id: number, next: Random) {
    this.#folder = folder;
    this.#store = store;
    this.#id = id;
    this.#next = next;
  }

  get #segments(): readonly Segment[] {
    return this.versions.at(-1)?.snapshot.segments ?? [];
  }

  #randomBelow(count: number): number {
    return Math.floor(this.#next() * count);
  }

  async changeRandomly(): Promise<void> {
    const changeDraw = this.#next();
    if (changeDraw < 0.3 || this.#segments.length === 0) await this.#append();
    else if (changeDraw < 0.7) await this.#update();
    else if (changeDraw < 0.78) await this.#remove();
    else if (changeDraw < 0.9) await this.#merge();
    else await this.#sort();
  }

  /**
   * Merges or sorts some segments; some choices of segments leave nothing to do. With the probability `deletionProbability`, a commit may
   * delete rows of these segments before the merge is committed.
   */
  async mergeRandomly(deletionProbability = 0): Promise<void> {
    if (this.#next() < 0.5) await this.#merge(deletionProbability);
    else await this.#sort(deletionProbability);
  }

  async #append(): Promise<void> {
    const files = Array.from({ length: 1 + this.#randomBelow(2) }, () =>
      Array.from({ length: 1 + this.#randomBelow(6) }, () => this.#nextNumber++),
    );
    const { add, scratch } = await this.#stage(files);
    await this.#commit({ add }, scratch, files);
  }

  /** Deletes some rows and restores others, in randomly chosen segments. */
  async #update(): Promise<void> {
    const update = this.#segments.flatMap((segment): Segment[] => {
      if (this.#next() < 0.5) return [];
      const before = segment.deletion ? [...deletedRows(segment.deletion)] : [];
      const rows = Array.from({ length: segment.rows }, (_, row) => row);
      const after = rows.filter((row) => this.#next() < 0.4 !== before.includes(row));
      const deletion = after.length > 0 ? deletionVector(Int32Array.from(after)) : undefined;
      return [{ ...segment, deletion }];
    });
    await this.#commit({ update });
  }

  async #remove(): Promise<void> {
    await this.#commit({
      remove: [this.#segments[this.#randomBelow(this.#segments.length)]!.path],
    });
  }

  async #merge(deletionProbability = 0): Promise<void> {
    const firstIndex = this.#randomBelow(this.#segments.length);
    const replace = this.#segments.slice(firstIndex, firstIndex + 1 + this.#randomBelow(3));
    const allNumbers = replace.flatMap(({ path }) => this.#files.get(path)!);
    const goneNumbers = new Set(replace.flatMap((segment) => this.#deletedNumbers(segment)));
    const dropsDeleted = this.#next() < 0.5;
    const keptNumbers = dropsDeleted ? allNumbers.filter((n) => !goneNumbers.has(n)) : allNumbers;
    if (keptNumbers.length === 0) return;
    const { add, scratch } = await this.#stage([keptNumbers]);
    const rows = Int32Array.from(allNumbers.keys()).filter((row) =>
      goneNumbers.has(allNumbers[row]!),
    );
    const deletion = rows.length > 0 && !dropsDeleted ? deletionVector(rows) : undefined;
    if (deletionProbability > 0 && this.#next() < deletionProbability)
      await this.#deleteMore(replace);
    await this.#rewrite({ replace, add: [{ ...add[0]!, deletion }] }, scratch, [keptNumbers]);
  }

  /** Distributes the records of some segments over new segments, in any order; drops their deleted rows or adds a segment of them. */
  async #sort(deletionProbability = 0): Promise<void> {
    const firstIndex = this.#randomBelow(this.#segments.length);
    const replace = this.#segments
      .slice(firstIndex, firstIndex + 1 + this.#randomBelow(4))
      .filter((one) => liveRowCount(one) > 0 || this.#next() < 0.5);
    const rows = replace.flatMap((segment, source) => {
      const goneRows = new Set(segment.deletion ? deletedRows(segment.deletion) : []);
      const numbers = this.#files.get(segment.path)!;
      return numbers.map((n, row) => ({
        n,
        source,
        row,
        isGone: goneRows.has(row),
        key: this.#next(),
      }));
    });
    rows.sort((a, b) => a.key - b.key);
    const [liveRows, deadRows] = [
      rows.filter((one) => !one.isGone),
      rows.filter((one) => one.isGone),
    ];
    const rowsPerTarget = 1 + this.#randomBelow(5);
    const targets = Array.from({ length: Math.ceil(liveRows.length / rowsPerTarget) }, (_, i) => liveRows.slice(rowsPerTarget * i, rowsPerTarget * (i + 1))); // prettier-ignore
    if (deadRows.length > 0 && this.#next() < 0.7) targets.push(deadRows);
    if (targets.length === 0) return;
    const files = targets.map((target) => target.map(({ n }) => n));
    const { add, scratch } = await this.#stage(files);
    const origins = targets.map((target) =>
      encodeOrigins({
        sources: Uint32Array.from(target, ({ source }) => source),
        rows: Int32Array.from(target, ({ row }) => row),
      }),
    );
    const addWithDeletions = add.map((segment, i) => {
      if (targets[i] !== deadRows) return segment;
      return { ...segment, deletion: deletionVector(Int32Array.from(deadRows.keys())) };
    });
    if (deletionProbability > 0 && this.#next() < deletionProbability)
      await this.#deleteMore(replace);
    await this.#rewrite({ replace, add: addWithDeletions, origins }, scratch, files);
  }

  /** Deletes more rows of segments whose merge has been prepared and not committed yet. */
  async #deleteMore(segments: readonly Segment[]): Promise<void> {
    const update = segments.flatMap((segment): readonly Segment[] => {
      const goneRows = new Set(segment.deletion ? deletedRows(segment.deletion) : []);
      const rows = Array.from({ length: segment.rows }, (_, row) => row);
      const moreRows = rows.filter((row) => !goneRows.has(row) && this.#next() < 0.4);
      return moreRows.length > 0 ? [withMoreDeleted(segment, Int32Array.from(moreRows))] : [];
    });
    if (update.length > 0) await this.#commit({ update });
  }

  /** Replaces segments; expects that the records stay the same. */
  async #rewrite(
    rewrite: Omit<Rewrite, 'info'>,
    scratch: string,
    files: readonly (readonly number[])[],
  ): Promise<void> {
    const before = this.versions.at(-1)!.live;
    this.#recordVersion(
      await this.#store.rewrite(this.#id, { ...rewrite, info: {} }, scratch),
      files,
    );
    const sortNumbers = (live: readonly number[]): readonly number[] =>
      live.toSorted((a, b) => a - b);
    expect(sortNumbers(this.versions.at(-1)!.live)).toEqual(sortNumbers(before));
  }

  #deletedNumbers({ path, deletion }: Segment): readonly number[] {
    const numbers = this.#files.get(path)!;
    return deletion ? Array.from(deletedRows(deletion), (row) => numbers[row]!) : [];
  }

  async #stage(files: readonly (readonly number[])[]) {
    const scratch = this.#folder.taskScratch(this.#id, this.versions.length + 1);
    await makeFolder(scratch);
    const add: Segment[] = [];
    for (const [i, numbers] of files.entries()) {
      const data = batchOf(columns, [numbers.map(BigInt)], numbers.length, 1n, i);
      add.push(await writeSegment({ columns, data, rows: numbers.length }, join(scratch, `${i}.parquet`))); // prettier-ignore
    }
    return { add, scratch };
  }

  async #commit(
    change: { add?: Segment[]; remove?: string[]; update?: readonly Segment[] },
    scratch = this.#folder.scratch,
    files: readonly (readonly number[])[] = [],
  ): Promise<void> {
    const base = this.versions.length - 1;
    const wholeChange = { columns, add: [], remove: [], info: {}, base, ...change };
    this.#recordVersion(await this.#store.commit(this.#id, wholeChange, scratch), files);
  }

  /** Records the versions up to that of a snapshot, which other operations have created without new segments, all with its content. */
  noteVersionsWithoutSegments(snapshot: Snapshot): void {
    while (this.versions.length <= snapshot.version) this.#recordVersion(snapshot, []);
  }

  #recordVersion(snapshot: Snapshot, files: readonly (readonly number[])[]): void {
    const freshSegments = snapshot.segments.filter(({ path }) => !this.#files.has(path));
    for (const [i, { path }] of freshSegments.entries()) this.#files.set(path, files[i]!);
    const liveNumbers = snapshot.segments.flatMap((segment) => {
      const goneNumbers = new Set(this.#deletedNumbers(segment));
      return this.#files.get(segment.path)!.filter((n) => !goneNumbers.has(n));
    });
    this.versions.push({ snapshot, live: liveNumbers });
  }

  /** Returns the numbers in some rows of a version, segment by segment. */
  numbersInRows(version: number, rows: ReadonlyMap<string, SegmentRowSet>): readonly number[] {
    const segments = this.versions[version]?.snapshot.segments ?? [];
    const paths = segments.map(({ path }) => path);
    expect([...rows.keys()].filter((path) => !paths.includes(path))).toEqual([]);
    return paths.flatMap((path) => {
      const ownRows = rows.get(path);
      const numbers = this.#files.get(path)!;
      if (ownRows === undefined) return [];
      return ownRows === 'all' ? numbers : Array.from(ownRows, (row) => numbers[row]!);
    });
  }
}
