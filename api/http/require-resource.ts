import { require as requireOn, type Kinds } from '../../engine/catalog/access.js';
import type { Tables } from '../../engine/catalog/catalog.js';
import type { Permission } from '../../engine/catalog/permission.js';
import type { VaultRow } from '../../engine/catalog/vaults.js';
import type { ResourceKind } from './access.js';
import type { Caller } from './request.js';

/** The row of an id in a path or a body. Throws 404 if the caller may not read it, 403 without that permission. */
export function requireResource<K extends ResourceKind>(
  tables: Tables,
  caller: Caller,
  kind: K,
  id: number,
  level: Permission,
): Promise<Kinds[K]> {
  return requireOn(tables, caller, kind, id, level);
}

/** The vault in which something is created. */
export function requireVault(tables: Tables, caller: Caller, id: number): Promise<VaultRow> {
  return requireOn(tables, caller, 'vault', id, 'write');
}
