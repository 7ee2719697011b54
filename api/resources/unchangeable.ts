import type { Form } from '../http/form.js';

/**
 * Notes a mistake if a request gives another value than the present one to a key that cannot change. Clients send whole resources
 * back (contract 1.5), so the same value, also as text, and an empty one are no change.
 */
export function refuseChange(form: Form, key: string, present: unknown, message: string): void {
  const value = form.raw(key);
  if (value === undefined || value === '' || value === present) return;
  if (typeof value !== 'object' && String(value as string) === String(present)) return;
  form.fail(key, message);
}

/** Why a key of objects and datasets cannot change. */
export const unchangeable = {
  vault: 'An object cannot be moved to another vault.',
  capacity: 'The capacity of a dataset cannot be changed.',
  objectType: 'The type of an object cannot be changed.',
  storageClass: 'Only datasets have a storage class.',
} as const;
