import type { JsonObject } from '../core/types.js';
import { sql, type Sql } from './sql.js';
import { tableCodec, type Millis } from './table-codec.js';

export type ObjectType = 'file' | 'folder' | 'dataset' | 'shortcut';

/** The target of a shortcut, which may have been deleted. */
export type ShortcutTarget =
  | { readonly objectType: Exclude<ObjectType, 'shortcut'> | 'vault'; readonly id: number }
  | { readonly objectType: 'url'; readonly url: string };

export interface ObjectRow {
  readonly id: number;
  readonly vaultId: number;
  readonly parentId: number | null;
  /** The ids of the ancestors, from the root to the parent. */
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
  /** The MD5 in hexadecimal. */
  readonly md5: string | null;
  /** The number of the file's current version; 0 before the file has content, and for objects that are not files. */
  readonly revision: number;
  /** The number of the newest version that the file has had; 0 for objects that are not files. */
  readonly lastRevision: number;
  readonly availability: string | null;
  readonly documentsCount: number | null;
  /** The target of a shortcut; null for other objects. */
  readonly target: ShortcutTarget | null;
  readonly userId: number;
  readonly createdAt: Millis;
  readonly updatedAt: Millis;
}

/** The codec of objects. The hidden `pathKey` is the case-folded path, which is unique in the vault. */
export const objects = tableCodec<ObjectRow, { pathKey: string }>(
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
 * Returns a condition that is true for the descendants of an object. It is a range of the index over `path_key`, because `0` is the
 * character after `/`.
 */
export function isBelow(id: number): Sql {
  const columnAbove = (column: Sql): Sql =>
    sql`(SELECT ${column} FROM objects above WHERE above.id = ${id})`;
  return sql`(objects.vault_id = ${columnAbove(sql`above.vault_id`)}
    AND objects.path_key > ${columnAbove(sql`above.path_key || '/'`)}
    AND objects.path_key < ${columnAbove(sql`above.path_key || '0'`)})`;
}
