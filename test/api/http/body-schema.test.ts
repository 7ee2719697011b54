import { expect, test } from '@jest/globals';
import { Form } from '../../../api/http/form.js';
import {
  bodySchema,
  enumOf,
  filledText,
  id,
  integer,
  listOf,
  nullable,
  text,
} from '../../../api/http/json-schema.js';

/* Tests how bodies are read according to their declarations. */

const body = bodySchema('Grant', 'A grant.', {
  user_id: { type: id, required: true },
  level: { type: enumOf('read', 'write'), initial: 'read' },
  note: { type: nullable(text) },
  max_uses: { type: nullable(integer), initial: 1 },
  code: { type: filledText, required: true, property: 'secret' },
  others: { type: listOf(text) },
});
const valid = { user_id: '7', code: 'a' };

test('keys are read by their types, in camel case, with initial values', () => {
  const { userId, level, note, maxUses, secret } = body.parse({ ...valid, note: 'x', others: 3 });
  const typed: readonly [number, 'read' | 'write', string | null | undefined, number, string] = [userId, level, note, maxUses, secret]; // prettier-ignore
  expect(typed).toEqual([7, 'read', 'x', 1, 'a']);
  expect(body.parse(valid)).toEqual({ userId: 7, level: 'read', maxUses: 1, secret: 'a' });
});

test('null is a value of a nullable type without an initial value, and absent otherwise', () => {
  const nulls = { note: null, level: null, max_uses: null };
  expect(body.parse({ ...valid, ...nulls })).toEqual({ ...body.parse(valid), note: null });
});

test('all mistakes are collected, each missing key once', () => {
  const form = new Form({ user_id: '', level: 'x', max_uses: 'y', code: ' ' });
  expect(body.read(form)).toEqual({ level: 'read', maxUses: 1, secret: '' });
  form.fail('note', 'Not this one.');
  expect(() => body.parse(form)).toThrow(
    expect.objectContaining({
      code: 'invalid',
      fields: {
        user_id: ['This field is required.'],
        level: ['"x" is not a valid choice; use read, write.'],
        max_uses: ['A valid integer is required.'],
        code: ['This field is required.'],
        note: ['Not this one.'],
      },
    }),
  );
});

test('the schema has the required keys', () => {
  expect(body.schema['required']).toEqual(['user_id', 'code']);
});

test('a required key that the code of the resource reads must be present', () => {
  const { schema } = id;
  const shelf = bodySchema('Shelf', 'A shelf.', {
    dataset_id: { type: { schema }, required: true },
    vault_id: { type: { schema } },
  });
  const expectedError = { fields: { dataset_id: ['This field is required.'] } };
  for (const absent of [{}, { dataset_id: null }])
    expect(() => shelf.parse(absent)).toThrow(expect.objectContaining(expectedError));
  expect(shelf.parse({ dataset_id: 'whatever the code accepts' })).toEqual({});
});
