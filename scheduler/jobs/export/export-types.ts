import type { CommitRow } from '../../../engine/catalog/commits.js';
import type { QueryRequest } from '../../../engine/query/request/query-request.js';
import type { FieldTitles } from '../../../engine/query/results/cells.js';
import type { Snapshot } from '../../../engine/store/store.js';
import type { JsonObject } from '../../../engine/core/types.js';
import type { SeparatedQuery } from '../../../engine/query/request/separated-query.js';
import type { ComputedQuery } from '../computed/computed-query.js';
import type { ComputedParams } from '../computed/computed-types.js';
import type { ExportAnnotation } from './part.js';
import type { AnnotatedColumns } from '../../expressions/columns/annotated-batch.js';
import type { FileContext, FileWarning } from '../../../writers/writer.js';

/** Parameters of `runExport`. */
export type ExportParams = QueryExport | CommitExport;

interface ExportFile {
  readonly format: string;
  readonly snapshot: Snapshot;
  /** Whether the file is also stored as an object in a vault; if so, its MD5 digest is computed. */
  readonly isStored: boolean;
  /** The context of the file; its `longest`, the lengths of the longest lists, is known only when the export runs. */
  readonly file: Omit<FileContext, 'longest'>;
}

/** The parameters of an export of the records that a query finds. */
export interface QueryExport extends ExportFile {
  /** The request, without its conditions, ordering and facets if `search` has them. */
  readonly request: QueryRequest;
  /** How the records are found by computed fields; null for a query that uses stored fields only. */
  readonly search: ComputedSearch | null;
  /** The annotation; null if no field is computed. */
  readonly annotation: ExportAnnotation | null;
  /** The known columns of the annotated records; null if the records are not written to a table. */
  readonly annotated: AnnotatedColumns | null;
  readonly titles: FieldTitles;
}

/** How an export finds records by computed fields: plain data. */
export interface ComputedSearch {
  readonly asked: ComputedQuery;
  /** The ways to separate the query, in the order in which they are tried, each with the table of computed fields that it needs. */
  readonly attempts: readonly {
    readonly parts: SeparatedQuery;
    readonly params: ComputedParams;
  }[];
}

/** The parameters of an export of the records that a commit has changed: first those that it removed, then those that it added. */
export interface CommitExport extends ExportFile {
  /** The version of the commit; `snapshot` has the same records, which merges may have moved. */
  readonly commitVersion: number;
  /** The version before the commit; null if the records that it removed are not exported. */
  readonly removedFrom: Snapshot | null;
  /** Whether the records that the commit added are exported. */
  readonly hasAdded: boolean;
}

/**
 * Whether the file of a commit contains the records that the commit removed. It contains those that the commit wrote or, if it only removed
 * records, the removed ones; of a rollback, both.
 */
export function exportsRemovedRecords(mode: CommitRow['mode']): boolean {
  return mode === 'delete' || mode === 'rollback';
}

/** The result of `runExport`: a complete, flushed file. */
export interface ExportResult {
  /** Name of the file in the scratch folder. */
  readonly file: string;
  readonly bytes: number;
  /** The MD5 digest in lower-case hex; empty unless the file becomes an object of a vault. */
  readonly md5: string;
  /** The SHA-256 in lower-case hexadecimal. */
  readonly sha256: string;
  readonly records: number;
  /** The version of the exported dataset. */
  readonly version: number;
  /** The provenance of the file, as in the parameters of the export. */
  readonly provenance: JsonObject;
  readonly warnings: readonly FileWarning[];
  /** Number of parts that earlier attempts had encoded and this one has reused. */
  readonly resumedParts: number;
}
