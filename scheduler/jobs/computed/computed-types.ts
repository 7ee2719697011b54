import type { JsonObject } from '../../../engine/core/types.js';
import type { MigrationParams } from '../migration/migration-types.js';

/** The fields to compute and the records to compute them for: plain data, stored in the row of the task. */
export interface ComputedTableSpec {
  readonly version: number;
  /** The query that finds the records: filters, query string, entities and genome build. */
  readonly conditions: JsonObject;
  /** Whether the records are in the order of their relevance for the query. */
  readonly isRanked: boolean;
  /** The target fields to compute. Each of them becomes a column. */
  readonly fields: readonly JsonObject[];
  /** The variables of the expressions. */
  readonly data: JsonObject;
  /** The paths of the stored fields that the table contains too; null for all. */
  readonly paths: readonly (readonly string[])[] | null;
}

/** Parameters of `runComputedTable`. */
export interface ComputedParams {
  /** The migration that creates the table; it adds a column of source rows, and commits nothing. */
  readonly migration: MigrationParams;
  /** The time limit for creating the table, in milliseconds; `maxBytes` limits its size. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
  /** The names of the computed fields, for messages. */
  readonly names: readonly string[];
}
