import { createHash } from 'node:crypto';
import { stringifyJson } from '../core/json.js';
import type { Columns } from '../core/types.js';
import { columnsOfDelta, deltaSchema } from './arrow-columns.js';
import type { DeletionVector } from './deletion-vector.js';
import { deltaStats, parseLeafStats } from './delta-stats.js';
import { rowIdColumn, storesRowIds } from './row-ids.js';
import type { IdRun, LeafStats, Segment } from './store.js';

/*
 * Converts segments, columns and protocols to actions of a Delta table and back (Delta protocol, "Actions"), for log entries and
 * checkpoints. The tags of `add` contain what the protocol lacks.
 */

/** The content of a Delta action. */
export type LogAction = Readonly<Record<string, unknown>>;

/** Returns the `metaData` action of a dataset, without the time. */
export function metaDataAction(
  datasetId: number,
  columns: Columns,
  hasDeletions: boolean,
): Readonly<Record<string, unknown>> {
  return {
    id: tableId(datasetId),
    name: `dataset ${datasetId}`,
    format: { provider: 'parquet', options: {} },
    schemaString: deltaSchema(columns),
    partitionColumns: [],
    configuration: hasDeletions ? { 'delta.enableDeletionVectors': 'true' } : {},
  };
}

/** Returns the `add` action of a segment without `dataChange`; `columns` are those of the dataset. */
export function addAction(
  segment: Segment,
  columns: Columns,
  time: number,
): Readonly<Record<string, unknown>> & { readonly tags: Readonly<Record<string, string>> } {
  return {
    path: segment.path,
    partitionValues: {},
    size: segment.bytes,
    modificationTime: time,
    stats: deltaStats(segment),
    tags: tagsOf(segment, columns),
    ...(segment.deletion && { deletionVector: deletionVectorDescriptor(segment.deletion) }),
  };
}

/**
 * Returns the `add` action, without `dataChange`, of a segment of which only the deleted rows change: it has no tags, and no statistics but
 * the number of rows, which the protocol requires beside a deletion vector.
 */
export function updateAction(
  { path, rows, bytes, deletion }: Segment,
  time: number,
): Readonly<Record<string, unknown>> {
  return {
    path,
    partitionValues: {},
    size: bytes,
    modificationTime: time,
    stats: stringifyJson({ numRecords: rows }),
    ...(deletion && { deletionVector: deletionVectorDescriptor(deletion) }),
  };
}

/** Returns the `protocol` action of a table, with or without deleted rows. */
export function protocolAction(hasDeletions: boolean): object {
  return hasDeletions ? deletionProtocol : plainProtocol;
}

const plainProtocol = { minReaderVersion: 1, minWriterVersion: 2 };
/** A table that requires features by name must also name those features that its earlier protocol version required by number. */
const deletionProtocol = {
  minReaderVersion: 3,
  minWriterVersion: 7,
  readerFeatures: ['deletionVectors'],
  writerFeatures: ['deletionVectors', 'appendOnly', 'invariants'],
};

/** Returns Delta's descriptor of an inline deletion vector. */
export function deletionVectorDescriptor({ encoded, bytes, rows }: DeletionVector): object {
  return { storageType: 'i', pathOrInlineDv: encoded, sizeInBytes: bytes, cardinality: rows };
}

/** Returns the deletion vector of an action; undefined if it has none. */
export function deletionVectorOf(action: LogAction): DeletionVector | undefined {
  const descriptor = action['deletionVector'] as LogAction | undefined;
  if (descriptor === undefined) return undefined;
  if (descriptor['storageType'] !== 'i')
    throw new Error('has a deletion vector in a file of its own');
  return {
    encoded: requireText(descriptor, 'pathOrInlineDv'),
    bytes: Number(descriptor['sizeInBytes']),
    rows: Number(descriptor['cardinality']),
  };
}

/**
 * Returns the properties of a segment that Delta's `add` lacks. Columns are omitted if they equal those of the dataset, apart from the
 * column of row ids.
 */
function tagsOf(segment: Segment, columns: Columns): Record<string, string> {
  const storesIds = storesRowIds(segment);
  const ownSchema = deltaSchema(storesIds ? segment.columns.slice(1) : segment.columns);
  const tags = {
    'strandlake.checksum': segment.checksum,
    ...(segment.blockChecksums && { 'strandlake.blocks': segment.blockChecksums }),
    'strandlake.format': String(segment.format),
    ...(segment.areVariantsPlaced && { 'strandlake.variants': 'placed' }),
    ...(segment.baseRowId !== undefined && { 'strandlake.baseRowId': String(segment.baseRowId) }),
    ...(storesIds && { 'strandlake.rowIds': segment.isAscending ? 'ascending' : 'stored' }),
    ...(segment.idRuns && {
      'strandlake.ids': segment.idRuns.map(({ firstId, rows }) => `${firstId}:${rows}`).join(','),
    }),
  };
  return ownSchema === deltaSchema(columns) ? tags : { ...tags, 'strandlake.columns': ownSchema };
}

/** Returns true for the protocol with deletion vectors and false for the one without; throws for any other protocol. */
export function protocolHasDeletions(protocol: LogAction): boolean {
  for (const knownProtocol of [plainProtocol, deletionProtocol])
    if (stringifyJson(protocol) === stringifyJson(knownProtocol))
      return knownProtocol === deletionProtocol;
  throw new Error(`needs another protocol than this server supports: ${stringifyJson(protocol)}`);
}

/** Returns the segment that an `add` action describes; `columns` are those of the dataset. */
export function segmentOfAddAction(add: LogAction, columns: Columns): Segment {
  const tags = add['tags'] as Record<string, string>;
  const ownSchema = tags['strandlake.columns'];
  const ownColumns = ownSchema === undefined ? columns : columnsOfDelta(ownSchema);
  const rowIds = tags['strandlake.rowIds'];
  // Entries of early releases have the column of row ids in the schema of the segment.
  const segmentColumns =
    rowIds === undefined || storesRowIds({ columns: ownColumns })
      ? ownColumns
      : [rowIdColumn, ...ownColumns];
  const { rows, stats } = parseLeafStats(requireText(add, 'stats'), segmentColumns);
  return {
    path: requireText(add, 'path'),
    rows,
    bytes: Number(add['size']),
    checksum: requireText(tags, 'strandlake.checksum'),
    blockChecksums: tags['strandlake.blocks'],
    format: Number(tags['strandlake.format'] ?? 1),
    columns: segmentColumns,
    stats: stats satisfies Readonly<Record<string, LeafStats>>,
    areVariantsPlaced: tags['strandlake.variants'] === 'placed',
    deletion: deletionVectorOf(add),
    baseRowId: parseRowId(tags['strandlake.baseRowId']),
    ...(rowIds === 'ascending' && { isAscending: true }),
    idRuns: parseIdRuns(tags['strandlake.ids']),
  };
}

function parseIdRuns(tag: string | undefined): readonly IdRun[] | undefined {
  return tag?.split(',').map((run) => {
    const [firstId, rows] = run.split(':');
    return { firstId: firstId!, rows: Number(rows) };
  });
}

function parseRowId(tag: string | undefined): number | undefined {
  const id = tag === undefined ? undefined : Number(tag);
  if (id !== undefined && !Number.isSafeInteger(id)) throw new Error(`has the row id ${tag}`);
  return id;
}

/** Returns a member of an action that must be a text; throws if it is not. */
export function requireText(action: LogAction, name: string): string {
  const value = action[name];
  if (typeof value !== 'string') throw new Error(`has no ${name} where one is required`);
  return value;
}

/** Returns the table's UUID, derived from the dataset's id, so that equal logs have equal bytes. */
function tableId(datasetId: number): string {
  const hex = sha256(`strandlake dataset ${datasetId}`);
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return [...parts, hex.slice(20, 32)].join('-');
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
