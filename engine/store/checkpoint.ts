import { createHash, type Hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { DataFolder } from '../core/data-folder.js';
import { openFile } from '../core/files.js';
import { encodeRowGroup, joinRowGroups, type EncodedRowGroup } from '../parquet/file-encoder.js';
import {
  batchOfRows,
  rowsOfParts,
  type ParquetRow,
  type ParquetValue,
} from '../parquet/plain-rows.js';
import { readChunk, type DecodedLeaf } from '../parquet/read-column-chunk.js';
import { isZstd } from '../parquet/read-pages.js';
import { parquetSchema, type LeafType, type ParquetColumn } from '../parquet/parquet-schema.js';
import { columnsOfDelta } from './arrow-columns.js';
import { readFooter } from './footer.js';
import {
  addAction,
  metaDataAction,
  protocolAction,
  segmentOfAddAction,
  type LogAction,
} from './delta-actions.js';
import { emptyState, type LogState } from './log-state.js';
import { createdBy } from './segment.js';
import type { Segment } from './store.js';
import { RemovedFiles, type RemovedFile } from './removed-files.js';

/*
 * A checkpoint of Delta Lake (protocol, "Checkpoints", V1): a Parquet file with one row per action; together, the actions make up the state
 * of a version. The tags of `add` and `remove`, and `txn` actions, store what the protocol lacks; one `txn` action has the checksum of all
 * other rows.
 */

/** Rows per row group. Encoding one takes about 40 ms of processor time, decoding one 15 ms. */
const rowsPerGroup = 2_000;

function scalarColumn(name: string, type: LeafType): ParquetColumn {
  return { name, type, isList: false };
}

function groupColumn(name: string, ...children: readonly ParquetColumn[]): ParquetColumn {
  return { name, type: 'group', isList: false, children };
}

function mapColumn(name: string): ParquetColumn {
  const children = [scalarColumn('key', 'string'), scalarColumn('value', 'string')];
  return { name, type: 'group', isList: true, isMap: true, children };
}

function stringsColumn(name: string): ParquetColumn {
  return { name, type: 'string', isList: true };
}

const deletionVectorColumn = groupColumn(
  'deletionVector',
  scalarColumn('storageType', 'string'),
  scalarColumn('pathOrInlineDv', 'string'),
  scalarColumn('offset', 'int32'),
  scalarColumn('sizeInBytes', 'int32'),
  scalarColumn('cardinality', 'int64'),
);

/** The columns of the schema that the Delta protocol defines for checkpoints. */
const checkpointColumns: readonly ParquetColumn[] = [
  groupColumn('txn', scalarColumn('appId', 'string'), scalarColumn('version', 'int64'), scalarColumn('lastUpdated', 'int64')), // prettier-ignore
  groupColumn(
    'add',
    scalarColumn('path', 'string'),
    mapColumn('partitionValues'),
    scalarColumn('size', 'int64'),
    scalarColumn('modificationTime', 'int64'),
    scalarColumn('dataChange', 'boolean'),
    scalarColumn('stats', 'string'),
    mapColumn('tags'),
    deletionVectorColumn,
    scalarColumn('baseRowId', 'int64'),
    scalarColumn('defaultRowCommitVersion', 'int64'),
  ),
  groupColumn(
    'remove',
    scalarColumn('path', 'string'),
    scalarColumn('deletionTimestamp', 'int64'),
    scalarColumn('dataChange', 'boolean'),
    scalarColumn('extendedFileMetadata', 'boolean'),
    mapColumn('partitionValues'),
    scalarColumn('size', 'int64'),
    mapColumn('tags'),
    deletionVectorColumn,
  ),
  groupColumn(
    'metaData',
    scalarColumn('id', 'string'),
    scalarColumn('name', 'string'),
    scalarColumn('description', 'string'),
    groupColumn('format', scalarColumn('provider', 'string'), mapColumn('options')),
    scalarColumn('schemaString', 'string'),
    stringsColumn('partitionColumns'),
    scalarColumn('createdTime', 'int64'),
    mapColumn('configuration'),
  ),
  groupColumn(
    'protocol',
    scalarColumn('minReaderVersion', 'int32'),
    scalarColumn('minWriterVersion', 'int32'),
    stringsColumn('readerFeatures'),
    stringsColumn('writerFeatures'),
  ),
];

const actionColumn: ParquetColumn = groupColumn('action', ...checkpointColumns);

const deletedAtTagKey = 'strandlake.deletedAt';
const latestDeletedAtTagKey = 'strandlake.latestDeletedAt';
const latestRemovedAtTagKey = 'strandlake.latestRemovedAt';
const vacuumedTagKey = 'strandlake.vacuumed';
const readableSinceAppId = 'strandlake.readableSince';
const nextRowIdAppId = 'strandlake.nextRowId';
const checksumAppIdPrefix = 'strandlake.sha256.';

/** Yields the bytes of a checkpoint; `onEncoded` is called with the number of rows of each of its row groups. */
export function encodeCheckpoint(
  datasetId: number,
  state: LogState,
  onEncoded: (rows: number) => void,
): AsyncGenerator<Uint8Array> {
  const groups = async function* (): AsyncGenerator<EncodedRowGroup> {
    for await (const rows of rowGroupsOf(datasetId, state)) {
      yield encodeRowGroup(checkpointColumns, batchOfRows(checkpointColumns, rows));
      onEncoded(rows.length);
    }
  };
  return joinRowGroups(checkpointColumns, groups(), createdBy);
}

/** Returns the checksum of the rows of a checkpoint of the state; equal states have equal checksums. */
export async function checksumOfState(datasetId: number, state: LogState): Promise<string> {
  let lastRow: ParquetRow | undefined;
  for await (const rows of rowGroupsOf(datasetId, state)) lastRow = rows.at(-1);
  return checksumOfRow(lastRow!)!;
}

/** Yields the rows of a checkpoint in groups, between which other work of the process can run. */
async function* rowGroupsOf(
  datasetId: number,
  state: LogState,
): AsyncGenerator<readonly ParquetRow[]> {
  const checksum = new RowsChecksum(datasetId, state.version);
  let rows: ParquetRow[] = [];
  for (const action of actionsOfState(datasetId, state)) {
    const row = toParquetValue(actionColumn, action) as ParquetRow;
    checksum.update(row);
    rows.push(row);
    if (rows.length < rowsPerGroup) continue;
    yield rows;
    rows = [];
    await setImmediate();
  }
  const appId = `${checksumAppIdPrefix}${checksum.finish()}`;
  yield [...rows, { txn: { appId, version: state.version } }];
}

function* actionsOfState(datasetId: number, state: LogState): Generator<LogAction> {
  yield { protocol: protocolAction(state.hasDeletions) };
  yield { metaData: metaDataAction(datasetId, state.columns, state.hasDeletions) };
  yield { txn: { appId: readableSinceAppId, version: state.readableSince } };
  yield { txn: { appId: nextRowIdAppId, version: state.nextRowId } };
  for (const segment of state.live.values()) {
    const { tags, ...add } = addAction(segment, state.columns, addedAtMs(segment.path));
    const { deletion, deletedAt, latestTimeBeforeDeletion } = segment;
    const deletionTimeTags = deletion && {
      ...timeTag(deletedAtTagKey, deletedAt),
      ...timeTag(latestDeletedAtTagKey, latestTimeBeforeDeletion),
    };
    yield { add: { ...add, dataChange: false, tags: { ...tags, ...deletionTimeTags } } };
  }
  for (const [path, { bytes, removedAt, latestTimeBeforeRemoval, isVacuumed }] of state.removed)
    yield {
      remove: {
        path,
        deletionTimestamp: removedAt,
        dataChange: false,
        extendedFileMetadata: true,
        partitionValues: {},
        size: bytes,
        tags: {
          ...(isVacuumed && { [vacuumedTagKey]: 'true' }),
          ...timeTag(latestRemovedAtTagKey, latestTimeBeforeRemoval),
        },
      },
    };
}

function timeTag(key: string, time: number | undefined): Readonly<Record<string, string>> {
  return time === undefined ? {} : { [key]: String(time) };
}

function parseTimeTag(time: string | undefined): number | undefined {
  return time === undefined ? undefined : Number(time);
}

/** Returns the time in milliseconds since 1970 with which the name of a segment begins (link-segments.ts); 0 if it does not. */
function addedAtMs(path: string): number {
  const time = parseInt(path, 36);
  return Number.isSafeInteger(time) ? time : 0;
}

/** Reads the checkpoint of a version. Throws if it cannot be read or does not match its checksum for this dataset and version. */
export async function readCheckpoint(
  folder: DataFolder,
  datasetId: number,
  version: number,
): Promise<LogState> {
  const checksum = new RowsChecksum(datasetId, version);
  const live = new Map<string, Segment>();
  const removed = new Map<string, RemovedFile>();
  const state = { ...emptyState, version, live };
  let isWhole = false;
  const readRow = (row: ParquetRow): void => {
    const { txn, add, remove, metaData, protocol } = row as Readonly<Record<string, LogAction>>;
    const expectedChecksum = checksumOfRow(row);
    isWhole = expectedChecksum !== undefined && expectedChecksum === checksum.finish();
    if (expectedChecksum === undefined) checksum.update(row);
    if (protocol !== undefined) state.hasDeletions = Number(protocol['minReaderVersion']) === 3;
    if (metaData !== undefined) state.columns = columnsOfDelta(String(metaData['schemaString']));
    if (txn?.['appId'] === readableSinceAppId) state.readableSince = Number(txn['version']);
    if (txn?.['appId'] === nextRowIdAppId) state.nextRowId = Number(txn['version']);
    if (add !== undefined) {
      const tags = objectOfEntries(add['tags']);
      const segment = segmentOfAddAction({ ...add, tags }, state.columns);
      const deletedAt = parseTimeTag(tags[deletedAtTagKey]);
      const latestTimeBeforeDeletion = parseTimeTag(tags[latestDeletedAtTagKey]);
      live.set(segment.path, deletedAt === undefined ? segment : { ...segment, deletedAt, latestTimeBeforeDeletion }); // prettier-ignore
    }
    if (remove !== undefined) {
      const tags = objectOfEntries(remove['tags']);
      removed.set(String(remove['path']), {
        bytes: Number(remove['size']),
        removedAt: Number(remove['deletionTimestamp']),
        latestTimeBeforeRemoval: parseTimeTag(tags[latestRemovedAtTagKey]),
        isVacuumed: tags[vacuumedTagKey] === 'true',
      });
    }
  };
  for await (const rows of readRowGroups(folder.checkpoint(datasetId, version)))
    rows.forEach(readRow);
  if (!isWhole) throw new Error('does not match its checksum');
  return { ...state, removed: RemovedFiles.of(removed) };
}

/** Yields the rows of a checkpoint by row groups, of which one at a time is in memory; between them, other work of the process can run. */
async function* readRowGroups(path: string): AsyncGenerator<readonly ParquetRow[]> {
  const footer = await readFooter(path);
  const schema = parquetSchema(checkpointColumns);
  const file = await openFile(path);
  try {
    for (const { num_rows: rows, columns: chunks } of footer.row_groups) {
      if (chunks.length !== schema.leaves.length) throw new Error('has other columns');
      const parts: DecodedLeaf[] = [];
      for (const [i, leaf] of schema.leaves.entries()) {
        const meta = chunks[i]?.meta_data;
        if (meta?.path_in_schema.join('.') !== leaf.path.join('.'))
          throw new Error('has other columns');
        const begin = Number(meta.dictionary_page_offset ?? meta.data_page_offset);
        const bytes = await file.read(begin, Number(meta.total_compressed_size));
        const slots = Number(meta.num_values);
        parts.push(readChunk(bytes, leaf, { slots, isCompressed: isZstd(meta.codec) }));
      }
      yield rowsOfParts(schema, parts, Number(rows));
      await setImmediate();
    }
  } finally {
    await file.close();
  }
}

/** Converts a value of an action to the form and order that it has after reading: a map, given as an object, becomes a list of entries. */
function toParquetValue(column: ParquetColumn, value: unknown): ParquetValue {
  if (value === undefined || value === null) return null;
  if (column.isMap === true)
    return Object.entries(value).map(([key, one]) => ({ key, value: one as string }));
  if (column.isList)
    return (value as unknown[]).map((one) => toParquetValue({ ...column, isList: false }, one));
  if (column.type !== 'group') return value as ParquetValue;
  const object = value as Readonly<Record<string, unknown>>;
  const names = new Set(column.children!.map(({ name }) => name));
  for (const key of Object.keys(object))
    if (!names.has(key)) throw new Error(`checkpoints have no column for ${column.name}.${key}`);
  const members = column.children!.map((one) => [one.name, toParquetValue(one, object[one.name])] as const); // prettier-ignore
  return Object.fromEntries(members.filter(([, one]) => one !== null));
}

function objectOfEntries(entries: unknown): Readonly<Record<string, string>> {
  const list = entries as readonly { readonly key: string; readonly value: string }[];
  return Object.fromEntries(list.map(({ key, value }) => [key, value]));
}

/** Computes the checksum of a dataset's id, a version and the rows of the checkpoint but the last, which has the checksum. */
class RowsChecksum {
  readonly #digest: Hash;

  constructor(datasetId: number, version: number) {
    this.#digest = createHash('sha256').update(`${datasetId} ${version}\n`);
  }

  update(row: ParquetRow): void {
    this.#digest.update(`${JSON.stringify(row)}\n`);
  }

  /** Returns the checksum, a SHA-256 in hexadecimal. The second call throws. */
  finish(): string {
    return this.#digest.digest('hex');
  }
}

/** Returns the checksum in the last row of a checkpoint; undefined for any other row. */
function checksumOfRow({ txn }: ParquetRow): string | undefined {
  const appId = String((txn as LogAction | undefined)?.['appId']);
  return appId.startsWith(checksumAppIdPrefix)
    ? appId.slice(checksumAppIdPrefix.length)
    : undefined;
}
