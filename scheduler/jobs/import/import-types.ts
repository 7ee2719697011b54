import type { FieldRow } from '../../../engine/catalog/fields.js';
import type { NewField } from '../../../engine/core/dataset-field.js';
import type { Columns, GenomeBuild, JsonObject } from '../../../engine/core/types.js';
import type { Segment } from '../../../engine/store/store.js';
import type { DryRunSample } from './dry-run.js';
import type { AppliedChange, RecordChange } from '../change/record-change.js';
import type { FieldExpressions } from '../../expressions/columns/field-expressions.js';
import type { ImportSource } from './import-source.js';
import type { FieldDeclaration } from './known-columns.js';

/** Parameters of `runImport`. */
export interface ImportParams {
  readonly commitId: number;
  /** How the records of the sources change stored records; null if they are added. */
  readonly change: RecordChange | null;
  /** The sources, at least one, in the order in which their records are stored. */
  readonly sources: readonly ImportSource[];
  /**
   * The columns that the dataset already stores, and the column of given ids if records are found by these; of a deletion, only those that
   * values must fit.
   */
  readonly stored: Columns;
  /** The columns whose types the import must keep: stored ones, and those of declared fields. */
  readonly known: Columns;
  /** The catalogue's declarations of fields without data and without an expression; none for a deletion by `_id`. */
  readonly declared: readonly FieldDeclaration[];
  /** Dotted names of fields that are read and not stored. */
  readonly transient: readonly string[];
  /** The expressions of fields; null if there are none. */
  readonly expressions: FieldExpressions | null;
  /** Dotted names of fields whose entity type is not detected. */
  readonly fixedEntities: readonly string[];
  /**
   * Whether the records are in the request itself: chunks are read before those that are not urgent, and nothing is recorded for a resume.
   */
  readonly isUrgent: boolean;
  /** For a dry run: the dataset's fields and the descriptions of new ones. Null for an import, and for a dry run of a deletion by `_id`. */
  readonly dryRun: {
    readonly fields: readonly FieldRow[];
    readonly described: readonly Partial<NewField>[];
  } | null;
}

/** The result of `runImport`. Nothing of it is visible before it is published. */
export interface ImportResult {
  /**
   * The segments to commit, with paths relative to the scratch folder: in the order of the sources, or, if stored records change, first
   * those of the records that replace stored ones, then those of records that are added. Empty if records are deleted.
   */
  readonly segments: readonly Segment[];
  /** All columns that have data after the import, unless it deletes records. */
  readonly columns: Columns;
  /** The declarations of fields without data, as in `ImportParams`. */
  readonly declared: readonly FieldDeclaration[];
  /** Descriptions of new fields; if several describe a field, the last takes precedence. */
  readonly described: readonly Partial<NewField>[];
  readonly genomeBuild: GenomeBuild | null;
  /** Number of records read. */
  readonly records: number;
  readonly metadata: JsonObject;
  /** The change of stored records; present if the import updates, replaces or deletes records. */
  readonly change?: AppliedChange;
  readonly dryRun?: {
    readonly sample: DryRunSample;
    /** Paths, as JSON, of the fields that have a value in at least one record. */
    readonly seen: readonly string[];
  };
}
