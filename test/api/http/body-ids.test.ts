import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { NamedSchema } from '../../../api/http/schema.js';
import { operations } from '../../../api/resources/index.js';
import { idOf, makeFixture, startServer, type Client, type TestServer } from '../server.js';

let server: TestServer;
let ann: Client;
let ids: Readonly<Record<string, number>>;
beforeAll(async () => {
  server = await startServer();
  ann = await server.user('ann');
  const made = await makeFixture(ann);
  const setId = idOf(await ann.post('/v2/beacon_sets', { title: 'Cardiology' }));
  const beacon = { beacon_set_id: setId, title: 'Cohort', vault_object_id: made.datasetId };
  ids = {
    vault_id: made.vaultId,
    parent_object_id: made.folderId,
    vault_parent_object_id: made.folderId,
    dataset_id: made.datasetId,
    dataset: made.datasetId,
    vault_object_id: made.datasetId,
    object_id: made.fileId,
    beacon_set_id: setId,
    objects: made.fileId,
    datasets: made.datasetId,
    dataset_fields: made.fieldId,
    beacons: idOf(await ann.post('/v2/beacons', beacon)),
    saved_queries: idOf(await ann.post('/v2/saved_queries', { name: 'one' })),
  };
});
afterAll(() => server.close());

/** Every key of a body that holds an id, with its operation. */
const keys = Object.values(operations).flatMap(({ id, method, paths: [path], body }) => {
  if (typeof body !== 'object') return [];
  const { schema, example } = body as NamedSchema;
  return Object.keys(schema['properties'] as object)
    .filter((key) => /_id$|^dataset$/.test(key))
    .map((key) => ({ id, key, method, path, example: example as Readonly<Record<string, unknown>> }));
}); // prettier-ignore

test('bodies have ids to try', () => {
  expect(keys.length).toBeGreaterThan(10);
});

test.each(keys)('$id: a value of $key that is no id is no error of the server', async (one) => {
  const path = one.path.replace(':id', String(ids[one.path.split('/')[2] ?? '']));
  const live = Object.fromEntries(
    Object.entries(one.example).map(([key, value]) => [key, ids[key] ?? value]),
  );
  // A required id that is empty is missing; one that may be absent is then absent.
  for (const value of ['', ' ', 'x', 0, -1, 1.5, 2 ** 53, '99999999999999999999', true, {}, []]) {
    const answer = await ann.call(one.method, path, { ...live, [one.key]: value });
    const outcome = [one.key, value, answer.status < 500];
    expect([...outcome, answer.text]).toEqual([one.key, value, true, answer.text]);
  }
  const required = (operations[one.id]!.body as NamedSchema).schema['required'] ?? [];
  if (!(required as readonly string[]).includes(one.key)) return;
  const empty = await ann.call(one.method, path, { ...live, [one.key]: '' });
  expect([empty.status, Object.keys(empty.json)]).toEqual([400, [one.key]]);
});
