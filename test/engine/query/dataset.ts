import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tableFromIPC } from 'apache-arrow';
import type { DatasetField } from '../../../engine/core/dataset-field.js';
import { openMemoryExecutor } from '../../../engine/query/memory/memory-executor.js';
import { arrowStream } from './arrow-stream.js';
import { openQueryEngine, type QueryEngine } from '../../../engine/query/plan/query-engine.js';
import { momentOf } from '../../../engine/query/request/values.js';
import { schemaFile } from '../../../engine/store/schema-file.js';
import { writeSegment } from '../store/write-segment.js';
import { random } from '../../random.js';
import { reservedColumns } from '../../../engine/store/arrow.js';
import { deletionVector } from '../../../engine/store/deletion-vector.js';
import { areInterleaved, rowIdColumn } from '../../../engine/store/row-ids.js';
import { liveRows, type Segment, type Snapshot } from '../../../engine/store/store.js';
import type { Column, Columns, EntityType, StoredType, Value } from '../../../engine/core/types.js';

/** A record for a test: dates as ISO text, `json` columns as their JSON text. */
export type TestRow = Readonly<Record<string, Value | undefined>>;

/** A data folder with an engine on it. */
export interface Bench {
  readonly folder: string;
  readonly engine: QueryEngine;
  dataset(
    columns: Columns,
    segments: readonly (readonly TestRow[])[],
    more?: DatasetOptions,
  ): Promise<Dataset>;
  close(): Promise<void>;
}

/** Further properties of a dataset. */
export interface DatasetOptions {
  /** The columns of each segment, where not all of them have all. */
  readonly stored?: readonly Columns[];
  readonly entities?: Readonly<Record<string, EntityType>>;
}

/** One version of a dataset, and its fields as the catalogue has them. */
export interface Dataset {
  readonly snapshot: Snapshot;
  readonly fields: readonly DatasetField[];
}

/** The ways in which queries are answered, and the number of threads that `openBench` needs for each. */
export const engines: readonly (readonly [name: string, threads: number | undefined])[] = [
  ['columns in memory', 0],
  ['SQL', undefined],
];

/**
 * Opens an engine as the server does, on a temporary folder. With a number of threads, 0 for this one, it answers from columns in memory
 * what these can; else all by SQL.
 */
export async function openBench(threads?: number): Promise<Bench> {
  const folder = mkdtempSync(join(tmpdir(), 'strandlake-query-'));
  const engine = await openQueryEngine({
    ...(threads !== undefined && { memory: openMemoryExecutor({ threads, cacheMb: 16 }) }),
    dataFolder: folder,
    memoryMb: 512,
    threads: 2,
    spillFolder: join(folder, 'spill'),
    spillMb: 256,
  });
  let lastId = 0;
  return {
    folder,
    engine,
    dataset: async (columns, segments, more) => {
      lastId += 1;
      return writeDataset(folder, lastId, columns, segments, more);
    },
    close: async () => {
      await engine.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The bytes of a page. */
export async function bytesOf(body: Uint8Array | AsyncIterable<Uint8Array>): Promise<Buffer> {
  if (ArrayBuffer.isView(body)) return Buffer.from(body);
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** A column in short: `column('info', 'object', [column('AF', 'double')])`. */
export function column(name: string, type: StoredType, children?: Columns): Column {
  return { name, physical: name, type, isList: false, ...(children && { children }) };
}

/** The list column with these elements. */
export function listOf(item: Column): Column {
  return { ...item, isList: true };
}

async function writeDataset(
  folder: string,
  id: number,
  columns: Columns,
  segments: readonly (readonly TestRow[])[],
  { stored = [], entities }: DatasetOptions = {},
): Promise<Dataset> {
  const home = join(folder, 'datasets', String(id));
  mkdirSync(home, { recursive: true });
  const schemaPath = join(home, 'schema.parquet');
  writeFileSync(schemaPath, schemaFile(columns));
  const files = [schemaPath];
  const writtenSegments: Segment[] = [];
  const write = async (
    own: Columns,
    rows: readonly TestRow[],
    deleted: Int32Array,
  ): Promise<Segment> => {
    const path = join(home, `${writtenSegments.length}.parquet`);
    const all = [...reservedColumns, ...own];
    const cells = rows.map((row) => all.map((each) => cell(each, valueOf(row, each.name))));
    const data = tableFromIPC(arrowStream(all.map(byPhysicalName), cells)).batches;
    const segment = await writeSegment({ columns: own, data, rows: rows.length }, path);
    const deletion = deleted.length > 0 ? deletionVector(deleted) : undefined;
    files.push(path);
    return { ...segment, ...(deletion && { deletion }) };
  };
  const replacedRows: TestRow[] = [];
  let baseRowId = 0;
  for (const [chunk, rows] of segments.entries()) {
    const wholeRows = rows.map((row, index) => ({
      _id: recordId(chunk, index),
      _commit: '4812',
      ...row,
    }));
    const ownColumns = stored[chunk] ?? columns;
    const { stored: kept, deleted } =
      process.env[otherRowsFlag] === 'replaced'
        ? withReplacedRows(chunk, wholeRows, segments, baseRowId, replacedRows)
        : withDeletedRows(chunk, wholeRows, segments);
    writtenSegments.push({ ...(await write(ownColumns, kept, deleted)), baseRowId });
    baseRowId += kept.length;
  }
  for (const part of [0, 1]) {
    const ownRows = replacedRows.filter((_, i) => i % 2 === part);
    if (ownRows.length === 0) continue;
    if (part === 1) ownRows.reverse();
    const segment = await write([rowIdColumn, ...columns], ownRows, new Int32Array(0));
    writtenSegments.push({ ...segment, isAscending: part === 0 });
  }
  const rows = writtenSegments.reduce((sum, segment) => sum + liveRows(segment), 0);
  const isInterleaved = areInterleaved(writtenSegments);
  const snapshot = {
    datasetId: id,
    version: 1,
    columns,
    segments: writtenSegments,
    isInterleaved,
    rows,
    bytes: 0,
    files,
  };
  return { snapshot, fields: fieldRows(columns, [], entities) };
}

/**
 * Set to `deleted`, all datasets that this module writes have deleted rows among their records; set to `replaced`, some of their records
 * are in later segments, and what they replaced is deleted.
 */
export const otherRowsFlag = 'STRANDLAKE_TEST_OTHER_ROWS';

/** Like `withDeletedRows`; the records to store in later segments are added to `replaced`, with their row ids. */
function withReplacedRows(
  chunk: number,
  records: readonly TestRow[],
  segments: readonly (readonly TestRow[])[],
  baseRowId: number,
  replaced: TestRow[],
): { readonly stored: readonly TestRow[]; readonly deleted: Int32Array } {
  const next = random(chunk + 1);
  const otherRecords = segments.flat();
  const deletedRowNumbers: number[] = [];
  const stored = records.map((record, row) => {
    if (next() < 0.6) return record;
    deletedRowNumbers.push(row);
    replaced.push({ ...record, [rowIdColumn.name]: baseRowId + row });
    const { _id } = record;
    return { ...otherRecords[Math.floor(next() * otherRecords.length)], _id, _commit: '4811' };
  });
  return { stored, deleted: Int32Array.from(deletedRowNumbers) };
}

/**
 * The rows to store for the records of a segment, and the numbers of those that are deleted. With `otherRowsFlag`, copies of records of
 * all segments are stored among the records, and deleted; no answer may show them.
 */
function withDeletedRows(
  chunk: number,
  records: readonly TestRow[],
  segments: readonly (readonly TestRow[])[],
): { readonly stored: readonly TestRow[]; readonly deleted: Int32Array } {
  if (!process.env[otherRowsFlag]) return { stored: records, deleted: new Int32Array(0) };
  const next = random(chunk + 1);
  const otherRecords = segments.flat();
  const stored: TestRow[] = [];
  const deletedRowNumbers: number[] = [];
  const addDeleted = (): void => {
    const copiedRecord = next() < 0.1 ? {} : otherRecords[Math.floor(next() * otherRecords.length)];
    const ownIds = { _id: recordId(chunk, 50_000 + deletedRowNumbers.length), _commit: '4811' };
    deletedRowNumbers.push(stored.push({ ...copiedRecord, ...ownIds }) - 1);
  };
  for (const record of records) {
    while (next() < 0.3) addDeleted();
    stored.push(record);
  }
  if (records.length > 0 && next() < 0.5) addDeleted();
  return { stored, deleted: Int32Array.from(deletedRowNumbers) };
}

/** The id of a record of commit 1: commit, chunk and row in base 36. */
export function recordId(chunk: number, row: number): string {
  return `${'1'.padStart(10, '0')}${chunk.toString(36).padStart(4, '0')}${row.toString(36).padStart(5, '0')}`;
}

/** The rows of the fields of these columns, including members. */
export function fieldRows(
  columns: Columns,
  above: readonly string[],
  entities: Readonly<Record<string, EntityType>> = {},
): DatasetField[] {
  return columns.flatMap(({ name, type, isList, children }) => {
    const path = [...above, name];
    const row: DatasetField = {
      name: path.join('.'),
      path,
      title: path.join('.'),
      dataType: type === 'json' ? 'object' : type,
      isList: isList || null,
      entityType: entities[path.join('.')] ?? null,
      ordering: null,
    };
    return [row, ...fieldRows(children ?? [], path, entities)];
  });
}

function byPhysicalName(each: Column): Column {
  const children = each.children?.map(byPhysicalName);
  return { ...each, name: each.physical, ...(children && { children }) };
}

function valueOf(record: TestRow, name: string): Value | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

/** A value in the shape in which the engine hands values over. */
function cell({ isList, ...item }: Column, value: Value | undefined): unknown {
  if (value === undefined || value === null) return null;
  if (isList) {
    return {
      items: (value as readonly Value[]).map((element) =>
        cell({ ...item, isList: false }, element),
      ),
    };
  }
  if (item.type === 'object') {
    const givenMembers = value as Readonly<Record<string, Value>>;
    const members = (item.children ?? []).map((child) => [
      child.physical,
      cell(child, valueOf(givenMembers, child.name)),
    ]);
    return { entries: Object.fromEntries(members) as unknown };
  }
  if (item.type === 'date') return { micros: momentOf(value).start };
  return item.type === 'long' ? BigInt(value as number | bigint) : value;
}
