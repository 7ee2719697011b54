import type { FieldRow } from '../../../engine/catalog/fields.js';
import type { NewField } from '../../../engine/core/dataset-field.js';
import type { Column, Columns, GenomeBuild, JsonObject } from '../../../engine/core/types.js';
import type { ValidationParams } from '../../../engine/ingest/findings.js';
import type { QueryRequest } from '../../../engine/query/request/request.js';
import type { Segment, Snapshot } from '../../../engine/store/store.js';
import type { Sample } from '../import/dry-run.js';
import type { AppliedChange, RecordChange } from '../change/record-change.js';
import type { Declaration } from '../import/known-columns.js';
import type { MigrationExpressions } from './migrate-chunk.js';
import type { MigratedColumn } from './column-plan.js';

/** Parameters of `runMigration`. */
export interface MigrationParams {
  readonly commitId: number;
  /** The name of the source in messages. */
  readonly sourceName: string;
  readonly snapshot: Snapshot;
  readonly request: QueryRequest;
  readonly columns: readonly MigratedColumn[];
  readonly expressions: MigrationExpressions | null;
  /** Columns that the target has stored. */
  readonly stored: Columns;
  /** Stored columns and columns of declared fields of the target, whose types the migration must keep. */
  readonly known: Columns;
  /** The catalogue's declarations of target fields without data. */
  readonly declared: readonly Declaration[];
  /** Descriptions of new fields; later ones take precedence. */
  readonly described: readonly Partial<NewField>[];
  readonly createdFields: readonly NewField[];
  readonly genomeBuild: GenomeBuild | null;
  readonly validation: ValidationParams;
  /** How the records change records of the target; null if they are added. */
  readonly change: RecordChange | null;
  /** The target is the version that the query reads, and the rows that it finds are deleted. */
  readonly deletesRows: boolean;
  /**
   * The column for the rows that records have in the source, which they get together with their ids there; null if they are new records.
   */
  readonly sourceRows: Column | null;
  /** For a dry run: the fields of the target. Null for a migration. */
  readonly dryRun: { readonly fields: readonly FieldRow[] } | null;
}

/** The result of `runMigration`. Nothing of it is visible before it is published. */
export interface MigrationResult {
  /** Segments in the order of the query, with paths relative to the scratch folder. */
  readonly segments: readonly Segment[];
  /** All columns of the target after the migration. */
  readonly columns: Columns;
  /** The declarations, as in `MigrationParams`. */
  readonly declared: readonly Declaration[];
  readonly described: readonly Partial<NewField>[];
  readonly createdFields: readonly NewField[];
  readonly genomeBuild: GenomeBuild | null;
  /** Number of records that the query found. */
  readonly records: number;
  readonly metadata: JsonObject;
  /** Present if the migration replaces or deletes records. */
  readonly change?: AppliedChange;
  readonly dryRun?: {
    readonly sample: Sample;
    /** Paths, as JSON, of the fields that a record may have. */
    readonly seen: readonly string[];
  };
}
