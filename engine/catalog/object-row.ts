import type { JsonObject } from '../core/types.js';
import { sql, type Sql } from './sql.js';
import { table, type Millis } from './table.js';

export type ObjectType = 'file' | 'folder' | 'dataset' | 'shortcut';

/** What a shortcut leads to. It may have been deleted. */
export type ShortcutTarget =
  | { readonly objectType: Exclude<ObjectType, 'shortcut'> | 'vault'; readonly id: number }
  | { readonly objectType: 'url'; readonly url: string };

export interface ObjectRow {
  readonly id: number;
  readonly vaultId: number;
  readonly parentId: number | null;
  /** Root first, parent last. */
  readonly ancestorIds: readonly number[];
  readonly objectType: ObjectType;
  readonly filename: string;
  /** Path in the vault: `/a/b/name`. */
  readonly path: string;
  readonly depth: number;
  readonly description: string | null;
  readonly metadata: JsonObject;
  readonly tags: readonly string[];
  readonly mimetype: string | null;
  readonly size: number | null;
  /** Hexadecimal. */
  readonly md5: string | null;
  /** The number of the file's current version; 0 before it has content. Always 0 for what is no file. */
  readonly revision: number;
  /** The number of the newest version that the file has had; 0 for what is no file. */
  readonly lastRevision: number;
  readonly availability: string | null;
  readonly documentsCount: number | null;
  /** Of a shortcut, else null. */
  readonly target: ShortcutTarget | null;
  readonly userId: number;
  readonly createdAt: Millis;
  readonly updatedAt: Millis;
}

/** The codec of objects. The hidden `pathKey` is the case-folded path, which is unique in the vault. */
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
    lastRevision: 'plain',
    availability: 'plain',
    documentsCount: 'plain',
    target: 'json',
    userId: 'plain',
    createdAt: 'plain',
    updatedAt: 'plain',
  },
  { pathKey: 'plain' },
);

/**
 * True for the descendants of an object. It is a range of the index over `path_key`, because `0` is the character after `/`.
 */
export function isBelow(id: number): Sql {
  const above = (column: Sql): Sql =>
    sql`(SELECT ${column} FROM objects above WHERE above.id = ${id})`;
  return sql`(objects.vault_id = ${above(sql`above.vault_id`)}
    AND objects.path_key > ${above(sql`above.path_key || '/'`)}
    AND objects.path_key < ${above(sql`above.path_key || '0'`)})`;
}
