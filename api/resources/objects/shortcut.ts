import { viewerOf } from '../../../engine/catalog/access.js';
import type { Tables } from '../../../engine/catalog/catalog.js';
import { namesOf, parseFullPath, type FullPath } from '../../../engine/catalog/full-path.js';
import type { ObjectFilter } from '../../../engine/catalog/object-list.js';
import type { ObjectRow, ShortcutTarget } from '../../../engine/catalog/object-row.js';
import type { VaultRow } from '../../../engine/catalog/vaults.js';
import type { Form } from '../../http/form.js';
import { isObject, readId } from '../../http/form.js';
import type { Caller } from '../../http/request.js';
import { requireResource } from '../../http/require-resource.js';
import type { ValueType } from '../../http/schema.js';

/*
 * Shortcuts (contract 6.8): objects that lead to another object, a vault or an address.
 *
 * Choice: a shortcut whose target was deleted stays, with the target null, as it shows everybody who may not read the target; a copy of a shortcut leads where the
 * original leads. The type in a request must be that of the target, and a shortcut leads to no other shortcut. An address may have no scheme, as clients send it; one that
 * has one is http or https.
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

/** The keys of a target in answers; only addresses have their `url` here. */
function targetKeys(target: ShortcutTarget): object {
  return target.objectType === 'url'
    ? { object_type: 'url', id: null, url: target.url }
    : { object_type: target.objectType, id: target.id, url: null };
}

/**
 * The target in the request for an object of a type. A target that is missing and one that the caller may not read have the same message
 * (threats A2).
 */
export async function readTarget(
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
    if (isAddress(url)) return { objectType: 'url', url };
    return form.fail('target', 'url must be the address of a page, with https:// or http://.');
  }
  const target = await readableTarget(tables, caller, type, readId(rawTarget['id']));
  const quotedId = JSON.stringify(String(rawTarget['id']).slice(0, 50));
  if (target === undefined) return form.fail('target', `Invalid ${type} ${quotedId}.`);
  return { objectType: type, id: target.id };
}

/** Whether a text is an address that a browser may follow, with or without a scheme: http and https alone (threat A12). */
function isAddress(text: string): boolean {
  if (text === '' || text.length > 2048 || /[\s\p{Cc}\\]/u.test(text)) return false;
  if (!/^[a-z][a-z0-9+.-]*:/i.test(text)) return URL.canParse(`https://${text}`);
  return /^https?:\/\/./i.test(text) && URL.canParse(text);
}

/** The object or vault with an id, if it has this type and the caller may read it. */
async function readableTarget(
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

/** The target of a shortcut as this caller sees it: null if it was deleted or they may not read it (threats A3). */
export async function targetView(
  tables: Tables,
  caller: Caller,
  origin: string,
  target: ShortcutTarget,
): Promise<object | null> {
  if (target.objectType === 'url') return targetKeys(target);
  if ((await readableTarget(tables, caller, target.objectType, target.id)) === undefined)
    return null;
  const kind = target.objectType === 'vault' ? 'vaults' : 'objects';
  return { ...targetKeys(target), url: `${origin}/v2/${kind}/${target.id}` };
}

/** A chain of more shortcuts than this is taken for a cycle. */
const mostShortcuts = 32;

/**
 * A filter by full path, with the shortcuts on its way followed (contract 6.3): instead of a shortcut to a folder or a vault it goes on there, and a shortcut at its end
 * stands for its target. Without effect on other filters, and on a path that leads nowhere for the caller.
 */
export async function followShortcuts(
  tables: Tables,
  caller: Caller,
  filter: ObjectFilter,
): Promise<ObjectFilter> {
  const path = filter.fullPath === undefined ? undefined : parseFullPath(filter.fullPath);
  const vault = path && (await vaultOf(tables, caller, path));
  if (path === undefined || vault === undefined) return filter;
  let at: { readonly vaultId: number; readonly path: string } = { vaultId: vault.id, path: '' };
  let namesLeft = [...namesOf(path.path)];
  for (let followed = 0; namesLeft.length > 0;) {
    const [name, ...rest] = namesLeft;
    const object = await tables.objects.byPath(at.vaultId, `${at.path}/${name}`);
    if (object === undefined) return filter;
    at = object;
    namesLeft = rest;
    if (object.target === null || object.target.objectType === 'url') continue;
    if (++followed > mostShortcuts) return filter;
    const { objectType, id } = object.target;
    const target = await readableTarget(tables, caller, objectType, id);
    if (target === undefined) return filter;
    at = 'objectType' in target ? target : { vaultId: target.id, path: '' };
  }
  const found = await tables.objects.byPath(at.vaultId, at.path);
  if (found === undefined) return filter;
  const { fullPath: _, ...others } = filter;
  return { ...others, ids: [...(filter.ids ?? [found.id])].filter((id) => id === found.id) };
}

async function vaultOf(
  tables: Tables,
  caller: Caller,
  path: FullPath,
): Promise<ObjectRow | VaultRow | undefined> {
  const vault = await tables.vaults.byFullPath(path, viewerOf(caller));
  return vault && readableTarget(tables, caller, 'vault', vault.id);
}
