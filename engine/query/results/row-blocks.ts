import type { ChecksummedFile } from '../../core/block-checksums.js';
import type { RowRef } from '../../store/store.js';
import { SegmentFile } from '../../store/segment-file.js';
import type { LeafCursor } from './leaf-cursor.js';
import type { ProjectedColumn } from './projection.js';
import {
  isPageKey,
  RecordReader,
  unreadableRecordsError,
  type PageCache,
} from './record-reader.js';
import { buildRecordTree, shapeOf, type NodeFactory, type RecordTree } from './record-tree.js';

/** The source from which segments are read. */
export interface SegmentSource {
  /** Returns the file of a segment of the snapshot, by the segment's number. */
  file(segment: number): SegmentFile;
  readonly cache: PageCache;
}

/** References to rows: one array in which segments and row numbers alternate, or a list of pairs. */
export type RowRefs = Int32Array | readonly RowRef[];

/** Some records of one segment that follow one another in the request; the pages of all of them are loaded. */
export interface RowBlock {
  /** Row numbers in the row group, in any order; only the first `length` are valid. */
  readonly rows: Int32Array;
  length: number;
}

/** Maximum number of records of a block: its texts and the pages from which they are read stay in the processor's cache. */
export const rowsPerBlock = 1024;

/**
 * Returns a source that opens the files of segments, by their numbers, at their first use. It shares no cache with other sources. The
 * caller must close it.
 */
export function openSegments(files: readonly ChecksummedFile[]): SegmentSource & { close(): void } {
  const openFiles = new Map<number, SegmentFile>();
  let lastFile: SegmentFile | undefined;
  const entries = new Map<string, unknown>();
  return {
    file(segment) {
      const file = openFiles.get(segment) ?? new SegmentFile(files[segment]!);
      openFiles.set(segment, file);
      // Only one file descriptor is open at a time.
      if (file !== lastFile) lastFile?.closeDescriptor();
      lastFile = file;
      return file;
    },
    // The reader itself remembers pages during one call, so only dictionaries, which several pages share, are cached here.
    cache: {
      get: (key) => entries.get(key),
      set: (key, value) => {
        if (!isPageKey(key)) entries.set(key, value);
      },
    },
    close() {
      for (const file of openFiles.values()) file.close();
      openFiles.clear();
    },
  };
}

/** The cursors and nodes that read segments of one shape. */
interface ShapeReader<N> {
  readonly tree: RecordTree<N>;
  readonly reader: RecordReader;
}

/**
 * Calls `visit` for the records in these rows, in order, block by block, after loading the pages of the block into the cursors.
 * `maxBlockRows` returns the maximum number of records of the next block.
 */
export function forEachBlock<N, S>(
  { file: fileOf, cache }: SegmentSource,
  refs: RowRefs,
  projection: readonly ProjectedColumn[],
  factory: NodeFactory<N, S>,
  targets: readonly S[],
  visit: (columns: RecordTree<N>['columns'], block: RowBlock) => void,
  maxBlockRows: () => number = () => rowsPerBlock,
): void {
  const segmentRowPairs = ArrayBuffer.isView(refs) ? refs : toRowPairs(refs);
  const shapes = new Map<string, ShapeReader<N>>();
  const block: RowBlock = { rows: new Int32Array(Math.min(rowsPerBlock, segmentRowPairs.length / 2)), length: 0 }; // prettier-ignore
  let currentSegment = -1;
  let file!: SegmentFile;
  let shapeReader!: ShapeReader<N>;
  for (let at = 0; at < segmentRowPairs.length;) {
    const segment = segmentRowPairs[at]!;
    if (segment !== currentSegment) {
      file = fileOf(segment);
      shapeReader = shapeFor(file);
      currentSegment = segment;
    }
    const { reader, tree } = shapeReader;
    reader.moveTo(file, segmentRowPairs[at + 1]!);
    const { first, begin, end } = reader.rowRangeInMemory();
    const maxRows = Math.min(block.rows.length, maxBlockRows());
    block.length = 0;
    do {
      block.rows[block.length++] = segmentRowPairs[at + 1]! - first;
      at += 2;
    } while (
      block.length < maxRows &&
      at < segmentRowPairs.length &&
      segmentRowPairs[at] === segment &&
      segmentRowPairs[at + 1]! >= begin &&
      segmentRowPairs[at + 1]! < end
    );
    visit(tree.columns, block);
  }

  function shapeFor(openedFile: SegmentFile): ShapeReader<N> {
    const key = shapeOf(openedFile.leaves);
    const knownReader = shapes.get(key);
    if (knownReader !== undefined) return knownReader;
    try {
      const tree = buildRecordTree(openedFile.leaves, projection, factory, targets);
      const newReader = { tree, reader: new RecordReader(tree.cursors, cache) };
      shapes.set(key, newReader);
      return newReader;
    } catch (error) {
      throw unreadableRecordsError(openedFile, error);
    }
  }
}

/** Moves cursors to a row of the row group. */
export function moveCursors(cursors: readonly LeafCursor[], row: number): void {
  for (let i = 0; i < cursors.length; i++) cursors[i]!.moveTo(row - cursors[i]!.firstPageRow);
}

function toRowPairs(refs: readonly RowRef[]): Int32Array {
  const segmentRowPairs = new Int32Array(2 * refs.length);
  for (let i = 0; i < refs.length; i++) {
    segmentRowPairs[2 * i] = refs[i]![0];
    segmentRowPairs[2 * i + 1] = refs[i]![1];
  }
  return segmentRowPairs;
}
