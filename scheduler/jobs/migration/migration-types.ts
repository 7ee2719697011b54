import type { FieldRow } from '../../../engine/catalog/fields.js';
import type { NewField } from '../../../engine/core/dataset-field.js';
import type { Column, Columns, GenomeBuild, JsonObject } from '../../../engine/core/types.js';
import type { ValidationParams } from '../../../engine/ingest/findings.js';
import type { QueryRequest } from '../../../engine/query/request/query-request.js';
import type { Segment, Snapshot } from '../../../engine/store/store.js';
import type { DryRunSample } from '../import/dry-run.js';
import type { AppliedChange, RecordChange } from '../change/record-change.js';
import type { EntityDetectionRules } from '../import/entity-samples.js';
import type { FieldDeclaration } from '../import/known-columns.js';
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
  /** The columns that the target already stores. */
  readonly stored: Columns;
  /**
   * The columns that the target stores, and those of fields that the catalogue or the request declares. The migration keeps their types,
   * except that it may widen a type that nobody declared.
   */
  readonly known: Columns;
  /** The catalogue's declarations of those fields of the target that have neither data nor an expression. */
  readonly declared: readonly FieldDeclaration[];
  /** Descriptions of new fields; if several describe a field, the last takes precedence. */
  readonly described: readonly Partial<NewField>[];
  readonly createdFields: readonly NewField[];
  /** The genome builds that the records may have. */
  readonly genomeBuilds: readonly GenomeBuild[];
  readonly validation: ValidationParams;
  /** The entity types to detect, in all fields but those with the dotted names `except`; null if none is detected. */
  readonly entityDetection: { readonly rules: EntityDetectionRules; readonly except: readonly string[] } | null; // prettier-ignore
  /** How the records change records of the target; null if they are added. */
  readonly change: RecordChange | null;
  /** Whether the migration changes records of the version that it reads, the newest one, so that a later commit of records outdates it. */
  readonly changesSource: boolean;
  /**
   * For a table of computed fields, the column for the row numbers of the records in the source: the records of the table keep the ids
   * that they have there. Null for a migration.
   */
  readonly sourceRowColumn: Column | null;
  /** For a dry run: the fields of the target. Null otherwise. */
  readonly dryRun: { readonly fields: readonly FieldRow[] } | null;
}

/** The result of `runMigration`. Nothing of it is visible before it is published. */
export interface MigrationResult {
  /**
   * The segments to commit, with paths relative to the scratch folder: in the order of the query, or, if records of the target change,
   * first those of the records that replace stored ones, then those of records that are added. Empty if records are deleted, and for a dry
   * run that only adds records.
   */
  readonly segments: readonly Segment[];
  /** All columns of the target after the migration. */
  readonly columns: Columns;
  /** The declarations of fields without data, as in `MigrationParams`. */
  readonly declared: readonly FieldDeclaration[];
  readonly described: readonly Partial<NewField>[];
  readonly createdFields: readonly NewField[];
  readonly genomeBuilds: readonly GenomeBuild[];
  /**
   * The genome build if there is exactly one; otherwise null. If there are several, the coordinates of each record name its build.
   */
  readonly genomeBuild: GenomeBuild | null;
  /** Number of records that the query found. */
  readonly records: number;
  readonly metadata: JsonObject;
  /** The change of stored records; present if the migration updates, replaces or deletes records. */
  readonly change?: AppliedChange;
  readonly dryRun?: {
    readonly sample: DryRunSample;
    /** Paths, as JSON, of the fields that may have a value in a record. */
    readonly seen: readonly string[];
  };
}
