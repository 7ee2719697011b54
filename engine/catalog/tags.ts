import type { Database } from './database.js';
import { sql } from './sql.js';

/** Returns the tags trimmed, without duplicates and without empty tags. */
export function normalizeTags(tags: readonly string[]): readonly string[] {
  return [...new Set(tags.map((tag) => tag.trim()))].filter((tag) => tag !== '');
}

/** Replaces the rows of a vault in the index for the tag filter. */
export async function indexVaultTags(
  db: Database,
  vaultId: number,
  tags: readonly string[],
): Promise<void> {
  await db.run(sql`DELETE FROM vault_tags WHERE vault_id = ${vaultId}`);
  for (const tag of tags) {
    await db.run(sql`INSERT INTO vault_tags (vault_id, tag) VALUES (${vaultId}, ${tag})`);
  }
}

/** Replaces the rows of an object in the index for the tag filter. */
export async function indexObjectTags(
  db: Database,
  objectId: number,
  tags: readonly string[],
): Promise<void> {
  await db.run(sql`DELETE FROM object_tags WHERE object_id = ${objectId}`);
  for (const tag of tags) {
    await db.run(sql`INSERT INTO object_tags (object_id, tag) VALUES (${objectId}, ${tag})`);
  }
}
