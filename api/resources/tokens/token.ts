import type { TokenRow } from '../../../engine/catalog/tokens.js';
import type { Form } from '../../http/form.js';
import { constantField, declareResource } from '../../http/resource.js';
import { id, nullable, enumOf, withReader, text, timestamp } from '../../http/json-schema.js';

/** The data that the view of a token shows and its row does not have. */
export interface TokenContext {
  readonly origin: string;
  /** The id of the application to which the token was granted; null for other tokens. */
  readonly applicationId: number | null;
}

/** A token that was just created, with its secret. */
export type CreatedToken = TokenRow & { readonly secret: string };

/** Reads a time in the future; null if the token does not expire. */
function readExpiry(form: Form, key: string): number | null | undefined {
  const givenText = form.text(key);
  if (givenText === undefined) return null;
  const isTime = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:\d\d))?$/.test(givenText); // prettier-ignore
  const millis = isTime ? Date.parse(givenText) : Number.NaN;
  if (millis > Date.now()) return millis;
  const quotedText = JSON.stringify(givenText.slice(0, 100));
  return form.fail(
    key,
    `${quotedText} is not a time in the future; write it as 2030-01-31T12:00:00Z, or give null for a token that does not expire.`,
  );
}

/** A token or an API key (contract 2.1). */
export const token = declareResource<TokenRow, TokenContext>({
  name: 'Token',
  description: 'A credential of the user: a token, or an API key.',
  fields: {
    class_name: constantField('Token'),
    id: { type: id, example: 7 },
    url: {
      type: text,
      example: 'http://localhost:7878/v2/tokens/7',
      show: (row, { origin }) => `${origin}/v2/tokens/${row.id}`,
    },
    name: { type: text, example: 'laptop', create: 'optional', update: true, initial: '' },
    kind: {
      type: enumOf('token', 'api_key'),
      description: 'token: 30 characters; api_key: 40, for clients that expect an API key. They have the same rights.', // prettier-ignore
      example: 'token',
      create: 'optional',
      initial: 'token',
    },
    scope: {
      type: enumOf('read', 'read write'),
      description: 'read: requests that change nothing.',
      example: 'read',
      create: 'optional',
      initial: 'read write',
    },
    expires_at: {
      type: withReader(nullable(timestamp), readExpiry),
      description: 'The time from which it is refused; null: never.',
      example: null,
      create: 'optional',
      initial: null,
    },
    secret: {
      type: nullable(text),
      description: 'Only in the answer to the request that creates it; null afterwards, because only a hash is stored.', // prettier-ignore
      example: 'g0temMi3D9pdSlUibjGO9XfD9J88fy',
      show: (row) => ('secret' in row ? (row as CreatedToken).secret : null),
    },
    prefix: { type: text, description: 'The first characters of the secret.', example: 'g0te' },
    client_id: {
      type: nullable(text),
      description: 'The application that it was granted to; null for a token of the user.',
      example: null,
      show: (_row, { applicationId }) => (applicationId === null ? null : String(applicationId)),
    },
    user_id: { type: id, example: 3 },
    created_at: { type: timestamp, example: '2026-03-02T09:15:00.000Z' },
    last_used_at: {
      type: nullable(timestamp),
      description: 'To the minute; null: never.',
      example: null,
    },
  },
  examples: { create: { name: 'laptop', scope: 'read' } },
});
