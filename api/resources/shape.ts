import type { JsonObject } from '../../engine/core/types.js';
import type { DatasetRow } from '../../engine/catalog/datasets.js';
import { checkFilename, checkVaultName } from '../../engine/catalog/names.js';
import type { ObjectType } from '../../engine/catalog/object-row.js';
import type { NewObject, ObjectPatch } from '../../engine/catalog/objects.js';
import type { VaultPatch, VaultRow } from '../../engine/catalog/vaults.js';
import { isObject, type Form } from '../http/form.js';

/*
 * JSON of requests to the catalogue's types: the one place where the interface's snake_case becomes camelCase. Every
 * function notes what is wrong in the form and returns what it could read; the caller ends with `form.done()`.
 */

/** The storage classes of contract 7.1; their case matters. */
export const storageClasses = [
  'Standard',
  'Standard-IA',
  'Essential',
  'Temporary',
  'Performance',
  'Archive',
] as const;

/** The keys that `T` does give, without those that the request left out. */
type Given<T> = { -readonly [K in keyof T]?: T[K] | undefined };

/** Drops the keys that were not given, as `exactOptionalPropertyTypes` asks. */
export function omitUndefined<T extends object>(values: Given<T>): Partial<T> {
  const kept = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(kept) as Partial<T>;
}

/** The body of creating a vault; other keys cannot be set by a request (threat A6). */
export function vaultNew(form: Form): VaultPatch & { readonly name: string } {
  return { ...vaultKeys(form), name: name(form, 'name', checkVaultName) };
}

/** The body of updating a vault: only the given keys. */
export function vaultPatch(form: Form): VaultPatch {
  return {
    ...vaultKeys(form),
    ...omitUndefined<VaultPatch>({
      name: form.raw('name') === undefined ? undefined : name(form, 'name', checkVaultName),
      versioning: form.choice<VaultRow['versioning']>('versioning', [
        'disabled',
        'enabled',
        'suspended',
      ]),
    }),
  };
}

function vaultKeys(form: Form): VaultPatch {
  return omitUndefined<VaultPatch>({
    description: form.nullableText('description'),
    metadata: metadata(form),
    tags: form.textList('tags'),
    defaultStorageClass: nullable(form, 'default_storage_class', storageClass),
  });
}

/** The body of creating an object, without the vault and the user. */
export interface ObjectBody {
  readonly vaultId: number | undefined;
  readonly parentId: number | null;
  readonly objectType: ObjectType;
  readonly object: Omit<NewObject, 'vaultId' | 'parentId' | 'userId' | 'objectType'>;
  readonly dataset: DatasetBody;
}

export interface DatasetBody {
  readonly capacity: DatasetRow['capacity'] | undefined;
  readonly storageClass: string | undefined;
  readonly fields: readonly JsonObject[];
}

/** Reads `POST /v2/objects`. */
export function objectNew(form: Form): ObjectBody {
  const objectType = form.choice<ObjectType>('object_type', ['file', 'folder', 'dataset']);
  if (objectType === undefined && form.raw('object_type') === undefined) {
    form.fail('object_type', 'This field is required.');
  }
  return {
    vaultId: requiredId(form, 'vault_id'),
    parentId: parentOf(form, 'parent_object_id') ?? null,
    objectType: objectType ?? 'file',
    object: {
      ...objectKeys(form),
      ...omitUndefined<NewObject>({ size: size(form), md5: md5(form) }),
      filename: name(form, 'filename', checkFilename),
    },
    dataset: datasetBody(form),
  };
}

/** Reads `POST /v2/datasets`. */
export function datasetNew(form: Form): ObjectBody {
  return {
    vaultId: requiredId(form, 'vault_id'),
    parentId: parentOf(form, 'vault_parent_object_id') ?? null,
    objectType: 'dataset',
    object: { ...objectKeys(form), filename: name(form, 'name', checkFilename) },
    dataset: datasetBody(form),
  };
}

/** The body of updating an object: only the given keys. */
export function objectPatch(form: Form): ObjectPatch {
  return {
    ...objectKeys(form),
    ...omitUndefined<ObjectPatch>({
      filename:
        form.raw('filename') === undefined ? undefined : name(form, 'filename', checkFilename),
      parentId: parentOf(form, 'parent_object_id'),
    }),
  };
}

/** The body of updating a dataset: what belongs to its object, and the storage class. */
export function datasetPatch(form: Form): {
  readonly object: ObjectPatch;
  readonly storageClass: string | undefined;
} {
  return {
    object: omitUndefined<ObjectPatch>({
      description: form.nullableText('description'),
      metadata: metadata(form),
      tags: form.textList('tags'),
    }),
    storageClass: storageClass(form, 'storage_class'),
  };
}

function objectKeys(
  form: Form,
): Partial<Pick<NewObject, 'description' | 'metadata' | 'tags' | 'mimetype'>> {
  return omitUndefined<NewObject>({
    description: form.nullableText('description'),
    metadata: metadata(form),
    tags: form.textList('tags'),
    mimetype: form.nullableText('mimetype'),
  });
}

function datasetBody(form: Form): DatasetBody {
  return {
    capacity: form.choice('capacity', ['small', 'medium', 'large', 'xlarge']),
    storageClass: storageClass(form, 'storage_class'),
    fields: form.objectList('fields') ?? [],
  };
}

/** A storage class by its exact name. */
export function storageClass(form: Form, key: string): string | undefined {
  return form.choice(key, storageClasses);
}

/** An id that must be there. */
export function requiredId(form: Form, key: string): number | undefined {
  if (form.raw(key) === undefined) return form.fail(key, 'This field is required.');
  return form.id(key, 'A valid integer is required.');
}

/** A folder's id, null for the root, undefined when absent. */
function parentOf(form: Form, key: string): number | null | undefined {
  if (!form.has(key)) return undefined;
  if (form.raw(key) === undefined || form.raw(key) === '') return null;
  return form.id(key, 'The parent must be a folder in the same vault.') ?? null;
}

/** `[]` is stored as `{}` (contract 1.5). */
function metadata(form: Form): JsonObject | undefined {
  return form.object('metadata');
}

function size(form: Form): number | undefined {
  const bytes = form.integer('size');
  return bytes !== undefined && bytes < 0 ? form.fail('size', 'Must not be negative.') : bytes;
}

/** An md5 in hex, as clients send it. */
function md5(form: Form): string | undefined {
  const text = form.text('md5');
  if (text === undefined || text === '') return undefined;
  if (/^[0-9a-fA-F]{32}$/.test(text)) return text.toLowerCase();
  return form.fail('md5', 'Must be 32 hex digits.');
}

/** A name by the catalogue's own rule, trimmed as every client expects. */
function name(form: Form, key: string, check: (field: string, name: string) => void): string {
  const text = form.requiredText(key);
  if (text === '') return text;
  try {
    check(key, text);
  } catch (error) {
    form.absorb(error);
  }
  return text;
}

function nullable<T>(
  form: Form,
  key: string,
  read: (form: Form, key: string) => T | undefined,
): T | null | undefined {
  return form.has(key) && form.raw(key) === undefined ? null : read(form, key);
}

/** The status of a cancel request: the whole resource may come along, only `canceled` may be set (contract 15.4). */
export function cancelRequest(form: Form): boolean {
  const status = form.text('status');
  if (status === undefined) return false;
  if (status !== 'canceled') form.fail('status', 'The status can only be set to "canceled".');
  return status === 'canceled';
}

/** Whether a value is an address that a browser may follow: http and https alone (threat A12). */
export function isWebAddress(text: string): boolean {
  const filled = text.replaceAll('{value}', 'x');
  return URL.canParse(filled) && /^https?:$/.test(new URL(filled).protocol);
}

/** The objects of a list that may hold anything; undefined when one is none. */
export function objectsIn(list: unknown): readonly JsonObject[] | undefined {
  return Array.isArray(list) && list.every(isObject) ? (list as readonly JsonObject[]) : undefined;
}
