import { createHash } from 'node:crypto';
import type { DataFolder } from '../core/data-folder.js';
import { readFile } from '../core/files.js';
import { ParquetEncoder } from '../parquet/file-encoder.js';
import {
  batchOfRows,
  rowsOfParts,
  type ParquetRow,
  type ParquetValue,
} from '../parquet/plain-rows.js';
import { readChunk } from '../parquet/read-chunk.js';
import { isZstd } from '../parquet/read-pages.js';
import { parquetSchema, type LeafType, type ParquetColumn } from '../parquet/schema.js';
import { columnsOfDelta } from './arrow.js';
import { readFooter } from './footer.js';
import {
  addAction,
  metaDataAction,
  protocolAction,
  segmentOfAddAction,
  type LogAction,
} from './delta-actions.js';
import type { LogState } from './log-state.js';
import { createdBy } from './segment.js';
import type { Segment } from './store.js';
import type { RemovedFile } from './vacuum-entry.js';

/*
 * A checkpoint of Delta Lake (protocol, "Checkpoints", V1): a Parquet file with one row per action; together, the actions make up the state
 * of a version. The tags of `add` and `remove`, and `txn` actions, store what the protocol lacks; one `txn` action has the checksum of all
 * other rows.
 */

const maxCheckpointBytes = 512 << 20;

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

const deletedAtTagKey = 'strandlake.deletedAt';
const vacuumedTagKey = 'strandlake.vacuumed';
const readableSinceAppId = 'strandlake.readableSince';
const nextRowIdAppId = 'strandlake.nextRowId';
const checksumAppIdPrefix = 'strandlake.sha256.';

/** Returns the bytes of a checkpoint and the number of its rows. */
export function encodeCheckpoint(
  datasetId: number,
  state: LogState,
): { readonly bytes: Uint8Array; readonly rows: number } {
  const rows = [...rowsOfCheckpoint(datasetId, state)];
  const checksum = rowsChecksum(datasetId, state.version, rows);
  rows.push({ txn: { appId: `${checksumAppIdPrefix}${checksum}`, version: state.version } });
  const encoder = new ParquetEncoder(checkpointColumns, createdBy);
  const pieces = Array.from(
    encoder.encodeBatches([batchOfRows(checkpointColumns, rows)]),
    (piece) => piece.slice(),
  );
  return { bytes: Buffer.concat(pieces), rows: rows.length };
}

/** Returns the SHA-256, in hexadecimal, of the rows of a checkpoint of the state; equal states have equal checksums. */
export function stateChecksum(datasetId: number, state: LogState): string {
  return rowsChecksum(datasetId, state.version, rowsOfCheckpoint(datasetId, state));
}

function rowsOfCheckpoint(datasetId: number, state: LogState): readonly ParquetRow[] {
  const actions: LogAction[] = [
    { protocol: protocolAction(state.hasDeletions) },
    { metaData: metaDataAction(datasetId, state.columns, state.hasDeletions) },
    { txn: { appId: readableSinceAppId, version: state.readableSince } },
    { txn: { appId: nextRowIdAppId, version: state.nextRowId } },
  ];
  for (const segment of state.live.values()) {
    const { tags, ...add } = addAction(segment, state.columns, addedAtMs(segment.path));
    const { deletion, deletedAt } = segment;
    const datedTags = deletion &&
      deletedAt !== undefined && { [deletedAtTagKey]: String(deletedAt) };
    actions.push({ add: { ...add, dataChange: false, tags: { ...tags, ...datedTags } } });
  }
  for (const [path, { bytes, removedAt, isVacuumed }] of state.removed)
    actions.push({
      remove: {
        path,
        deletionTimestamp: removedAt,
        dataChange: false,
        extendedFileMetadata: true,
        partitionValues: {},
        size: bytes,
        tags: isVacuumed ? { [vacuumedTagKey]: 'true' } : {},
      },
    });
  const row: ParquetColumn = {
    name: 'row',
    type: 'group',
    isList: false,
    children: checkpointColumns,
  };
  return actions.map((action) => toParquetValue(row, action) as ParquetRow);
}

/** Returns when a segment was added, in milliseconds since 1970: its file name begins with the time (link-segments.ts). */
function addedAtMs(path: string): number {
  const time = parseInt(path, 36);
  return Number.isSafeInteger(time) ? time : 0;
}

/** Reads the checkpoint of a version. Throws if it is not exactly what `encodeCheckpoint` writes for this dataset and version. */
export async function readCheckpoint(
  folder: DataFolder,
  datasetId: number,
  version: number,
): Promise<LogState> {
  const rows = await readRows(folder.checkpoint(datasetId, version));
  const last = rows.pop()?.['txn'] as LogAction | undefined;
  if (last?.['appId'] !== `${checksumAppIdPrefix}${rowsChecksum(datasetId, version, rows)}`)
    throw new Error('does not match its checksum');
  return stateOfRows(version, rows as readonly Readonly<Record<string, LogAction>>[]);
}

function stateOfRows(
  version: number,
  rows: readonly Readonly<Record<string, LogAction>>[],
): LogState {
  const find = (kind: string): LogAction => rows.find((row) => row[kind] !== undefined)![kind]!;
  const numberOf = (appId: string): number =>
    Number(rows.find(({ txn }) => txn?.['appId'] === appId)!['txn']!['version']);
  const tableColumns = columnsOfDelta(String(find('metaData')['schemaString']));
  const liveSegments = new Map<string, Segment>();
  const removedFiles = new Map<string, RemovedFile>();
  for (const { add, remove } of rows) {
    if (add !== undefined) {
      const tags = objectOfEntries(add['tags']);
      const segment = segmentOfAddAction({ ...add, tags }, tableColumns);
      const deletedAt = tags[deletedAtTagKey];
      liveSegments.set(segment.path, deletedAt === undefined ? segment : { ...segment, deletedAt: Number(deletedAt) }); // prettier-ignore
    }
    if (remove !== undefined)
      removedFiles.set(String(remove['path']), {
        bytes: Number(remove['size']),
        removedAt: Number(remove['deletionTimestamp']),
        isVacuumed: objectOfEntries(remove['tags'])[vacuumedTagKey] === 'true',
      });
  }
  return {
    version,
    columns: tableColumns,
    live: liveSegments,
    removed: removedFiles,
    readableSince: numberOf(readableSinceAppId),
    hasDeletions: Number(find('protocol')['minReaderVersion']) === 3,
    nextRowId: numberOf(nextRowIdAppId),
  };
}

async function readRows(path: string): Promise<ParquetRow[]> {
  const bytes = await readFile(path, maxCheckpointBytes);
  const footer = await readFooter(path);
  const schema = parquetSchema(checkpointColumns);
  return footer.row_groups.flatMap(({ num_rows: rows, columns: chunks }) => {
    if (chunks.length !== schema.leaves.length) throw new Error('has other columns');
    const parts = schema.leaves.map((leaf, i) => {
      const meta = chunks[i]?.meta_data;
      if (meta?.path_in_schema.join('.') !== leaf.path.join('.'))
        throw new Error('has other columns');
      const begin = Number(meta.dictionary_page_offset ?? meta.data_page_offset);
      const end = begin + Number(meta.total_compressed_size);
      const slots = Number(meta.num_values);
      return readChunk(bytes.subarray(begin, end), leaf, { slots, isCompressed: isZstd(meta.codec) }); // prettier-ignore
    });
    return [...rowsOfParts(schema, parts, Number(rows))];
  });
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

/** Returns the SHA-256 of rows in hexadecimal. */
function rowsChecksum(datasetId: number, version: number, rows: readonly ParquetRow[]): string {
  const digest = createHash('sha256').update(`${datasetId} ${version}\n`);
  for (const row of rows) digest.update(`${JSON.stringify(row)}\n`);
  return digest.digest('hex');
}
