import { viewerOf } from '../../../engine/catalog/access.js';
import type { Tables } from '../../../engine/catalog/catalog-tables.js';
import { pathSegments, parseFullPath, type FullPath } from '../../../engine/catalog/full-path.js';
import type { ObjectFilter } from '../../../engine/catalog/object-list.js';
import type { ObjectRow, ShortcutTarget } from '../../../engine/catalog/object-row.js';
import type { VaultRow } from '../../../engine/catalog/vaults.js';
import type { Form } from '../../http/form.js';
import { isObject, readId } from '../../http/form.js';
import type { Caller } from '../../http/api-request.js';
import { requireResource } from '../../http/require-resource.js';
import type { ValueType } from '../../http/json-schema.js';

/*
 * Shortcuts (contract 6.8): objects that lead to another object, a vault or a web address.
 * Choice: a shortcut whose target was deleted stays and shows the target null; a user who may not read the target sees null as well. A copy
 * of a shortcut has the same target. The type in a request must be the type of the target, and a shortcut cannot lead to another shortcut.
 * An address may have no scheme, as clients send it; the only schemes are http and https.
 */

const targetTypes = ['file', 'folder', 'dataset', 'vault', 'url'] as const;

/** The type of a shortcut's target. */
export const shortcutTarget: ValueType = {
  schema: {
    type: 'object',
    properties: {
      object_type: { enum: targetTypes },
      id: { type: ['integer', 'null'] },
      url: { type: ['string', 'null'] },
    },
  },
};

/** Returns a shortcut's target in the form of answers; its `url` is null unless it is a web address. */
function targetKeys(target: ShortcutTarget): object {
  return target.objectType === 'url'
    ? { object_type: 'url', id: null, url: target.url }
    : { object_type: target.objectType, id: target.id, url: null };
}

/**
 * Returns the target that a request for an object of this type names. The message for a missing target is the same as for one that the
 * caller may not read (threat A2).
 */
export async function readShortcutTarget(
  tables: Tables,
  caller: Caller,
  form: Form,
  objectType: ObjectRow['objectType'],
): Promise<ShortcutTarget | undefined> {
  const rawTarget = form.raw('target');
  const isAbsent = rawTarget === undefined || rawTarget === '';
  if (objectType !== 'shortcut')
    return isAbsent ? undefined : form.fail('target', 'Only shortcuts have a target.');
  if (isAbsent) return form.fail('target', 'A shortcut needs a target.');
  if (!isObject(rawTarget)) return form.fail('target', 'Must be an object with object_type and id, or url.'); // prettier-ignore
  const type = targetTypes.find((one) => one === rawTarget['object_type']);
  if (type === undefined)
    return form.fail('target', `object_type must be one of ${targetTypes.join(', ')}.`);
  if (type === 'url') {
    const url = typeof rawTarget['url'] === 'string' ? rawTarget['url'].trim() : '';
    if (isWebAddress(url)) return { objectType: 'url', url };
    return form.fail('target', 'url must be the address of a page, with https:// or http://.');
  }
  const target = await findReadableTarget(tables, caller, type, readId(rawTarget['id']));
  const quotedId = JSON.stringify(String(rawTarget['id']).slice(0, 50));
  if (target === undefined) return form.fail('target', `Invalid ${type} ${quotedId}.`);
  return { objectType: type, id: target.id };
}

/** Returns whether a browser may follow a text as a web address, with or without a scheme: only http and https are allowed (threat A12). */
function isWebAddress(text: string): boolean {
  if (text === '' || text.length > 2048 || /[\s\p{Cc}\\]/u.test(text)) return false;
  if (!/^[a-z][a-z0-9+.-]*:/i.test(text)) return URL.canParse(`https://${text}`);
  return /^https?:\/\/./i.test(text) && URL.canParse(text);
}

/** Returns the object or vault with an id, if it has this type and the caller may read it; otherwise undefined. */
async function findReadableTarget(
  tables: Tables,
  caller: Caller,
  type: Exclude<ShortcutTarget['objectType'], 'url'>,
  id: number | undefined,
): Promise<ObjectRow | VaultRow | undefined> {
  if (id === undefined) return undefined;
  const kind = type === 'vault' ? 'vault' : 'object';
  const row = await requireResource(tables, caller, kind, id, 'read').catch((error: unknown) => {
    if ((error as { code?: unknown }).code === 'not-found') return undefined;
    throw error;
  });
  if (row === undefined) return undefined;
  return 'objectType' in row && row.objectType !== type ? undefined : row;
}

/** Returns the target of a shortcut as this caller sees it: null if it was deleted or the caller may not read it (threat A3). */
export async function targetView(
  tables: Tables,
  caller: Caller,
  origin: string,
  target: ShortcutTarget,
): Promise<object | null> {
  if (target.objectType === 'url') return targetKeys(target);
  if ((await findReadableTarget(tables, caller, target.objectType, target.id)) === undefined)
    return null;
  const kind = target.objectType === 'vault' ? 'vaults' : 'objects';
  return { ...targetKeys(target), url: `${origin}/v2/${kind}/${target.id}` };
}

/** A chain of more shortcuts than this is taken for a cycle. */
const maxShortcuts = 32;

/**
 * Follows the shortcuts in a filter by full path (contract 6.3): a shortcut on the path stands for the folder or vault to which it leads, a
 * shortcut at its end for its target, or for itself if that is a vault or a web address. Returns any other filter unchanged, and also one
 * whose path leads to nothing that the caller may read.
 */
export async function followShortcuts(
  tables: Tables,
  caller: Caller,
  filter: ObjectFilter,
): Promise<ObjectFilter> {
  const path = filter.fullPath === undefined ? undefined : parseFullPath(filter.fullPath);
  const vault = path && (await findReadableVault(tables, caller, path));
  if (path === undefined || vault === undefined) return filter;
  let location: { readonly vaultId: number; readonly path: string } = {
    vaultId: vault.id,
    path: '',
  };
  let namesLeft = [...pathSegments(path.path)];
  for (let followedCount = 0; namesLeft.length > 0;) {
    const [name, ...rest] = namesLeft;
    const object = await tables.objects.byPath(location.vaultId, `${location.path}/${name}`);
    if (object === undefined) return filter;
    location = object;
    namesLeft = rest;
    if (object.target === null || object.target.objectType === 'url') continue;
    if (object.target.objectType === 'vault' && rest.length === 0) continue;
    if (++followedCount > maxShortcuts) return filter;
    const { objectType, id } = object.target;
    const target = await findReadableTarget(tables, caller, objectType, id);
    if (target === undefined) return filter;
    location = 'objectType' in target ? target : { vaultId: target.id, path: '' };
  }
  const targetObject = await tables.objects.byPath(location.vaultId, location.path);
  if (targetObject === undefined) return filter;
  const { fullPath: _, ...others } = filter;
  return {
    ...others,
    ids: [...(filter.ids ?? [targetObject.id])].filter((id) => id === targetObject.id),
  };
}

async function findReadableVault(
  tables: Tables,
  caller: Caller,
  path: FullPath,
): Promise<ObjectRow | VaultRow | undefined> {
  const vault = await tables.vaults.byFullPath(path, viewerOf(caller));
  return vault && findReadableTarget(tables, caller, 'vault', vault.id);
}
