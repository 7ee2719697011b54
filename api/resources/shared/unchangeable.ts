import { isDeepStrictEqual } from 'node:util';
import { parseJson, stringifyJson } from '../../../engine/core/json.js';
import { isObject, type Form } from '../../http/form.js';

/**
 * Notes a mistake if a request gives a new value to a key that cannot change. Clients send whole resources back (contract 1.5), so these
 * count as no change: the present value, also as text; an object with some of its members; and an empty value.
 */
export function refuseChange(
  form: Form,
  key: string,
  presentValue: unknown,
  message: string,
): void {
  const value = form.raw(key);
  if (value === undefined || value === '' || value === presentValue) return;
  const isSame =
    typeof value === 'object' && value !== null
      ? isEmpty(value) || isContained(value, presentValue)
      : String(value as string) === String(presentValue);
  if (!isSame) form.fail(key, message);
}

function isEmpty(value: object): boolean {
  return Object.keys(value).length === 0;
}

/** Returns whether the value equals the present list, or is an object whose members all have their present value. */
function isContained(value: object, presentValue: unknown): boolean {
  const mergedValue =
    isObject(value) && isObject(presentValue) ? { ...presentValue, ...value } : value;
  return isDeepStrictEqual(toJsonValue(mergedValue), toJsonValue(presentValue));
}

function toJsonValue(value: unknown): unknown {
  return parseJson(stringifyJson(value ?? null));
}

/** The messages that tell why a key of an object, a dataset or a field cannot change. */
export const unchangeableMessages = {
  vault: 'An object cannot be moved to another vault.',
  capacity: 'The capacity of a dataset cannot be changed.',
  objectType: 'The type of an object cannot be changed.',
  storageClass: 'Only datasets have a storage class.',
  content:
    'The size and the md5 of a file are those of its upload; upload a file anew to change them.',
  fields: 'Fields of a dataset are added and changed with /v2/dataset_fields.',
  template: 'A template applies when a dataset is created.',
  target: 'The target of a shortcut cannot be changed; create another shortcut.',
  dataset: 'A field cannot be moved to another dataset.',
  readOnlyField: 'The field is read-only and cannot be changed.',
} as const;
