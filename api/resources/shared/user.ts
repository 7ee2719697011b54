import type { AccountRow } from '../../../engine/catalog/accounts.js';
import { fullName, type UserRow } from '../../../engine/catalog/users.js';
import { constantField, declareResource, type ResourceField } from '../../http/resource.js';
import {
  boolean,
  filledText,
  id,
  nullable,
  enumOf,
  text,
  timestamp,
  type ValueType,
} from '../../http/json-schema.js';

type UserFields<Context> = Readonly<Record<string, ResourceField<UserRow, Context>>>;

const summaryFields: UserFields<object> = {
  class_name: constantField('User'),
  id: { type: id, example: 3 },
  email: { type: text, example: 'ada@acme.org' },
  first_name: { type: text, example: 'Ada' },
  last_name: { type: text, example: 'Okafor' },
  full_name: { type: text, example: 'Ada Okafor', show: (user) => fullName(user) },
  is_active: { type: boolean, example: true },
  is_staff: constantField(false),
  role: { type: enumOf('member', 'admin', 'primary_owner'), example: 'member' },
  title: constantField(''),
};

/** The user inside another resource (contract 4.1). */
export const userSummary = declareResource<UserRow>({
  name: 'UserSummary',
  description: 'A user inside another resource.',
  fields: summaryFields,
});

const accountType: ValueType = {
  schema: {
    type: 'object',
    properties: { id: id.schema, domain: text.schema, name: text.schema },
    required: ['id', 'domain', 'name'],
    additionalProperties: false,
  },
};

/** The data that the view of a user shows and its row does not have. */
interface UserContext {
  readonly account: AccountRow;
  readonly origin: string;
}

const userFields: UserFields<UserContext> = {
  ...(summaryFields as UserFields<unknown>),
  email: { ...summaryFields['email']!, type: filledText, create: 'required' },
  first_name: { ...summaryFields['first_name']!, create: 'optional', update: true },
  last_name: { ...summaryFields['last_name']!, create: 'optional', update: true },
  role: {
    ...summaryFields['role']!,
    description:
      'member, or admin: administers the account. An account has one primary_owner, its first user.',
    create: 'optional',
    createType: enumOf('member', 'admin'),
    update: true,
  },
  is_active: {
    ...summaryFields['is_active']!,
    description: 'false: removed; the tokens are refused.',
    update: true,
  },
  username: {
    type: text,
    description: 'The part of the email address before the @.',
    example: 'ada',
    show: ({ email }) => email.split('@', 1)[0] ?? email,
  },
  is_verified: constantField(true),
  date_joined: { type: timestamp, example: '2026-01-12T08:00:00.000Z', property: 'createdAt' },
  password_days_remaining: constantField(null),
  url: {
    type: text,
    example: 'http://localhost:7878/v1/users/3',
    show: (row, { origin }) => `${origin}/v1/users/${row.id}`,
  },
  account: {
    type: accountType,
    example: { id: 1, domain: 'acme', name: 'Acme Genomics' },
    show: (_, { account: row }) => ({ id: row.id, domain: row.domain, name: row.name }),
  },
};

/** A user with their account (contract 4.1). */
export const user = declareResource<UserRow, UserContext>({
  name: 'User',
  description: 'A user of the account.',
  fields: userFields,
  examples: {
    create: { email: 'lin@acme.org', first_name: 'Lin', role: 'member' },
    update: { role: 'admin' },
  },
});

/** A user who was just created or has accepted an invitation, with a token. */
export const createdUser = declareResource<
  UserRow,
  UserContext & { readonly token: string | null }
>({
  name: 'CreatedUser',
  description: 'A user with a first token.',
  fields: {
    ...(userFields as UserFields<unknown>),
    token: {
      type: nullable(text),
      description: 'A token of the user, shown this once; null in a repeated answer.',
      example: 'g0temMi3D9pdSlUibjGO9XfD9J88fy',
      show: (_, { token }) => token,
    },
  },
});
