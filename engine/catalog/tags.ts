import type { Database } from './database.js';
import { sql } from './sql.js';

/** The tags trimmed, without duplicates and empty ones. */
export function cleanTags(tags: readonly string[]): readonly string[] {
  return [...new Set(tags.map((tag) => tag.trim()))].filter((tag) => tag !== '');
}

/** Replaces a vault's rows in the index that the tag filter uses. */
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

/** Replaces an object's rows in the index that the tag filter uses. */
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
