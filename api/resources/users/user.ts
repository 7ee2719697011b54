import type { AccountRow } from '../../../engine/catalog/accounts.js';
import { fullName, type UserRow } from '../../../engine/catalog/users.js';
import { constant, declareResource, type ResourceField } from '../../http/resource.js';
import { boolean, id, oneOf, text, timestamp, type ValueType } from '../../http/schema.js';

type UserFields<Context> = Readonly<Record<string, ResourceField<UserRow, Context>>>;

const summaryFields: UserFields<object> = {
  class_name: constant('User'),
  id: { type: id, example: 3 },
  email: { type: text, example: 'ada@acme.org' },
  first_name: { type: text, example: 'Ada' },
  last_name: { type: text, example: 'Okafor' },
  full_name: { type: text, example: 'Ada Okafor', show: (user) => fullName(user) },
  is_active: { type: boolean, example: true },
  is_staff: constant(false),
  role: { type: oneOf('member', 'admin', 'primary_owner'), example: 'member' },
  title: constant(''),
};

/** The user inside another resource (contract 4.1). */
export const userSummary = declareResource<UserRow>({
  name: 'UserSummary',
  description: 'A user inside another resource.',
  fields: summaryFields,
});

const account: ValueType = {
  schema: {
    type: 'object',
    properties: { id: id.schema, domain: text.schema, name: text.schema },
    required: ['id', 'domain', 'name'],
    additionalProperties: false,
  },
};

/** A user with the account (contract 4.1). */
export const user = declareResource<
  UserRow,
  { readonly account: AccountRow; readonly origin: string }
>({
  name: 'User',
  description: 'A user of the account.',
  fields: {
    ...(summaryFields as UserFields<unknown>),
    username: {
      type: text,
      description: 'The part of the email address before the @.',
      example: 'ada',
      show: ({ email }) => email.split('@', 1)[0] ?? email,
    },
    is_verified: constant(true),
    date_joined: { type: timestamp, example: '2026-01-12T08:00:00.000Z', property: 'createdAt' },
    password_days_remaining: constant(null),
    url: {
      type: text,
      example: 'http://localhost:7878/v1/users/3',
      show: (row, { origin }) => `${origin}/v1/users/${row.id}`,
    },
    account: {
      type: account,
      example: { id: 1, domain: 'acme', name: 'Acme Genomics' },
      show: (_, { account: row }) => ({ id: row.id, domain: row.domain, name: row.name }),
    },
  },
});
