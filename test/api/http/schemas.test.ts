import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { OpenapiDocument, exampleOfAnswer, schemaOfAnswer } from '../../../api/http/openapi.js';
import type { OperationRow } from '../../../api/http/operation-row.js';
import type { NamedSchema } from '../../../api/http/json-schema.js';
import { operations, schemas } from '../../../api/resources/index.js';
import { startWorker } from '../../../scheduler/worker/worker-supervisor.js';
import type { MessageToWorker } from '../../../scheduler/worker/messages.js';
import { schemaErrors } from '../json-schema.js';
import { exampleUrlQueriesOf } from './example-queries.js';
import {
  idOf,
  listOf,
  makeArchiveTasks,
  makeVaultFixture,
  makeMigration,
  sendRequest,
  startServer,
  waitForJob,
  type Client,
  type TestServer,
} from '../server.js';

/* Compares the answers of a live server with the schemas and examples of the OpenAPI document. */

const operationRows = Object.values(operations);
const jsonOperations = operationRows.filter(({ answer }) => !('examples' in answer));
const isCancelOperation = ({ body }: OperationRow): boolean => (body as NamedSchema | undefined)?.name === 'Cancel'; // prettier-ignore
const cancelOperations = operationRows.filter(isCancelOperation);
const operationsWithBody = operationRows.filter(
  (row) => row.body !== undefined && 'schema' in row.body && !isCancelOperation(row),
);
const readOperations = jsonOperations.filter(({ method }) => method === 'GET');
const deleteOperations = jsonOperations.filter(({ method }) => method === 'DELETE');
/** Operations that take no body, and neither only read nor delete. */
const bodylessOperations = jsonOperations.filter(
  ({ method, body }) => !/GET|DELETE/.test(method) && body === undefined,
);

/** The `paths` of the OpenAPI document, as far as the test reads them: the parameters of each operation, by path and method. */
type Described = Readonly<
  Record<string, Readonly<Record<string, { readonly parameters: readonly DescribedParameter[] }>>>
>;
interface DescribedParameter {
  readonly name: string;
  readonly in: string;
  readonly example: string;
}

let server: TestServer;
let ann: Client;
/**
 * Ids and other values of the live server, by the keys of request examples, the second segments of paths, the parameters of paths (with
 * the colon, as in `:user_id`), and names that only this test uses, such as `patched`.
 */
let liveValues: Record<string, number | string>;
/** Values of the live server, by the names of query parameters. */
let liveParams: Readonly<Record<string, number | string>>;
let emptyDatasetId: number;
/**
 * Lists that have no rows on any server: the synchronizations of vaults with external storage, because vaults exist only on this server
 * (contract 5.5). The schema of their rows is compared with its example alone (`openapi.test.ts`).
 */
const emptyLists: readonly string[] = ['vaultSyncs.list'];
/** While true, the worker receives a task's work only with the next other message, such as the one that cancels the task. */
let holdsMessages = false;
let heldMessages: MessageToWorker[] = [];

beforeAll(async () => {
  const foxText = 'The quick brown fox jumps over the lazy dog'; // the OpenAPI examples use the MD5 of this text as an ETag
  server = await startServer({
    limits: { multipartBytes: foxText.length },
    scheduler: {
      startWorker: (...args) => {
        const worker = startWorker(...args);
        const send = (message: MessageToWorker): void => {
          heldMessages.push(message);
          if (holdsMessages && message.type === 'run') return;
          for (const one of heldMessages) worker.send(one);
          heldMessages = [];
        };
        return { ...worker, send };
      },
    },
  });
  ann = await server.user('ann', { role: 'admin' });
  const ada = await server.user('ada');
  await ada.call('PUT', '/v1/user/password', { password: 'a long phrase of her own' });
  const createdFixture = await makeVaultFixture(ann);
  const setId = idOf(await ann.post('/v2/beacon_sets', { title: 'Cohorts' }));
  const datasetId = idOf(
    await ann.post('/v2/datasets', { vault_id: createdFixture.vaultId, name: 'calls' }),
  );
  const records = [
    {
      gene: 'MYH7',
      variant: 'GRCH38-14-23424840-23424840-T',
      reference_allele: 'C',
      variant_type: 'SNP',
      protein_change: 'R403Q',
      hgvs_g: 'NC_000014.9:g.23424840C>T',
      clinical_significance: 'Pathogenic',
      info: { AF: 0.0001 },
    },
  ];
  const target_fields = [
    { name: 'gene', entity_type: 'gene' },
    { name: 'variant', entity_type: 'variant' },
  ];
  const importAnswer = await ann.post('/v2/dataset_imports', {
    dataset_id: datasetId,
    records,
    target_fields,
  });
  const fieldId = async (name: string) =>
    Number(listOf(await ann.get(`/v2/datasets/${datasetId}/fields?name=${name}`))[0]?.['id']);
  const [commit] = listOf(await ann.get(`/v2/datasets/${datasetId}/commits`));
  const bareDataset = { vault_id: createdFixture.vaultId, name: 'empty' };
  emptyDatasetId = idOf(await ann.post('/v2/datasets', bareDataset));
  const fields = [{ name: 'gene', data_type: 'boolean' }];
  const booleanDatasetId =
    idOf(await ann.post('/v2/datasets', { vault_id: createdFixture.vaultId, name: 'booleans', fields })); // prettier-ignore
  const rejectedImport = await ann.post('/v2/dataset_imports', {
    dataset_id: booleanDatasetId,
    records,
  });
  const rejectedMigration =
    await ann.post('/v2/dataset_migrations', { source_id: datasetId, target_id: booleanDatasetId }); // prettier-ignore
  await waitForJob(ann, `/v2/dataset_migrations/${idOf(rejectedMigration)}`);
  const beacon = { beacon_set_id: setId, vault_object_id: datasetId, title: 'Cohort 2024' };
  const file = await ann.post('/v2/objects', {
    vault_id: createdFixture.vaultId,
    object_type: 'file',
    filename: 'genes.csv',
  });
  const setVersioning = (versioning: string) =>
    ann.patch(`/v2/vaults/${createdFixture.vaultId}`, { versioning });
  await setVersioning('enabled');
  for (const csvLine of ['MYH7,b', 'MYH7,a'])
    await sendRequest('', 'PUT', String(file.json['upload_url']), `gene,variant\n${csvLine}\n`);
  await setVersioning('disabled');
  await ann.post(`/v2/objects/${datasetId}/beacon`, { granularity: 'record' });
  const [{ _id: recordId }] = (await ann.post(`/v2/datasets/${datasetId}/data`, {})).json['results'] as [{ _id: string }]; // prettier-ignore
  const largeFile =
    { vault_id: createdFixture.vaultId, object_type: 'file', filename: 'large.bin', size: foxText.length }; // prettier-ignore
  const { json: upload } = await ann.post('/v2/objects', largeFile);
  const [part] = upload['presigned_urls'] as { upload_url: string }[];
  await sendRequest('', 'PUT', part!.upload_url, foxText);
  const patchedFile = {
    vault_id: createdFixture.vaultId,
    object_type: 'file',
    filename: 'renamed.vcf',
  };
  const archiveTaskIds = await makeArchiveTasks(ann, createdFixture.vaultId);
  const groupId = idOf(await ann.post('/v1/groups', { name: 'Readers' }));
  await ann.put(`/v1/groups/${groupId}/memberships`, { user_id: ann.user.id });
  const permissionsPath = `/v2/vaults/${createdFixture.vaultId}/permissions`;
  await ann.put(permissionsPath, { group_id: groupId, permission: 'read' });
  const invitation = await ann.post('/v1/invitations', { group_ids: [groupId] });
  const redirectUri = 'https://apps.example.org/callback';
  const applicationId = idOf(
    await ann.post('/v2/applications', { name: 'Browser', redirect_uris: redirectUri }),
  );
  const grant = { userId: ann.user.id, applicationId, redirectUri, codeChallenge: null };
  liveValues = {
    groups: groupId,
    invitations: idOf(invitation),
    // Ids for the second parameter of paths.
    ':user_id': ann.user.id,
    ':account': 'acme',
    ':dataset': datasetId,
    ':variant': `${datasetId}:${recordId}`,
    version_id: 1,
    ':permission_id': idOf(
      await ann.put(permissionsPath, { user_id: ada.user.id, permission: 'write' }),
    ),
    applications: applicationId,
    client_id: String(applicationId),
    client_secret: String(
      (await ann.get(`/v2/applications/${applicationId}/secret`)).json['client_secret'],
    ),
    'invitations.accept code': String(invitation.json['code']),
    code: await server.catalog.grants.create({ ...grant, scope: 'read' }, server.key),
    dataset_snapshot_tasks: archiveTaskIds.snapshot,
    dataset_restore_tasks: archiveTaskIds.restore,
    patched: idOf(await ann.post('/v2/objects', patchedFile)),
    upload_id: String(upload['upload_id']),
    key: Number(upload['id']),
    physical_object_id: Number(upload['id']),
    total_size: foxText.length,
    aborted: idOf(await ann.post('/v2/objects', largeFile)),
    users: ann.user.id,
    vaults: createdFixture.vaultId,
    vault_id: createdFixture.vaultId,
    objects: idOf(file),
    parent_object_id: createdFixture.folderId,
    datasets: datasetId,
    dataset: datasetId,
    dataset_id: datasetId,
    vault_object_id: datasetId,
    dataset_fields: await fieldId('gene'),
    numeric_field: await fieldId('info.AF'),
    dataset_imports: idOf(importAnswer),
    dataset_exports: createdFixture.exportId,
    dataset_migrations: await makeMigration(ann, datasetId),
    rejected_import: idOf(rejectedImport),
    rejected_migration: idOf(rejectedMigration),
    source_id: datasetId,
    target_id: datasetId,
    dataset_commits: Number(commit?.['id']),
    tasks: Number(importAnswer.json['task_id']),
    source_vault_id: createdFixture.vaultId,
    target_vault_id: createdFixture.vaultId,
    source_object_id: idOf(file),
    object_copy_tasks: idOf(
      await ann.post('/v2/object_copy_tasks', {
        source_vault_id: createdFixture.vaultId,
        source_object_id: idOf(file),
        target_vault_id: createdFixture.vaultId,
      }),
    ),
    template_id: idOf(await ann.post('/v2/dataset_templates', { name: 'other' })),
    tokens: idOf(await ann.post('/v2/tokens', { name: 'other' })),
    beacon_sets: setId,
    beacon_set_id: setId,
    beacons: idOf(await ann.post('/v2/beacons', beacon)),
  };
  liveParams = {
    ...liveValues,
    user: ann.user.id,
    user_id: ann.user.id,
    subject_id: createdFixture.vaultId,
    ancestor_id: createdFixture.folderId,
    exclude_group_id: groupId,
    target_object_id: datasetId,
    datasetIds: datasetId,
    as_of: Number(commit?.['id']),
    to: Number(commit?.['id']),
  };
  const exportExample = (operations['exports.create']!.body as NamedSchema).example;
  const exported = await ann.post('/v2/dataset_exports', withLiveIds(exportExample));
  await waitForJob(ann, `/v2/dataset_exports/${idOf(exported)}`);
  // The resources that need no other preparation are created from their request examples.
  for (const { id, paths, body } of operationsWithBody) {
    const name = paths[0].split('/')[2]!;
    if (!id.endsWith('.create') || name in liveValues) continue;
    const example = withLiveIds((body as NamedSchema).example);
    liveValues[name] = idOf(await ann.post(paths[0], example));
  }
});
afterAll(() => server.close());

/**
 * Operations whose target id does not follow from the second segment of the path, or that must not change resources that other tests read.
 */
const specialTargetNames = new Map([
  ['globalBeacons', 'datasets'],
  ['fields.facets', 'numeric_field'],
  ['multipart.abort', 'aborted'],
  ['objects.put', 'patched'],
  ['objects.patch', 'patched'],
  ['imports.rejected', 'rejected_import'],
  ['migrations.rejected', 'rejected_migration'],
]);

/** Returns the address of an operation on the live server. */
function liveAddressOf({ paths: [path], id, pathParams = {} }: OperationRow): string {
  const name =
    specialTargetNames.get(id.replace(/^globalBeacons.*/, 'globalBeacons')) ??
    path.split('/')[2] ??
    '';
  const ownId = liveValues[name];
  if (ownId === undefined && path.includes(':id')) throw new Error(`add ${name} to \`liveValues\``);
  return path
    .replace(':version', path.includes('/versions/') ? '1' : '0')
    .replaceAll(/:(\w+)/g, (_, name: string) =>
      String(name === 'id' ? ownId : (liveValues[`:${name}`] ?? pathParams[name]?.example)),
    );
}

/** Returns the query strings of an operation's examples, with the ids of the live server in place of theirs. */
function liveQueriesOf(row: OperationRow): readonly string[] {
  const ownId = liveValues[row.paths[0].split('/')[2] ?? ''];
  return exampleUrlQueriesOf(row, { ...liveParams, ...(ownId !== undefined && { id: ownId }) });
}

/** Returns a request example with the ids of the live server in place of its own. */
function withLiveIds(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withLiveIds);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, liveValues[key] ?? withLiveIds(item)]),
  );
}

function expectDeclaredAnswer({ id, answer }: OperationRow, json: unknown): void {
  if ('examples' in answer) return;
  expect([id, schemaErrors(schemaOfAnswer(answer), json)]).toEqual([id, []]);
}

describe('the live answers', () => {
  test.each(readOperations.map((row) => [row.id, row] as const))(
    '%s satisfies its schema, also with the examples of its parameters',
    async (_, row) => {
      let hasRows = false;
      for (const query of liveQueriesOf(row)) {
        const answer = await ann.get(`${liveAddressOf(row)}?redirect=&${query}`);
        expect([row.id, query, answer.status, answer.text]).toEqual([
          row.id,
          query,
          200,
          answer.text,
        ]);
        expectDeclaredAnswer(row, answer.json);
        if ('listOf' in row.answer) hasRows ||= listOf(answer).length > 0;
        // The example values of the parameters of the beacon operations describe a variant that the dataset contains.
        if (query.includes('referenceBases=')) expect(answer.json).toHaveProperty('responseSummary.exists', true); // prettier-ignore
        if (query.includes('coordinate=')) expect(answer.json).toHaveProperty('exist', true);
      }
      if ('listOf' in row.answer) expect([row.id, hasRows]).toEqual([row.id, !emptyLists.includes(row.id)]); // prettier-ignore
    },
  );

  test.each(operationsWithBody.map((row) => [row.id, row] as const))(
    '%s: its request example works and has the answer that its example shows',
    async (id, row) => {
      const { example } = row.body as NamedSchema;
      const code = liveValues[`${id} code`];
      const body = { ...(withLiveIds(example) as object), ...(code && { code }) };
      const address = `${liveAddressOf(row)}?${liveQueriesOf(row).at(-1)}`;
      const answer = await ann.call(row.method, address, body);
      expect([id, answer.status, answer.text]).toEqual([id, row.status, answer.text]);
      const json: unknown = JSON.parse(answer.text);
      expectDeclaredAnswer(row, json);
      const shownExample = exampleOfAnswer(row.answer as NamedSchema);
      expect([id, answerShapeOf(json)]).toEqual([id, answerShapeOf(shownExample)]);
    },
  );

  test.each(bodylessOperations.map((row) => [row.id, row] as const))(
    '%s satisfies its schema',
    async (id, row) => {
      const answer = await ann.call(row.method, liveAddressOf(row));
      expect([id, answer.status, answer.text]).toEqual([id, row.status, answer.text]);
      const json: unknown = JSON.parse(answer.text);
      expectDeclaredAnswer(row, json);
      const shownExample = exampleOfAnswer(row.answer as NamedSchema);
      expect([id, answerShapeOf(json)]).toEqual([id, answerShapeOf(shownExample)]);
    },
  );

  test.each(cancelOperations.map((row) => [row.id, row] as const))(
    '%s: what has ended is not canceled, and what waits is, at each of its addresses',
    async (id, row) => {
      const body = { status: 'canceled' };
      const endedJobAnswer = await ann.call(row.method, liveAddressOf(row), body);
      expect([endedJobAnswer.status, Object.keys(endedJobAnswer.json)]).toEqual([400, ['status']]);
      if (id.startsWith('commits.')) {
        // `publish` creates commits, and their tasks, as completed, so no commit can be waiting, and only a request without a status succeeds.
        const answer = await ann.call(row.method, liveAddressOf(row), {});
        expect([answer.status, answer.json['status']]).toEqual([200, 'completed']);
        expectDeclaredAnswer(row, answer.json);
        return;
      }
      const createOperation = operations[id.startsWith('migrations.') ? 'migrations.create' : 'exports.create']!; // prettier-ignore
      for (const path of row.paths) {
        holdsMessages = true;
        const example = withLiveIds((createOperation.body as NamedSchema).example);
        const createdJob = await ann.post(createOperation.paths[0], example);
        const waitingId = id.startsWith('tasks.') ? createdJob.json['task_id'] : idOf(createdJob);
        const answer = await ann.call(row.method, path.replace(':id', String(waitingId)), body);
        holdsMessages = false;
        expect([path, answer.status, answer.json['status']]).toEqual([path, 200, 'canceled']);
        expectDeclaredAnswer(row, answer.json);
      }
    },
  );

  test('a create with the example of each header is carried out once', async () => {
    const createOperation = operations['tokens.create']!;
    const described = new OpenapiDocument(operationRows, schemas).json['paths'] as Described;
    const headers = described[createOperation.paths[0]]!['post']!.parameters.filter((one) => one.in === 'header'); // prettier-ignore
    expect(headers.map(({ name }) => name)).toEqual(['Idempotency-Key']);
    const examples = Object.fromEntries(headers.map(({ name, example }) => [name, example]));
    const body = (createOperation.body as NamedSchema).example;
    const create = () => ann.call('POST', createOperation.paths[0], body, examples);
    expect(idOf(await create())).toBe(idOf(await create()));
  });

  test('every operation that answers JSON is carried out by one of these tests', () => {
    const testedOperations = new Set([
      ...readOperations,
      ...operationsWithBody,
      ...bodylessOperations,
      ...cancelOperations,
      ...deleteOperations,
    ]);
    expect(jsonOperations.filter((row) => !testedOperations.has(row))).toEqual([]);
  });

  test.each(deleteOperations.map((row) => [row.id, row] as const))(
    '%s satisfies its schema',
    async (_, row) => {
      const name = row.id.split('.')[0]!;
      const createOperation = operations[`${name}.create`];
      let path = liveAddressOf(row);
      if (createOperation !== undefined && name !== 'exports') {
        const body = withLiveIds((createOperation.body as NamedSchema).example) as object;
        // The created resource must be deletable and must not clash with an existing name: a field of a dataset with records cannot be
        // deleted.
        const uniqueBody = {
          ...body,
          ...(name === 'fields' && { dataset_id: emptyDatasetId }),
          ...(['fields', 'vaults', 'groups'].includes(name) && { name: 'other' }),
          ...(name === 'users' && { email: 'leaver@acme.org' }),
        };
        const answer = await ann.call('POST', createOperation.paths[0], uniqueBody);
        path = row.paths[0].replace(':id', String(idOf(answer)));
      }
      const answer = await ann.delete(path);
      expect([row.id, answer.status, answer.text]).toEqual([row.id, 200, answer.text]);
      expectDeclaredAnswer(row, answer.json);
    },
  );
});

/** Returns the keys of an answer; those of each element if the answer is a list, and null for another value. */
function answerShapeOf(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(answerShapeOf);
  if (typeof json !== 'object' || json === null) return null;
  return Object.keys(json).toSorted();
}
