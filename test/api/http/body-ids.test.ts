import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { NamedSchema } from '../../../api/http/json-schema.js';
import { operations, schemas } from '../../../api/resources/index.js';
import { byTier } from '../../tier.js';
import {
  idOf,
  makeVaultFixture,
  makeMigration,
  startServer,
  type Client,
  type TestServer,
} from '../server.js';

/* Sends values that are not ids wherever the OpenAPI document has an id: in paths, query strings and bodies, at any depth. */

type Json = Readonly<Record<string, unknown>>;
type KeyPath = readonly (string | number)[];
interface Operation {
  readonly operationId: string;
  readonly parameters: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Json; readonly example?: Json }>> };
} // prettier-ignore

let server: TestServer;
let ann: Client;
/** Ids of the live server, by the keys of bodies and by the second segment of paths. */
let liveIds: Record<string, number>;
let openapi: { readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>; readonly components: { readonly schemas: Readonly<Record<string, Json>> } }; // prettier-ignore
beforeAll(async () => {
  server = await startServer();
  ann = await server.user('ann', { role: 'admin' });
  const createdFixture = await makeVaultFixture(ann);
  openapi = (await ann.get('/openapi.json')).json as never;
  const setId = idOf(await ann.post('/v2/beacon_sets', { title: 'Cardiology' }));
  const beacon = {
    beacon_set_id: setId,
    title: 'Cohort',
    vault_object_id: createdFixture.datasetId,
  };
  const { datasetId, importId, exportId, commitId } = createdFixture;
  const migrationId = await makeMigration(ann, datasetId);
  liveIds = {
    source_id: datasetId,
    target_id: datasetId,
    vault_id: createdFixture.vaultId,
    source_vault_id: createdFixture.vaultId,
    target_vault_id: createdFixture.vaultId,
    source_object_id: createdFixture.fileId,
    parent_object_id: createdFixture.folderId,
    vault_parent_object_id: createdFixture.folderId,
    dataset_id: datasetId,
    dataset: datasetId,
    vault_object_id: datasetId,
    object_id: createdFixture.fileId,
    beacon_set_id: setId,
    vaults: createdFixture.vaultId,
    objects: createdFixture.fileId,
    uploads: createdFixture.fileId,
    downloads: createdFixture.fileId,
    users: ann.user.id,
    datasets: datasetId,
    dataset_fields: createdFixture.fieldId,
    dataset_imports: importId,
    datasets_imports: importId,
    dataset_exports: exportId,
    datasets_exports: exportId,
    dataset_migrations: migrationId,
    datasets_migrations: migrationId,
    dataset_commits: commitId,
    datasets_commits: commitId,
    tasks: createdFixture.taskId,
    saved_queries: idOf(await ann.post('/v2/saved_queries', { name: 'one' })),
    beacon_sets: setId,
    beacons: idOf(await ann.post('/v2/beacons', beacon)),
    applications: idOf(
      await ann.post('/v2/applications', { name: 'one', redirect_uris: 'https://example.org/' }),
    ),
    groups: idOf(await ann.post('/v1/groups', { name: 'one' })),
    group_id: idOf(await ann.post('/v1/groups', { name: 'two' })),
    invitations: idOf(await ann.post('/v1/invitations')),
  };
  // The resources that need no other preparation are created from their request examples.
  for (const { id, paths, body } of operationsWithBody) {
    const name = paths[0].split('/')[2]!;
    if (!id.endsWith('.create') || name in liveIds || `${name}s` in liveIds) continue;
    liveIds[name] = idOf(await ann.post(paths[0], withLiveIds((body as NamedSchema).example)));
  }
});
afterAll(() => server.close());

const invalidIds = byTier<readonly unknown[]>(
  ['', 'x', 0, 1.5, {}],
  ['', ' ', 'x', 0, -1, 1.5, 2 ** 53, '99999999999999999999', true, {}, []],
);
const operationRows = Object.values(operations);
const operationRoutes = operationRows.flatMap(({ method, paths }) => paths.map((path) => ({ method, path: path.replaceAll(/:(\w+)/g, '{$1}') }))); // prettier-ignore
const operationsWithBody = operationRows.filter(
  ({ body }) => body !== undefined && 'schema' in body,
);

test('the OpenAPI document has every operation, and ids at every depth', () => {
  const describedRoutes = Object.entries(openapi.paths).flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`));
  expect(describedRoutes.sort()).toEqual(operationRoutes.map(({ method, path }) => `${method} ${path}`).sort());
  const keys = operationsWithBody.flatMap((row) => idPathsOf(keyPathsOf(schemaOf(row.body as NamedSchema))).map((path) => path.join('.')));
  expect(keys).toEqual(expect.arrayContaining(['vault_id', 'dataset', 'manifest.files.0.object_id', 'queries.0.dataset_id']));
  expect(keys.length).toBeGreaterThan(20);
}); // prettier-ignore

test.each(operationRoutes.filter(({ path }) => path.includes('{')))('$method $path: a value that is no id finds nothing in its path', async ({ method, path }) => {
  const { parameters } = openapi.paths[path]![method.toLowerCase()]!;
  for (const { name } of parameters.filter((one) => one.in === 'path')) {
    for (const value of invalidIds.filter((one) => typeof one !== 'object').map(String)) {
      const target = fillPath(path.replace(`{${name}}`, encodeURIComponent(value)));
      const body = method === 'GET' || method === 'DELETE' ? undefined : {};
      const { status, text } = await ann.call(method, target, body);
      // An invalid id may still be answered: without a value, the address may be that of a list; a lookup leaves out unknown ids; and
      // versions begin at 0.
      const mayBeAnswered = status < 300 && (value === '' || name === 'ids' || name === 'version');
      expect([target, mayBeAnswered || [400, 401, 403, 404, 405].includes(status), text]).toEqual([target, true, text]);
    }
  }
  expect(takeServerErrors()).toEqual([]);
}); // prettier-ignore

test.each(operationRoutes.filter(({ method }) => method === 'GET'))('$method $path: a value that is no id causes no error of the server in its query', async ({ method, path }) => {
  const { parameters } = openapi.paths[path]![method.toLowerCase()]!;
  for (const { name } of parameters.filter((one) => one.in === 'query')) {
    const isId = /(?:^|_)id$|^user$/.test(name);
    for (const value of isId ? invalidIds.map(String) : byTier([], [''])) {
      const answer = await ann.call(method, `${fillPath(path)}?${name}=${encodeURIComponent(value)}`);
      expect([name, value, answer.status < 500, answer.text]).toEqual([name, value, true, answer.text]);
    }
  }
  expect(takeServerErrors()).toEqual([]);
}); // prettier-ignore

test.each(operationsWithBody)(
  '$id: a value that is no id causes no error of the server in its body',
  async (row) => {
    const { method, paths } = row;
    const schema = schemaOf(row.body as NamedSchema);
    const target = fillPath(paths[0].replaceAll(/:(\w+)/g, '{$1}'));
    const liveBody = withLiveIds((row.body as NamedSchema).example) as Json;
    const required = (schema['required'] ?? []) as readonly string[];
    const leastBody = Object.fromEntries(
      Object.entries(liveBody).filter(([key]) => required.includes(key)),
    );
    const keyPaths = keyPathsOf(schema);
    const idPaths = new Set(idPathsOf(keyPaths));
    for (const path of keyPaths) {
      for (const value of idPaths.has(path) ? invalidIds : byTier([], [''])) {
        // Each value is tested in a complete example and in a minimal one, because other keys may hide the error.
        for (const body of [liveBody, leastBody]) {
          const { status, text } = await ann.call(
            method,
            target,
            setValueAtPath(body, path, value),
          );
          expect([path, value, status < 500, text]).toEqual([path, value, true, text]);
          expect([path, value, takeServerErrors()]).toEqual([path, value, []]);
        }
      }
      const [key] = path;
      if (path.length > 1 || !idPaths.has(path) || !required.includes(String(key))) continue;
      // A required id that is the empty string counts as missing; an optional one would count as absent.
      const emptyAnswer = await ann.call(method, target, { ...liveBody, [key!]: '' });
      expect([emptyAnswer.status, Object.keys(emptyAnswer.json)]).toEqual([400, [key]]);
    }
  },
);

test.each([
  ['POST', '/v2/dataset_imports', (value: unknown) => ({ dataset_id: liveIds['dataset_id'], manifest: { files: [{ object_id: value }] } }), 'manifest'],
  ['POST', '/v2/dataset_imports', (value: unknown) => ({ dataset_id: value, data_records: [{ gene: 'x' }] }), 'dataset_id'],
  ['POST', '/v2/dataset_imports', (value: unknown) => ({ dataset_id: liveIds['dataset_id'], object_id: value }), 'object_id', 'non_field_errors'],
  ['POST', '/v2/objects', (value: unknown) => ({ vault_id: value, object_type: 'folder', filename: 'n' }), 'vault_id'],
  ['POST', '/v2/dataset_fields', (value: unknown) => ({ dataset_id: value, name: 'n' }), 'dataset_id'],
  ['POST', '/v2/dataset_exports', (value: unknown) => ({ dataset_id: value, format: 'csv' }), 'dataset_id'],
  ['POST', '/v2/dataset_migrations', (value: unknown) => ({ source_id: value, target_id: liveIds['dataset_id'] }), 'source_id'],
  ['POST', '/v2/dataset_migrations', (value: unknown) => ({ source_id: liveIds['dataset_id'], target_id: value }), 'target_id'],
  ['POST', '/v2/beacons', (value: unknown) => ({ beacon_set_id: value, vault_object_id: liveIds['dataset_id'], title: 't' }), 'beacon_set_id'],
  ['POST', '/v2/beacons', (value: unknown) => ({ beacon_set_id: liveIds['beacon_set_id'], vault_object_id: value, title: 't' }), 'vault_object_id'],
] as const)('%s %s answers 400 that names the key (%#)', async (method, path, bodyOf, ...keys) => {
  for (const value of ['', 'x', 0, -1, 1.5, true]) {
    const answer = await ann.call(method, path, bodyOf(value));
    expect([value, answer.status, keys.includes(Object.keys(answer.json)[0] as never)]).toEqual([value, 400, true]);
  }
}); // prettier-ignore

/** Returns the errors that the server has logged since the last call. */
function takeServerErrors(): readonly string[] {
  return server.logs.splice(0).filter((line) => line.includes('"event":"error"'));
}

/** Returns an address with an id of the live server in place of `{id}`, and fixed values in place of `{ids}` and `{revision}`. */
function fillPath(path: string): string {
  const name = path.split('/')[2] ?? '';
  const ownId = liveIds[name] ?? liveIds[`${name}s`];
  if (ownId === undefined && path.includes('{id}')) throw new Error(`add ${name} to \`liveIds\``);
  return path.replace('{id}', String(ownId)).replace('{ids}', 'x').replace('{revision}', '1');
}

function withLiveIds(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withLiveIds);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, liveIds[key] ?? withLiveIds(item)]),
  );
}

/** Returns the body with a value at a path; missing objects are created, and each list on the path is left with one element. */
function setValueAtPath(body: unknown, [key, ...rest]: KeyPath, value: unknown): unknown {
  if (key === undefined) return value;
  const member = (body as Json | undefined)?.[key];
  const inner = setValueAtPath(typeof member === 'object' ? member : undefined, rest, value);
  if (typeof key === 'number') return [inner];
  return { ...(body as Json | undefined), [key]: inner };
}

/** Returns the schema of a body from the OpenAPI document. */
function schemaOf({ name, schema }: NamedSchema): Json {
  return openapi?.components.schemas[name] ?? schema;
}

/** Returns the paths of all keys that a schema declares; for a list, the paths lead through its first element. */
function keyPathsOf(schema: Json, path: KeyPath = [], enclosingSchemas: readonly Json[] = []): KeyPath[] {
  const { $ref, properties, items, allOf, anyOf } = schema;
  if (typeof $ref === 'string') {
    const namedSchema = schemas.find(({ name }) => $ref.endsWith(`/${name}`))!.schema as Json;
    return enclosingSchemas.includes(namedSchema) ? [] : keyPathsOf(namedSchema, path, [...enclosingSchemas, namedSchema]);
  }
  return [
    ...[...((allOf ?? []) as Json[]), ...((anyOf ?? []) as Json[])].flatMap((part) => keyPathsOf(part, path, enclosingSchemas)),
    ...(items === undefined ? [] : keyPathsOf(items as Json, [...path, 0], enclosingSchemas)),
    ...Object.entries((properties ?? {}) as Readonly<Record<string, Json>>).flatMap(([key, member]) => [
      [...path, key],
      ...keyPathsOf(member, [...path, key], enclosingSchemas),
    ]),
  ];
} // prettier-ignore

function idPathsOf(paths: readonly KeyPath[]): readonly KeyPath[] {
  return paths.filter((path) => /(?:^|_)id$|^dataset$/.test(String(path.at(-1))));
}
