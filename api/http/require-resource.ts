import { require as requireOn, type Kinds } from '../../engine/catalog/access.js';
import type { Tables } from '../../engine/catalog/catalog.js';
import type { Permission } from '../../engine/catalog/permission.js';
import type { VaultRow } from '../../engine/catalog/vaults.js';
import type { ResourceKind } from './access.js';
import type { Caller } from './request.js';

/** The row of an id that a path or a body names, if the caller has that permission on it: 404 or 403 otherwise. */
export function requireResource<K extends ResourceKind>(
  tables: Tables,
  caller: Caller,
  kind: K,
  id: number,
  level: Permission,
): Promise<Kinds[K]> {
  return requireOn(tables, caller, kind, id, level);
}

/** The vault that something is to be made in. */
export function requireVault(tables: Tables, caller: Caller, id: number): Promise<VaultRow> {
  return requireOn(tables, caller, 'vault', id, 'write');
}
