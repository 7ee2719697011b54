import type { JsonObject } from '../core/types.js';
import { sql, type Sql } from './sql.js';
import { table, type Millis } from './table.js';

export type ObjectType = 'file' | 'folder' | 'dataset';
export interface ObjectRow {
  readonly id: number;
  readonly vaultId: number;
  readonly parentId: number | null;
  readonly ancestorIds: readonly number[]; // root first, parent last
  readonly objectType: ObjectType;
  readonly filename: string;
  readonly path: string; // '/a/b/name'
  readonly depth: number;
  readonly description: string | null;
  readonly metadata: JsonObject;
  readonly tags: readonly string[];
  readonly mimetype: string | null;
  readonly size: number | null;
  readonly md5: string | null; // hex
  /** Which upload of the file's bytes counts; 0 until one has arrived. Always 0 for folders and datasets. */
  readonly revision: number;
  readonly availability: string | null;
  readonly documentsCount: number | null;
  readonly userId: number;
  readonly createdAt: Millis;
  readonly updatedAt: Millis;
}

/** How objects are stored: beside the path its folded form, which is unique in the vault. */
export const objects = table<ObjectRow, { pathKey: string }>(
  'objects',
  {
    id: 'plain',
    vaultId: 'plain',
    parentId: 'plain',
    ancestorIds: 'ids',
    objectType: 'plain',
    filename: 'plain',
    path: 'plain',
    depth: 'plain',
    description: 'plain',
    metadata: 'json',
    tags: 'json',
    mimetype: 'plain',
    size: 'plain',
    md5: 'plain',
    revision: 'plain',
    availability: 'plain',
    documentsCount: 'plain',
    userId: 'plain',
    createdAt: 'plain',
    updatedAt: 'plain',
  },
  { pathKey: 'plain' },
);

/**
 * True for the rows of `objects` anywhere below this object: a range of the index over paths, because `0` is the character
 * after the slash.
 */
export function isBelow(id: number): Sql {
  const above = (column: Sql): Sql =>
    sql`(SELECT ${column} FROM objects above WHERE above.id = ${id})`;
  return sql`(objects.vault_id = ${above(sql`above.vault_id`)}
    AND objects.path_key > ${above(sql`above.path_key || '/'`)}
    AND objects.path_key < ${above(sql`above.path_key || '0'`)})`;
}
