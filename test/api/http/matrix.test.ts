import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { OperationRow } from '../../../api/http/operation-row.js';
import { operations } from '../../../api/resources/index.js';
import {
  clientFor,
  grantPermission,
  idOf,
  makeArchiveTasks,
  makeVaultFixture,
  makeMigration,
  startServer,
  waitForJob,
  type Answer,
  type ArchiveTaskIds,
  type Client,
  type VaultFixture,
  type TestServer,
} from '../server.js';
import {
  concernsAccountResource,
  concernsUserResource,
  concernsCredentials,
} from './owned-resources.js';

/** The permission that each operation on a resource of a vault requires, from the specification's tables, not the code (threat A2). */
const neededPermissions: Readonly<Record<string, 'read' | 'write' | 'admin' | 'write or own'>> = {
  'vaults.get': 'read',
  'vaults.put': 'write',
  'vaults.patch': 'write',
  'vaults.delete': 'admin',
  'vaultPermissions.list': 'admin',
  'vaultPermissions.grant': 'admin',
  'vaultPermissions.revoke': 'admin',
  'objects.get': 'read',
  'objects.put': 'write',
  'objects.patch': 'write',
  'objects.delete': 'write',
  'objects.download': 'read',
  'multipart.abort': 'write',
  'fileVersions.list': 'read',
  'fileVersions.download': 'read',
  'fileVersions.undelete': 'write',
  'fileVersions.delete': 'write',
  'fileVersions.restore': 'write',
  'objects.fields': 'read',
  'objects.query': 'read',
  'globalBeacons.get': 'read',
  'globalBeacons.enable': 'write',
  'globalBeacons.disable': 'write',
  'datasets.get': 'read',
  'datasets.put': 'write',
  'datasets.patch': 'write',
  'datasets.delete': 'write',
  'datasets.query': 'read',
  'datasets.lookup': 'read',
  'datasets.verify': 'read',
  'datasets.diff': 'read',
  'datasets.template': 'read',
  'datasets.diskUse': 'read',
  'datasets.beacon': 'read',
  'datasets.changelog': 'read',
  'datasets.changelogVersion': 'read',
  'commits.download': 'read',
  'fields.list': 'read',
  'fields.get': 'read',
  'fields.put': 'write',
  'fields.patch': 'write',
  'fields.delete': 'write',
  'fields.facets': 'read',
  'imports.ofDataset': 'read',
  'imports.get': 'read',
  'imports.put': 'write',
  'imports.patch': 'write',
  'imports.delete': 'write',
  'imports.rejected': 'read',
  'exports.ofDataset': 'read',
  'exports.get': 'read',
  'exports.put': 'read',
  'exports.patch': 'read',
  'exports.delete': 'write or own',
  'exports.download': 'read',
  'exports.provenance': 'read',
  'migrations.ofDataset': 'read',
  'migrations.get': 'read',
  'migrations.put': 'read',
  'migrations.patch': 'read',
  'migrations.delete': 'write',
  'migrations.rejected': 'read',
  'commits.ofDataset': 'read',
  'commits.get': 'read',
  'commits.put': 'read',
  'commits.patch': 'read',
  'commits.delete': 'write',
  'commits.checkRollback': 'write',
  'commits.rollback': 'write',
  'snapshots.get': 'read',
  'restores.get': 'read',
  'tasks.get': 'read',
  'tasks.put': 'write',
  'tasks.patch': 'write',
};

const permissionLevels = { none: 0, read: 1, write: 2, 'write or own': 2, admin: 3 } as const;
const callerRoles = ['owner', 'admin', 'write', 'read', 'member', 'none', 'stranger', 'anonymous'] as const; // prettier-ignore
type CallerRole = (typeof callerRoles)[number];
const heldLevels: Readonly<Record<CallerRole, number>> = {
  owner: 3,
  admin: 3,
  write: 2,
  read: 1,
  member: 1, // member of a group
  none: 0,
  stranger: 0,
  anonymous: -1,
};

let server: TestServer;
let clients: Record<CallerRole, Client>;
let fixture: VaultFixture;
/** The id of an import that has rejected a record. */
let failedImportId: number;
let migrationId: number;
/** The id of a migration that has rejected a record. */
let failedMigrationId: number;
let archiveTaskIds: ArchiveTaskIds;
/** A word in the name, path, values and metadata of resources that others must not see (threat A3). */
const secretWord = 'zyzzyva';

beforeAll(async () => {
  server = await startServer();
  const owner = await server.user('owner-of-vault');
  clients = {
    owner,
    admin: await server.user('admin'),
    write: await server.user('write'),
    read: await server.user('read'),
    member: await server.user('member'),
    none: await server.user('none'),
    stranger: await server.user('stranger', { domain: 'other' }),
    anonymous: clientFor(server.url, owner.user, ''),
  };
  fixture = await makeVaultFixture(owner, secretWord);
  await server.catalog.globalBeacons.enable(fixture.datasetId, owner.user.id);
  const records = [{ n: 'not a number' }];
  failedImportId = idOf(
    await owner.post('/v2/dataset_imports', { dataset_id: fixture.datasetId, records }),
  );
  migrationId = await makeMigration(owner, fixture.datasetId);
  const place = { vault_id: fixture.vaultId, name: 'booleans' };
  const migration = {
    source_id: fixture.datasetId,
    target_id: idOf(await owner.post('/v2/datasets', place)),
    target_fields: [{ name: 'gene', data_type: 'boolean' }],
  };
  failedMigrationId = idOf(await owner.post('/v2/dataset_migrations', migration));
  await waitForJob(owner, `/v2/dataset_migrations/${failedMigrationId}`);
  archiveTaskIds = await makeArchiveTasks(owner, fixture.vaultId);
  const { catalog } = server;
  const { accountId } = owner.user;
  const groupId = (await catalog.groups.create({ accountId, name: 'Readers' })).id;
  await catalog.groups.addMember(groupId, clients.member.user.id);
  await catalog.vaultPermissions.grant(fixture.vaultId, { groupId }, 'read');
  for (const level of ['admin', 'write', 'read'] as const) {
    await grantPermission(server, fixture.vaultId, clients[level], level);
  }
});
afterAll(() => server.close());

/** Operations that need no token, because their signed address is the credential. */
const downloadOperations = ['downloads.object', 'downloads.export', 'downloads.rejected'];

/** Returns a path of an operation with the id of a resource, or with an id that does not exist, and with fixed `:ids` and `:version`. */
function targetPathOf(path: string, kind: 'right' | 'missing' = 'right'): string {
  const ids: Readonly<Record<string, number>> = {
    vaults: fixture.vaultId,
    objects: path.endsWith('/beacon') ? fixture.datasetId : fixture.fileId,
    datasets: fixture.datasetId,
    dataset: fixture.datasetId,
    dataset_fields: fixture.fieldId,
    dataset_imports: path.endsWith('/rejected') ? failedImportId : fixture.importId,
    datasets_imports: fixture.importId,
    dataset_exports: fixture.exportId,
    datasets_exports: fixture.exportId,
    dataset_migrations: path.endsWith('/rejected') ? failedMigrationId : migrationId,
    datasets_migrations: migrationId,
    dataset_commits: fixture.commitId,
    datasets_commits: fixture.commitId,
    dataset_snapshot_tasks: archiveTaskIds.snapshot,
    dataset_restore_tasks: archiveTaskIds.restore,
    tasks: fixture.taskId,
  };
  const id = kind === 'right' ? ids[path.split('/')[2] ?? ''] : 987_654_321_987;
  const version = path.includes('/versions/') ? '1' : '0';
  return path.replace(':ids', 'x').replace(':id', String(id)).replace(':version', version);
}

function callRow(client: Client, row: OperationRow, path: string): Promise<Answer> {
  return client.call(
    row.method,
    path,
    ['POST', 'PUT', 'PATCH'].includes(row.method) ? '{}' : undefined,
  );
}

const operationsWithId = (Object.entries(operations) as [string, OperationRow][]).filter(
  ([id, row]) => row.paths[0].includes(':id') && neededPermissions[id] !== undefined,
);

test('the table has every operation on a resource of a vault', () => {
  const otherOperations = [
    'uploads.put',
    'uploads.part',
    'objectCopies.get',
    ...downloadOperations,
  ];
  const operationIds = (Object.entries(operations) as [string, OperationRow][])
    .filter(([id, row]) => row.paths[0].includes(':id') && !otherOperations.includes(id))
    .filter(
      ([id]) =>
        !concernsUserResource(id) && !concernsCredentials(id) && !concernsAccountResource(id),
    )
    .map(([id]) => id);
  const missingIds = operationIds.filter((id) => neededPermissions[id] === undefined);
  const advice = missingIds.map(
    (id) =>
      `add ${id} to \`neededPermissions\`, or to owned-resources.ts if users or accounts own it`,
  );
  expect(advice).toEqual([]);
  expect(Object.keys(neededPermissions).toSorted()).toEqual(operationIds.toSorted());
});

describe.each(callerRoles)('%s (A2)', (role) => {
  // Allowed deletions are left out, because they would destroy the fixture; the tests of each resource cover them.
  const safeRoutes = operationsWithId.filter(
    ([id, row]) =>
      row.method !== 'DELETE' ||
      heldLevels[role] < permissionLevels[neededPermissions[id] ?? 'admin'],
  );

  test.each(safeRoutes.map(([id, row]) => [id, row] as const))('%s', async (id, row) => {
    const level = permissionLevels[neededPermissions[id] ?? 'admin'];
    for (const path of row.paths) {
      const answer = await callRow(clients[role], row, targetPathOf(path));
      const missingAnswer = await callRow(clients[role], row, targetPathOf(path, 'missing'));
      if (heldLevels[role] === -1) {
        expect([answer.status, missingAnswer.status]).toEqual([401, 401]);
      } else if (heldLevels[role] === 0) {
        // A resource that the caller may not read has the same answer as a missing one, byte for byte.
        expect([answer.status, answer.text]).toEqual([404, '{"detail":"Not found"}']);
        expect([missingAnswer.status, missingAnswer.text]).toEqual([404, '{"detail":"Not found"}']);
      } else if (heldLevels[role] < level) {
        expect([answer.status, Object.keys(answer.json)]).toEqual([403, ['detail']]);
        expect(missingAnswer.status).toBe(404);
      } else {
        expect([path, [200, 201, 302, 400].includes(answer.status)]).toEqual([path, true]);
        expect(missingAnswer.status).toBe(404);
      }
    }
  });
});

/**
 * A body or a query may name ids of resources. The answer may depend on whether the caller can read the resource, but not on whether an
 * unreadable one exists.
 */
describe('ids in bodies (A2)', () => {
  const requestsWith = (ids: { vault: number; folder: number; file: number; dataset: number }) =>
    [
      ['POST', '/v2/objects', { vault_id: ids.vault, object_type: 'folder', filename: 'x' }],
      ['POST', '/v2/datasets', { vault_id: ids.vault, name: 'x' }],
      ['POST', '/v2/dataset_fields', { dataset_id: ids.dataset, name: 'x' }],
      ['POST', '/v2/dataset_imports', { dataset_id: ids.dataset, records: [{ a: 1 }] }],
      ['POST', '/v2/dataset_exports', { dataset_id: ids.dataset, format: 'csv' }],
      ['POST', '/v2/dataset_migrations', { source_id: ids.dataset, target_id: ids.dataset }],
    ] as const;

  test.each(['none', 'stranger'] as const)('%s learns nothing from an id', async (role) => {
    const rightIds = {
      vault: fixture.vaultId,
      folder: fixture.folderId,
      file: fixture.fileId,
      dataset: fixture.datasetId,
    };
    const missingIds = {
      vault: 99_999,
      folder: 98_765_432_111,
      file: 98_765_432_112,
      dataset: 98_765_432_113,
    };
    const missingRequests = requestsWith(missingIds);
    for (const [index, [method, path, body]] of requestsWith(rightIds).entries()) {
      const answer = await clients[role].call(method, path, body);
      const otherAnswer = await clients[role].call(method, path, missingRequests[index]?.[2]);
      const withoutIds = (one: Answer): string => one.text.replaceAll(/\d+/g, '#');
      expect([path, answer.status, withoutIds(answer)]).toEqual([
        path,
        otherAnswer.status,
        withoutIds(otherAnswer),
      ]);
      expect([path, answer.status === 404 || answer.status === 400]).toEqual([path, true]);
    }
  });

  test('a reader may export and nothing else', async () => {
    const rightIds = {
      vault: fixture.vaultId,
      folder: fixture.folderId,
      file: fixture.fileId,
      dataset: fixture.datasetId,
    };
    for (const [method, path, body] of requestsWith(rightIds)) {
      const { status } = await clients.read.call(method, path, body);
      expect([path, status]).toEqual([path, path.endsWith('exports') ? 201 : 403]);
    }
  });

  test('others are not told apart when moved into, imported from or exported to (A5)', async () => {
    const otherFixture = await makeVaultFixture(clients.stranger, 'Mine');
    const ownClient = clients.stranger;
    const answerPairs = [
      await ownClient.patch(`/v2/objects/${otherFixture.fileId}`, {
        parent_object_id: fixture.folderId,
      }),
      await ownClient.patch(`/v2/objects/${otherFixture.fileId}`, {
        parent_object_id: 98_765_432_111,
      }),
      await ownClient.post('/v2/dataset_imports', {
        dataset_id: otherFixture.datasetId,
        object_id: fixture.fileId,
      }),
      await ownClient.post('/v2/dataset_imports', {
        dataset_id: otherFixture.datasetId,
        object_id: 98_765_432_111,
      }),
      await ownClient.post('/v2/dataset_exports', {
        dataset_id: otherFixture.datasetId,
        format: 'json',
        target_full_path: `acme:${secretWord}:/x`,
      }),
      await ownClient.post('/v2/dataset_exports', {
        dataset_id: otherFixture.datasetId,
        format: 'json',
        target_full_path: 'acme:nowhere:/x',
      }),
      await ownClient.post('/v2/dataset_imports', {
        dataset_id: otherFixture.datasetId,
        manifest: { files: [{ object_id: otherFixture.fileId }, { object_id: fixture.fileId }] },
      }),
      await ownClient.post('/v2/dataset_imports', {
        dataset_id: otherFixture.datasetId,
        manifest: { files: [{ object_id: otherFixture.fileId }, { object_id: 98_765_432_111 }] },
      }),
    ].map(({ status, text }) => [status, text.replaceAll(/\d+/g, '#')]);
    expect(answerPairs[0]).toEqual(answerPairs[1]);
    expect(answerPairs[2]).toEqual(answerPairs[3]);
    expect(answerPairs[4]).toEqual(answerPairs[5]);
    expect(answerPairs[6]).toEqual(answerPairs[7]);
    expect(answerPairs.map(([status]) => status)).toEqual(answerPairs.map(() => 400));
    const readerAnswer = await clients.read.post('/v2/dataset_exports', {
      dataset_id: fixture.datasetId,
      format: 'json',
      target_full_path: `${secretWord}:/x`,
    });
    expect(readerAnswer.status).toBe(403);
  });
});

describe('what may not be read (A3)', () => {
  test.each(['none', 'stranger'] as const)(
    'never shows to %s, in any list or by any filter',
    async (role) => {
      const vaultId = fixture.vaultId;
      const datasetId = fixture.datasetId;
      const paths = [
        '/v2/vaults',
        `/v2/vaults?id=${vaultId}`,
        `/v2/vaults?name=${secretWord}`,
        `/v2/vaults?full_path=acme:${secretWord}`,
        '/v2/objects',
        `/v2/objects?vault_id=${vaultId}`,
        `/v2/objects?ancestor_id=${fixture.folderId}`,
        `/v2/objects?parent_object_id=${fixture.folderId}`,
        `/v2/objects?full_path=acme:${secretWord}:/variants`,
        '/v2/objects?glob=*/**',
        `/v2/objects?glob=acme:${secretWord}:/**`,
        '/v2/objects?regex=.*',
        `/v2/objects?vault_full_path=acme:${secretWord}`,
        `/v2/objects?id=${datasetId}`,
        '/v2/datasets',
        `/v2/datasets?vault_id=${vaultId}`,
        '/v2/dataset_imports',
        `/v2/dataset_imports?dataset_id=${datasetId}`,
        '/v2/dataset_exports',
        `/v2/dataset_exports?dataset_id=${datasetId}`,
        '/v2/dataset_migrations',
        `/v2/dataset_migrations?dataset_id=${datasetId}`,
        '/v2/dataset_commits',
        `/v2/dataset_commits?dataset_id=${datasetId}`,
        '/v2/tasks',
        `/v2/tasks?target_object_id=${datasetId}`,
        `/v2/tasks?source_object_id=${datasetId}`,
      ];
      for (const path of paths) {
        const answer = await clients[role].get(path);
        expect(answer.status).toBe(200);
        const restOfAnswer = answer.text.replaceAll(answer.json['url'] as string, '');
        expect([path, restOfAnswer.includes(secretWord)]).toEqual([path, false]);
        if (path.includes('?')) {
          const listsOwnObjects = /glob=\*|regex/.test(path);
          if (!listsOwnObjects) expect([path, answer.json['total']]).toEqual([path, 0]);
        }
      }
    },
  );
});
