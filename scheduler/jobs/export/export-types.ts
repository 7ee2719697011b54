import type { QueryRequest } from '../../../engine/query/request/request.js';
import type { FieldTitles } from '../../../engine/query/results/cells.js';
import type { Snapshot } from '../../../engine/store/store.js';
import type { JsonObject } from '../../../engine/core/types.js';
import type { SeparatedQuery } from '../../../engine/query/request/separated-query.js';
import type { ComputedQuery } from '../computed/computed-query.js';
import type { ComputedParams } from '../computed/computed-types.js';
import type { ExportAnnotation } from './part.js';
import type { AnnotatedColumns } from '../../expressions/protocol.js';
import type { FileContext, FileWarning } from '../../../writers/writer.js';

/** Parameters of `runExport`. */
export type ExportParams = QueryExport | CommitExport;

interface ExportFile {
  readonly format: string;
  readonly snapshot: Snapshot;
  /** Whether the file also becomes an object, which has an MD5 digest. */
  readonly isStored: boolean;
  /** The longest lists are known only when it runs. */
  readonly file: Omit<FileContext, 'longest'>;
}

/** Exports the records that a query finds. */
export interface QueryExport extends ExportFile {
  /** The request, without its conditions on records if `search` has them. */
  readonly request: QueryRequest;
  /** How records are found by computed fields; null for a query of stored fields alone. */
  readonly search: ComputedSearch | null;
  /** The annotation; null if no field is computed. */
  readonly annotation: ExportAnnotation | null;
  /** The known columns of annotated records; null if these become no table. */
  readonly annotated: AnnotatedColumns | null;
  readonly titles: FieldTitles;
}

/** How an export finds records by computed fields: plain data. */
export interface ComputedSearch {
  readonly asked: ComputedQuery;
  /** The ways to separate the query, which are tried one after another, with the table that each needs. */
  readonly attempts: readonly {
    readonly parts: SeparatedQuery;
    readonly params: ComputedParams;
  }[];
}

/** Exports the records that the commit of the snapshot has changed. */
export interface CommitExport extends ExportFile {
  /** The version before the commit. */
  readonly before: Snapshot;
  /** Which records are exported, in this order. */
  readonly which: readonly ('removed' | 'added')[];
}

/** The result of `runExport`: a complete, flushed file. */
export interface ExportResult {
  /** Name of the file in the scratch folder. */
  readonly file: string;
  readonly bytes: number;
  /** Lower-case hex; empty unless the file is stored. */
  readonly md5: string;
  /** The SHA-256 in lower-case hexadecimal. */
  readonly sha256: string;
  readonly records: number;
  /** The version of the dataset. */
  readonly version: number;
  /** The provenance, as in the parameters. */
  readonly provenance: JsonObject;
  readonly warnings: readonly FileWarning[];
  /** Number of parts that earlier attempts had encoded. */
  readonly resumedParts: number;
}
