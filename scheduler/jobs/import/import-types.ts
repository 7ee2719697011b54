import type { FieldRow } from '../../../engine/catalog/fields.js';
import type { NewField } from '../../../engine/core/dataset-field.js';
import type { Columns, GenomeBuild, JsonObject } from '../../../engine/core/types.js';
import type { Segment } from '../../../engine/store/store.js';
import type { Sample } from './dry-run.js';
import type { ImportSource } from './source.js';

/** What an import needs to run. */
export interface ImportParams {
  readonly commitId: number;
  /** At least one; their records come in this order. */
  readonly sources: readonly ImportSource[];
  /** The dataset's stored columns. */
  readonly stored: Columns;
  /** Those and the declared ones: their types are kept. */
  readonly known: Columns;
  /** Dotted names of fields that are read and not stored. */
  readonly transient: readonly string[];
  /** Names of fields whose entity type is not to be detected. */
  readonly settled: readonly string[];
  /** Somebody waits for the answer. */
  readonly isUrgent: boolean;
  /** The dataset's fields, when all that is asked for is what would come in; then no segment comes of it. */
  readonly dryRun: {
    readonly fields: readonly FieldRow[];
    readonly described: readonly Partial<NewField>[];
  } | null;
}

/** What an import came to; nothing of it is visible yet. */
export interface ImportResult {
  /** In the order of the sources; paths are relative to the scratch folder. */
  readonly segments: readonly Segment[];
  /** All columns with data that the dataset would have afterwards. */
  readonly columns: Columns;
  readonly described: readonly Partial<NewField>[];
  readonly genomeBuild: GenomeBuild | null;
  readonly records: number;
  readonly metadata: JsonObject;
  readonly dryRun?: {
    readonly sample: Sample;
    /** Paths, as JSON, of the fields that have a value in some record. */
    readonly seen: readonly string[];
  };
}
