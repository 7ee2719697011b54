import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  makeVaultFixture,
  makeMigration,
  startServer,
  type Client,
  type VaultFixture,
  type TestServer,
} from '../server.js';

let server: TestServer;
let ann: Client;
let fixture: VaultFixture;
let migrationId: number;
beforeAll(async () => {
  server = await startServer();
  ann = await server.user('ann');
  fixture = await makeVaultFixture(ann);
  migrationId = await makeMigration(ann, fixture.datasetId);
});
afterAll(() => server.close());

/** The keys that the owner may change, by resource; every other key must stay unchanged (threat A6). */
const writableKeys: Readonly<Record<string, readonly string[]>> = {
  vaults: [
    'name',
    'description',
    'metadata',
    'tags',
    'default_storage_class',
    'versioning',
    'is_public',
    'user_id',
  ],
  objects: ['filename', 'parent_object_id', 'description', 'metadata', 'tags', 'mimetype'],
  datasets: ['name', 'vault_parent_object_id', 'description', 'metadata', 'tags', 'storage_class'],
  dataset_fields: [
    'title',
    'description',
    'entity_type',
    'expression',
    'is_hidden',
    'ordering',
    'depends_on',
    'url_template',
  ],
  dataset_imports: ['description', 'metadata', 'tags'],
  dataset_exports: [],
  dataset_migrations: [],
  dataset_commits: [],
  tasks: [],
};

/** Returns another value; it has the same JSON type unless the value is null. */
function differentJson(value: unknown): unknown {
  if (typeof value === 'boolean') return !value;
  if (typeof value === 'number') return value + 1;
  if (typeof value === 'string') return `${value}x`;
  if (Array.isArray(value)) return ['x'];
  if (value === null) return 'x';
  return { x: 1 };
}

/** Returns the resource with 0 for the times of changes and accesses, which may differ. */
function withoutTimes(view: Record<string, unknown>): object {
  return { ...view, updated_at: 0, last_modified: 0, last_accessed: 0 };
}

describe.each(Object.keys(writableKeys))('%s (A6)', (kind) => {
  test.each(['PUT', 'PATCH'])(
    '%s changes no key that is not the user’s to change',
    async (method) => {
      const path = `/v2/${kind}/${fixtureIdOf(kind)}`;
      const jsonBefore = (await ann.get(path)).json;
      for (const [key, value] of Object.entries(jsonBefore)) {
        if (writableKeys[kind]?.includes(key)) continue;
        const answer = await ann.call(method, path, { [key]: differentJson(value) });
        // A key may be refused instead of ignored: a status can only become canceled, and a type cannot change.
        expect([key, answer.status === 200 || answer.status === 400]).toEqual([key, true]);
        expect(withoutTimes((await ann.get(path)).json)).toEqual(withoutTimes(jsonBefore));
      }
    },
  );

  test('PATCH with the whole resource changes nothing', async () => {
    const path = `/v2/${kind}/${fixtureIdOf(kind)}`;
    const jsonBefore = (await ann.get(path)).json;
    const { status: _, ...rest } = jsonBefore;
    const answer = await ann.patch(path, rest);
    expect([answer.status, answer.json['id']]).toEqual([200, jsonBefore['id']]);
    expect(withoutTimes((await ann.get(path)).json)).toEqual(withoutTimes(jsonBefore));
  });
});

test('a create request cannot set what the server decides (A6)', async () => {
  const serverValues = {
    id: 5,
    user_id: 99,
    account_id: 99,
    is_deleted: true,
    vault_type: 'user',
    permissions: {},
    created_at: 'x',
    url: 'x',
    upload_url: 'x',
    availability: 'available',
    documents_count: 9,
    dataset_id: 9,
    status: 'completed',
    task_id: 9,
    download_url: 'x',
    is_read_only: true,
    is_valid: true,
    revision: 3,
  };
  const vault = await ann.post('/v2/vaults', { ...serverValues, name: 'Mass' });
  expect(vault.json).toMatchObject({
    user_id: ann.user.id,
    is_public: false,
    vault_type: 'general',
  });
  expect(vault.json).toMatchObject({ is_deleted: false, account_id: ann.user.accountId });
  expect(vault.json['id']).not.toBe(5);
  const place = { vault_id: vault.json['id'], object_type: 'file', filename: 'f' };
  const file = await ann.post('/v2/objects', { ...serverValues, ...place });
  expect(file.json).toMatchObject({ user_id: ann.user.id, availability: 'unverified' });
  expect(file.json).toMatchObject({ documents_count: null, dataset_id: null });
  const body = { ...serverValues, dataset_id: fixture.datasetId, name: 'mass' };
  const field = await ann.post('/v2/dataset_fields', body);
  expect(field.json).toMatchObject({ is_read_only: false, is_valid: false });
});

function fixtureIdOf(kind: string): number {
  const ids: Readonly<Record<string, number>> = {
    vaults: fixture.vaultId,
    objects: fixture.fileId,
    datasets: fixture.datasetId,
    dataset_fields: fixture.fieldId,
    dataset_imports: fixture.importId,
    dataset_exports: fixture.exportId,
    dataset_migrations: migrationId,
    dataset_commits: fixture.commitId,
    tasks: fixture.taskId,
  };
  return ids[kind] ?? 0;
}
