import type { UserRow } from '../../../engine/catalog/users.js';
import {
  boolean,
  id,
  nullable,
  reference,
  strings,
  timestamp,
  jsonObject,
  nullableText,
} from '../../http/json-schema.js';
import { userSummary } from './user.js';

/* Fields that several resources declare identically. */

/** When a resource was created and last changed. */
export const timestampFields = {
  created_at: { type: timestamp, example: '2026-03-02T09:15:00.000Z' },
  updated_at: { type: timestamp, example: '2026-03-02T09:20:41.120Z' },
} as const;

/** The owner of a resource, for its JSON; undefined if the user no longer exists. */
export interface WithUser {
  readonly user: UserRow | undefined;
}

/** The user inside another resource; null when the user no longer exists. */
export const userField = {
  type: nullable(reference('UserSummary')),
  example: userSummary.schema.example,
  show: (_row: unknown, { user }: WithUser) => (user ? userSummary.view(user, {}) : null),
} as const;

export const ownerFields = {
  user: userField,
  user_id: { type: id, example: 3 },
  account_id: { type: id, example: 1 },
} as const;

/** A description: free text, which null removes. */
export const descriptionField = {
  type: nullableText,
  example: 'Germline variants of 120 families with cardiomyopathy.',
  create: 'optional',
  update: true,
} as const;

export const metadataField = {
  type: jsonObject,
  description: 'Any keys and values.',
  example: { study: 'CMP-2026' },
  create: 'optional',
  update: true,
} as const;

export const tagsField = {
  type: strings,
  example: ['germline', 'GRCh38'],
  create: 'optional',
  update: true,
} as const;

export const sharedField = {
  type: boolean,
  description: 'Whether all users of the account may read it.',
  example: true,
  create: 'optional',
  initial: false,
  update: true,
} as const;
