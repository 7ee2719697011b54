import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp, type App } from '../../api/app.module.js';
import type { ServerLimits } from '../../api/http/app-context.js';
import { openCatalog, type Catalog } from '../../engine/catalog/catalog.js';
import { createUser } from '../../engine/catalog/create-user.js';
import type { Permission, Role } from '../../engine/catalog/permission.js';
import type { UserRow } from '../../engine/catalog/users.js';
import type { DataFolder } from '../../engine/core/data-folder.js';
import { openDataFolder } from '../../engine/core/files.js';
import { parseJson } from '../../engine/core/json.js';
import { openMemoryExecutor } from '../../engine/query/memory/memory-executor.js';
import { openQueryEngine } from '../../engine/query/plan/query-engine.js';
import { logPlansTo } from '../../engine/query/plan/log-plans.js';
import { openSigningKey } from '../../engine/core/signing-key.js';
import { openStore, type StoreOptions } from '../../engine/store/open-store.js';
import type { Store } from '../../engine/store/store.js';
import {
  createScheduler,
  type Scheduler,
  type SchedulerOptions,
} from '../../scheduler/queue/scheduler.js';
import { spillFolder } from '../../scheduler/worker/messages.js';
import { startTestWorker } from '../start-test-worker.js';
import { differencesFromDeclaration } from './declared-answer.js';

/** The server's answer to a request. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The JSON of the answer; an empty object if there is none. */
  readonly json: Record<string, unknown>;
}

/** Sends requests with a token of one user, or without one if `token` is empty. */
export interface Client {
  readonly user: UserRow;
  readonly token: string;
  call(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer>;
  get(path: string): Promise<Answer>;
  post(path: string, body?: unknown): Promise<Answer>;
  patch(path: string, body?: unknown): Promise<Answer>;
  put(path: string, body?: unknown): Promise<Answer>;
  delete(path: string): Promise<Answer>;
}

/**
 * A complete server on a data folder that `close` removes; in the slow tier, its worker is a separate process. Unless the test gives the
 * folder, the parent of the data folder contains nothing else.
 */
export interface TestServer {
  readonly url: string;
  readonly port: number;
  readonly app: App;
  readonly catalog: Catalog;
  readonly store: Store;
  readonly scheduler: Scheduler;
  readonly data: DataFolder;
  readonly key: Uint8Array;
  readonly logs: string[];
  user(name: string, options?: { domain?: string; role?: Role; scope?: 'read' }): Promise<Client>;
  /** Stops the server, and starts one on the same data folder with the same options. */
  restart(): Promise<TestServer>;
  close(): Promise<void>;
}

/** Settings of a test server that differ from the defaults. */
export interface TestOptions {
  readonly rateLimit?: number;
  readonly publicUrl?: string;
  readonly trustProxies?: readonly string[];
  readonly limits?: Partial<ServerLimits>;
  readonly scheduler?: Partial<SchedulerOptions>;
  readonly store?: StoreOptions;
  /** Memory for columns that queries keep; 0 keeps none. */
  readonly queryCacheMb?: number;
  /** Whether the tests provoke internal errors, whose causes are then in `TestServer.logs` alone. */
  readonly expectsErrors?: boolean;
  /** The data folder; by default, `data` in a new temporary folder. */
  readonly folder?: string;
}

/** Starts a server; `close` stops it and removes its files. */
export async function startServer(options: TestOptions = {}): Promise<TestServer> {
  const folder = options.folder ?? (await mkdtemp(join(tmpdir(), 'strandlake-api-')));
  return startServerOn(
    { folder, dataFolder: options.folder ?? join(folder, 'data') },
    options,
    new Set(),
  );
}

/** Starts a server on a data folder. `domainsWithOwner` are the domains of the accounts that already have an owner. */
async function startServerOn(
  { folder, dataFolder }: { readonly folder: string; readonly dataFolder: string },
  options: TestOptions,
  domainsWithOwner: Set<string>,
): Promise<TestServer> {
  const data = await openDataFolder(dataFolder);
  const key = await openSigningKey(data);
  const catalog = await openCatalog(data.catalog);
  const store = openStore(data, { checkEveryMs: 0, ...options.store });
  const logs: string[] = [];
  const cacheMb = options.queryCacheMb ?? 64;
  const queryEngine = openQueryEngine({
    ...(cacheMb > 0 && { memory: openMemoryExecutor({ threads: 1, cacheMb }) }),
    onPlan: logPlansTo((line) => logs.push(line)),
    dataFolder: data.root,
    otherFolders: [data.fileTables],
    memoryMb: 256,
    threads: 2,
    spillFolder: spillFolder(data, process.pid),
    spillMb: 256,
  });
  const config = { threads: 1, workerMemoryMb: 512 };
  // Infinite, so that a quiet dataset never causes a merge; tests count segments.
  const quietMs = Infinity;
  const scheduler = createScheduler({
    catalog,
    store,
    data,
    config,
    quietMs,
    startWorker: startTestWorker,
    ...options.scheduler,
  });
  await scheduler.start();
  const app = await createApp({
    catalog,
    store,
    queryEngine,
    scheduler,
    data,
    signingKey: key,
    config: {
      publicUrl: options.publicUrl ?? null,
      ...(options.trustProxies && { trustProxies: options.trustProxies }),
      rateLimit: options.rateLimit ?? 0,
      log: 'debug',
    },
    // The clock stands still, so that no limit per minute starts a new minute while a test counts requests.
    limits: { failedLogins: 0, clock: () => 0, ...options.limits },
    log: (line) => {
      logs.push(line);
      // The cause of an unexpected status 500 is printed in the output of the test.
      if (!options.expectsErrors && line.includes('"event":"error"')) console.error(line);
    },
  });
  const { url, port } = await app.listen(0, '127.0.0.1');
  const stop = async (): Promise<void> => {
    await app.close();
    await scheduler.close();
    await queryEngine.close();
    await catalog.close();
  };
  return {
    url,
    port,
    app,
    catalog,
    store,
    scheduler,
    data,
    key,
    logs,
    async user(name, { domain = 'acme', role = 'member', scope } = {}) {
      // The first user of an account becomes its owner, but tests need ordinary members.
      if (!domainsWithOwner.has(domain)) {
        domainsWithOwner.add(domain);
        const ownerBody = { email: `owner@${domain}.org`, domain };
        await catalog.transaction((tx) => createUser(tx, ownerBody, key));
      }
      const token = { name: 'test', ...(scope && { scope }) };
      const email = `${name}@${domain}.org`;
      const createdUser = await catalog.transaction((tx) =>
        createUser(tx, { email, domain, role, firstName: name, token }, key),
      );
      return clientFor(url, createdUser.user, createdUser.token?.secret ?? '');
    },
    async restart() {
      await stop();
      return startServerOn({ folder, dataFolder }, options, domainsWithOwner);
    },
    async close() {
      await stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Returns a client that sends a token, or none if `token` is the empty string. */
export function clientFor(url: string, user: UserRow, token: string): Client {
  const call: Client['call'] = (method, path, body, headers = {}) =>
    sendRequest(url, method, path, body, {
      ...(token !== '' && { authorization: `Bearer ${token}` }),
      ...headers,
    });
  return {
    user,
    token,
    call,
    get: (path) => call('GET', path),
    post: (path, body) => call('POST', path, body),
    patch: (path, body) => call('PATCH', path, body),
    put: (path, body) => call('PUT', path, body),
    delete: (path) => call('DELETE', path),
  };
}

/**
 * Sends one request; strings and bytes are sent as they are, anything else as JSON. Throws if a successful answer is not as its operation
 * declares.
 */
export async function sendRequest(
  url: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const address = path.startsWith('http') ? path : url + path;
  const response = await fetch(address, {
    method,
    headers,
    redirect: 'manual',
    ...(body !== undefined && { body: encodeBody(body) }),
  });
  const text = await response.text();
  const mediaType = response.headers.get('content-type');
  const isJson = mediaType === 'application/json' && text !== '';
  const json = isJson ? (parseJson(text) as Record<string, unknown>) : {};
  const differences = differencesFromDeclaration(method, address, response.status, mediaType, json);
  if (differences.length > 0)
    throw new Error(`${method} ${path}: ${differences.join('; ')}: ${text.slice(0, 1_000)}`);
  return { status: response.status, headers: response.headers, text, json };
}

function encodeBody(body: unknown): string | Uint8Array<ArrayBuffer> {
  if (typeof body === 'string') return body;
  return ArrayBuffer.isView(body) ? (body as Uint8Array<ArrayBuffer>) : JSON.stringify(body);
}

/** Returns the id in an answer. */
export function idOf(answer: Answer): number {
  if (typeof answer.json['id'] !== 'number')
    throw new Error(`no id: ${answer.status} ${answer.text}`);
  return answer.json['id'];
}

/** Returns the elements of an answer that is a list. */
export function listOf(answer: Answer): readonly Record<string, unknown>[] {
  const { data } = answer.json;
  if (!Array.isArray(data)) throw new Error(`no list: ${answer.status} ${answer.text}`);
  return data as readonly Record<string, unknown>[];
}

/** The ids of a vault with a folder, a file and a dataset, and of a field, an import, a commit, an export and a task of the dataset. */
export interface VaultFixture {
  readonly vaultId: number;
  readonly folderId: number;
  readonly fileId: number;
  readonly datasetId: number;
  readonly fieldId: number;
  readonly importId: number;
  readonly commitId: number;
  readonly exportId: number;
  readonly taskId: number;
}

/** Creates the resources of a `VaultFixture` as the user `owner`. */
export async function makeVaultFixture(owner: Client, name = 'Lab'): Promise<VaultFixture> {
  const vaultId = idOf(await owner.post('/v2/vaults', { name }));
  const postObject = (object: object): Promise<Answer> =>
    owner.post('/v2/objects', { vault_id: vaultId, ...object });
  const folderId = idOf(await postObject({ object_type: 'folder', filename: 'runs' }));
  const file = await postObject({
    object_type: 'file',
    filename: 'a.json',
    parent_object_id: folderId,
  });
  await sendRequest('', 'PUT', String(file.json['upload_url']), '{"gene":"TP53"}\n');
  const datasetId = idOf(await postObject({ object_type: 'dataset', filename: 'variants' }));
  const importAnswer = await owner.post('/v2/dataset_imports', {
    dataset_id: datasetId,
    records: [
      { gene: 'TP53', n: 1 },
      { gene: 'KRAS', n: 2 },
    ],
  });
  const exportAnswer = await owner.post('/v2/dataset_exports', {
    dataset_id: datasetId,
    format: 'json',
  });
  const exportId = idOf(exportAnswer);
  await waitForJob(owner, `/v2/dataset_exports/${exportId}`);
  const [field] = listOf(await owner.get(`/v2/datasets/${datasetId}/fields?name=gene`));
  const [commit] = listOf(await owner.get(`/v2/datasets/${datasetId}/commits`));
  return {
    vaultId,
    folderId,
    fileId: idOf(file),
    datasetId,
    fieldId: Number(field?.['id']),
    importId: idOf(importAnswer),
    commitId: Number(commit?.['id']),
    exportId,
    taskId: Number(importAnswer.json['task_id']),
  };
}

/** The ids of the tasks that have archived and restored a dataset. */
export interface ArchiveTaskIds {
  readonly snapshot: number;
  readonly restore: number;
}

/** Creates a dataset, archives and restores it; returns the ids of the tasks. */
export async function makeArchiveTasks(owner: Client, vaultId: number): Promise<ArchiveTaskIds> {
  const datasetId = idOf(await owner.post('/v2/datasets', { vault_id: vaultId, name: 'archived' }));
  const taskIds: number[] = [];
  for (const [kind, storage_class] of [
    ['snapshot', 'Archive'],
    ['restore', 'Standard'],
  ] as const) {
    await owner.patch(`/v2/datasets/${datasetId}`, { storage_class });
    const path = `/v2/dataset_${kind}_tasks`;
    const [row] = listOf(await owner.get(`${path}?dataset_id=${datasetId}`));
    taskIds.push(idOf(await waitForJob(owner, `${path}/${String(row?.['id'])}`)));
  }
  return { snapshot: taskIds[0]!, restore: taskIds[1]! };
}

/** Runs a dry run of a migration of a dataset to itself until it has ended; returns the id of the migration. */
export async function makeMigration(owner: Client, datasetId: number): Promise<number> {
  const body = { source_id: datasetId, target_id: datasetId, dry_run: true };
  const id = idOf(await owner.post('/v2/dataset_migrations', body));
  await waitForJob(owner, `/v2/dataset_migrations/${id}`);
  return id;
}

/** Polls a job or a task until it has ended; returns the last answer. */
export async function waitForJob(client: Client, path: string): Promise<Answer> {
  for (;;) {
    const answer = await client.get(path);
    const { status } = answer.json;
    if (!['pending', 'queued', 'running'].includes(String(status))) return answer;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Grants a user a permission on a vault, directly in the catalogue. */
export async function grantPermission(
  server: TestServer,
  vaultId: number,
  client: Client,
  permission: Permission,
): Promise<void> {
  await server.catalog.vaultPermissions.grant(vaultId, { userId: client.user.id }, permission);
}
