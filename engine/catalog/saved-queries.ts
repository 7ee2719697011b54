import type { JsonObject } from '../core/types.js';
import type { Database } from './database.js';
import {
  savedResourceColumns,
  savedResourceTable,
  type SavedResourceRow,
  type SavedResourceTable,
} from './saved-resource.js';
import { sql } from './sql.js';
import { tableCodec } from './table-codec.js';

export interface SavedQueryRow extends SavedResourceRow {
  readonly name: string;
  /** The query as the client sent it. */
  readonly params: JsonObject;
  readonly datasetId: number | null;
}

const savedQueries = tableCodec<SavedQueryRow>(
  'savedQueries',
  { ...savedResourceColumns, name: 'plain', params: 'json', datasetId: 'plain' },
  {},
);

/** Returns access to the table of saved queries. */
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
