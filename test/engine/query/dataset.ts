import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tableFromIPC } from 'apache-arrow';
import type { DatasetField } from '../../../engine/core/dataset-field.js';
import { openMemoryExecutor } from '../../../engine/query/memory/memory-executor.js';
import { arrowStream } from './arrow-stream.js';
import { openQueryEngine, type QueryEngine } from '../../../engine/query/plan/query-engine.js';
import { readDateInterval } from '../../../engine/query/request/request-values.js';
import { encodeSchemaFile } from '../../../engine/store/schema-file.js';
import { writeSegment } from '../store/write-segment.js';
import { seededRandom } from '../../random.js';
import { reservedColumns } from '../../../engine/store/arrow-columns.js';
import { deletionVector } from '../../../engine/store/deletion-vector.js';
import { areRowIdsInterleaved, rowIdColumn } from '../../../engine/store/row-ids.js';
import { liveRowCount, type Segment, type Snapshot } from '../../../engine/store/store.js';
import type { Column, Columns, EntityType, StoredType, Value } from '../../../engine/core/types.js';

/** A record of a test; dates are ISO texts, and values of `json` columns are JSON texts. */
export type TestRow = Readonly<Record<string, Value | undefined>>;

/** A data folder with a query engine. */
export interface EngineFixture {
  readonly folder: string;
  readonly engine: QueryEngine;
  newDataset(
    columns: Columns,
    segments: readonly (readonly TestRow[])[],
    more?: DatasetOptions,
  ): Promise<TestDataset>;
  close(): Promise<void>;
}

/** Optional properties of a dataset that a test writes. */
export interface DatasetOptions {
  /** The columns that each segment stores, if not all segments store all columns. */
  readonly stored?: readonly Columns[];
  readonly entities?: Readonly<Record<string, EntityType>>;
}

/** One version of a dataset, and its fields as in the catalogue. */
export interface TestDataset {
  readonly snapshot: Snapshot;
  readonly fields: readonly DatasetField[];
}

/** The names of the ways in which queries are answered, each with the number of threads for `openEngineFixture`. */
export const enginesUnderTest: readonly (readonly [name: string, threads: number | undefined])[] = [
  ['columns in memory', 0],
  ['SQL', undefined],
];

/**
 * Opens a query engine as the server does, but on a temporary folder. With a number of threads, where 0 means the current thread, queries
 * are answered from columns in memory as far as possible; without, SQL evaluates all conditions.
 */
export async function openEngineFixture(threads?: number): Promise<EngineFixture> {
  const folder = mkdtempSync(join(tmpdir(), 'strandlake-query-'));
  const engine = openQueryEngine({
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
    newDataset: async (columns, segments, more) => {
      lastId += 1;
      return writeDataset(folder, lastId, columns, segments, more);
    },
    close: async () => {
      await engine.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Returns the bytes of a page of results. */
export async function readPageBytes(body: Uint8Array | AsyncIterable<Uint8Array>): Promise<Buffer> {
  if (ArrayBuffer.isView(body)) return Buffer.from(body);
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** Returns a column; for example `column('info', 'object', [column('AF', 'double')])`. */
export function column(name: string, type: StoredType, children?: Columns): Column {
  return { name, physical: name, type, isList: false, ...(children && { children }) };
}

/** Returns a list column with the given elements. */
export function listColumn(item: Column): Column {
  return { ...item, isList: true };
}

async function writeDataset(
  folder: string,
  id: number,
  columns: Columns,
  segments: readonly (readonly TestRow[])[],
  { stored = [], entities }: DatasetOptions = {},
): Promise<TestDataset> {
  const datasetFolder = join(folder, 'datasets', String(id));
  mkdirSync(datasetFolder, { recursive: true });
  const schemaPath = join(datasetFolder, 'schema.parquet');
  writeFileSync(schemaPath, encodeSchemaFile(columns));
  const files = [schemaPath];
  const writtenSegments: Segment[] = [];
  const write = async (
    storedColumns: Columns,
    rows: readonly TestRow[],
    deletedRows: Int32Array,
  ): Promise<Segment> => {
    const path = join(datasetFolder, `${writtenSegments.length}.parquet`);
    const all = [...reservedColumns, ...storedColumns];
    const cells = rows.map((row) =>
      all.map((each) => cellOfEngine(each, memberValue(row, each.name))),
    );
    const data = tableFromIPC(arrowStream(all.map(renameToPhysicalName), cells)).batches;
    const segment = await writeSegment({ columns: storedColumns, data, rows: rows.length }, path);
    const deletion = deletedRows.length > 0 ? deletionVector(deletedRows) : undefined;
    files.push(path);
    return { ...segment, ...(deletion && { deletion }) };
  };
  const replacingRows: TestRow[] = [];
  let baseRowId = 0;
  for (const [chunk, rows] of segments.entries()) {
    const rowsWithIds = rows.map((row, index) => ({
      _id: recordId(chunk, index),
      _commit: '4812',
      ...row,
    }));
    const ownColumns = stored[chunk] ?? columns;
    const { storedRows, deletedRowNumbers } =
      process.env[deletedOrReplacedRowsFlag] === 'replaced'
        ? withReplacedRows(chunk, rowsWithIds, segments, baseRowId, replacingRows)
        : withDeletedRows(chunk, rowsWithIds, segments);
    writtenSegments.push({
      ...(await write(ownColumns, storedRows, deletedRowNumbers)),
      baseRowId,
    });
    baseRowId += storedRows.length;
  }
  for (const parity of [0, 1]) {
    const ownRows = replacingRows.filter((_, i) => i % 2 === parity);
    if (ownRows.length === 0) continue;
    if (parity === 1) ownRows.reverse();
    const segment = await write([rowIdColumn, ...columns], ownRows, new Int32Array(0));
    writtenSegments.push({ ...segment, isAscending: parity === 0 });
  }
  const rows = writtenSegments.reduce((sum, segment) => sum + liveRowCount(segment), 0);
  const isInterleaved = areRowIdsInterleaved(writtenSegments);
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
 * The name of an environment variable. With `deleted`, the datasets that this module writes get random deleted rows among their records;
 * with `replaced`, random records are stored in later segments, and the rows that these replaced are deleted.
 */
export const deletedOrReplacedRowsFlag = 'STRANDLAKE_TEST_OTHER_ROWS';

/**
 * Like `withDeletedRows`, but some records are not stored here: they are added to `replacingRows`, with their row ids, to be stored in later
 * segments.
 */
function withReplacedRows(
  chunk: number,
  records: readonly TestRow[],
  segments: readonly (readonly TestRow[])[],
  baseRowId: number,
  replacedRows: TestRow[],
): { readonly storedRows: readonly TestRow[]; readonly deletedRowNumbers: Int32Array } {
  const next = seededRandom(chunk + 1);
  const otherRecords = segments.flat();
  const deletedRowNumbers: number[] = [];
  const storedRows = records.map((record, row) => {
    if (next() < 0.6) return record;
    deletedRowNumbers.push(row);
    replacedRows.push({ ...record, [rowIdColumn.name]: baseRowId + row });
    const { _id } = record;
    return { ...otherRecords[Math.floor(next() * otherRecords.length)], _id, _commit: '4811' };
  });
  return { storedRows, deletedRowNumbers: Int32Array.from(deletedRowNumbers) };
}

/**
 * Returns the rows to store for the records of a segment, and the numbers of the deleted rows among them. With `deletedOrReplacedRowsFlag`,
 * copies of random records of any segment, and empty records, are stored among the records and deleted; no answer may show them.
 */
function withDeletedRows(
  chunk: number,
  records: readonly TestRow[],
  segments: readonly (readonly TestRow[])[],
): { readonly storedRows: readonly TestRow[]; readonly deletedRowNumbers: Int32Array } {
  if (!process.env[deletedOrReplacedRowsFlag])
    return { storedRows: records, deletedRowNumbers: new Int32Array(0) };
  const next = seededRandom(chunk + 1);
  const otherRecords = segments.flat();
  const storedRows: TestRow[] = [];
  const deletedRowNumbers: number[] = [];
  const addDeleted = (): void => {
    const copiedRecord = next() < 0.1 ? {} : otherRecords[Math.floor(next() * otherRecords.length)];
    const ownIds = { _id: recordId(chunk, 50_000 + deletedRowNumbers.length), _commit: '4811' };
    deletedRowNumbers.push(storedRows.push({ ...copiedRecord, ...ownIds }) - 1);
  };
  for (const record of records) {
    while (next() < 0.3) addDeleted();
    storedRows.push(record);
  }
  if (records.length > 0 && next() < 0.5) addDeleted();
  return { storedRows, deletedRowNumbers: Int32Array.from(deletedRowNumbers) };
}

/** Returns the id of a record of commit 1: commit, chunk and row in base 36. */
export function recordId(chunk: number, row: number): string {
  return `${'1'.padStart(10, '0')}${chunk.toString(36).padStart(4, '0')}${row.toString(36).padStart(5, '0')}`;
}

/** Returns the catalogue rows of the fields of some columns, including members. */
export function fieldRows(
  columns: Columns,
  parentPath: readonly string[],
  entities: Readonly<Record<string, EntityType>> = {},
): DatasetField[] {
  return columns.flatMap(({ name, type, isList, children }) => {
    const path = [...parentPath, name];
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

function renameToPhysicalName(each: Column): Column {
  const children = each.children?.map(renameToPhysicalName);
  return { ...each, name: each.physical, ...(children && { children }) };
}

function memberValue(record: TestRow, name: string): Value | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

/** Returns a value in the form in which the engine returns values. */
function cellOfEngine({ isList, ...item }: Column, value: Value | undefined): unknown {
  if (value === undefined || value === null) return null;
  if (isList) {
    return {
      items: (value as readonly Value[]).map((element) =>
        cellOfEngine({ ...item, isList: false }, element),
      ),
    };
  }
  if (item.type === 'object') {
    const givenMembers = value as Readonly<Record<string, Value>>;
    const members = (item.children ?? []).map((child) => [
      child.physical,
      cellOfEngine(child, memberValue(givenMembers, child.name)),
    ]);
    return { entries: Object.fromEntries(members) as unknown };
  }
  if (item.type === 'date') return { micros: readDateInterval(value).start };
  return item.type === 'long' ? BigInt(value as number | bigint) : value;
}
