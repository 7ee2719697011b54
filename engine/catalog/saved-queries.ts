import type { JsonObject } from '../core/types.js';
import type { Database } from './database.js';
import {
  savedResourceColumns,
  savedResourceTable,
  type OwnedRow,
  type SavedResourceTable,
} from './saved-resource.js';
import { sql } from './sql.js';
import { table, type Millis } from './table.js';

export interface SavedQueryRow extends OwnedRow {
  readonly name: string;
  readonly description: string | null;
  /** The query as it was sent. */
  readonly params: JsonObject;
  readonly datasetId: number | null;
  readonly createdAt: Millis;
  readonly updatedAt: Millis;
}

const savedQueries = table<SavedQueryRow>(
  'savedQueries',
  { ...savedResourceColumns, name: 'plain', params: 'json', datasetId: 'plain' },
  {},
);

/** Statements over saved queries. */
export function savedQueryTable(db: Database): SavedResourceTable<SavedQueryRow> {
  return savedResourceTable(db, savedQueries, 'saved query', {
    from: sql`saved_queries`,
    owner: sql`saved_queries`,
    conditions: ({ name, datasetId }) => [
      ...(name === undefined ? [] : [sql`saved_queries.name = ${name}`]),
      ...(datasetId === undefined ? [] : [sql`saved_queries.dataset_id = ${datasetId}`]),
    ],
  });
}
