import type { FieldRow } from '../../../engine/catalog/fields.js';
import type { NewField } from '../../../engine/core/dataset-field.js';
import type { Columns, GenomeBuild, JsonObject } from '../../../engine/core/types.js';
import type { Segment } from '../../../engine/store/store.js';
import type { Sample } from './dry-run.js';
import type { AppliedChange, RecordChange } from '../change/record-change.js';
import type { FieldExpressions } from './expressions/field-expressions.js';
import type { ImportSource } from './import-source.js';
import type { Declaration } from './known-columns.js';

/** Parameters of `runImport`. */
export interface ImportParams {
  readonly commitId: number;
  /** How the records of the sources change stored ones; null if they are added. */
  readonly change: RecordChange | null;
  /** The sources, at least one. The records are stored in this order. */
  readonly sources: readonly ImportSource[];
  /** Columns that the dataset has stored. */
  readonly stored: Columns;
  /** Stored columns and columns of declared fields, whose types the import must keep. */
  readonly known: Columns;
  /** The catalogue's declarations of fields without data. */
  readonly declared: readonly Declaration[];
  /** Dotted names of fields that are read and not stored. */
  readonly transient: readonly string[];
  /** The expressions of fields; null if there are none. */
  readonly expressions: FieldExpressions | null;
  /** Dotted names of fields whose entity type is not detected. */
  readonly fixedEntities: readonly string[];
  /** Whether a client waits for the result: chunks are read before those of other imports, and nothing is recorded for a resume. */
  readonly isUrgent: boolean;
  /** For a dry run, which writes no segments: the dataset's fields and the descriptions of new ones. Null for an import. */
  readonly dryRun: {
    readonly fields: readonly FieldRow[];
    readonly described: readonly Partial<NewField>[];
  } | null;
}

/** The result of `runImport`. Nothing of it is visible before it is published. */
export interface ImportResult {
  /** Segments in the order of the sources, with paths relative to the scratch folder. */
  readonly segments: readonly Segment[];
  /** All columns that have data after the import. */
  readonly columns: Columns;
  /** The declarations, as in `ImportParams`. */
  readonly declared: readonly Declaration[];
  /** Descriptions of new fields; later ones take precedence. */
  readonly described: readonly Partial<NewField>[];
  readonly genomeBuild: GenomeBuild | null;
  /** Number of records read. */
  readonly records: number;
  readonly metadata: JsonObject;
  /** Present if the import replaces or deletes records. */
  readonly change?: AppliedChange;
  readonly dryRun?: {
    readonly sample: Sample;
    /** Paths, as JSON, of the fields that have a value in at least one record. */
    readonly seen: readonly string[];
  };
}
