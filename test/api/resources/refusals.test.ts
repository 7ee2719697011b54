import { beforeAll, expect, test } from '@jest/globals';
import { createUrlSigner } from '../../../api/http/signed-url.js';
import { withChangedBudgets } from '../../with-budgets.js';
import { startServerFixture } from '../server-fixture.js';
import { expectRequestCase, readCaseLines } from '../request-cases.js';
import { clientFor, grantPermission, idOf, listOf, waitForJob, type Client } from '../server.js';

/* Tests the refusals of the operations, each with its status and its text. */

const { server, ann, vaultId, newDataset, newFile } = await startServerFixture({
  limits: { multipartBytes: 100, partBytes: 60 },
});
let clientsByName: Readonly<Record<string, Client>>;
let valuesByName: Readonly<Record<string, unknown>>;

beforeAll(async () => {
  const [bob, boss, stranger] = [
    await server.user('bob'),
    await server.user('boss', { role: 'admin' }),
    await server.user('stranger', { domain: 'other' }),
  ];
  const { secret } = await server.catalog.tokens.create({ userId: ann.user.id, scope: 'read' }, server.key); // prettier-ignore
  clientsByName = {
    ann,
    bob,
    boss,
    stranger,
    readonly: clientFor(server.url, ann.user, secret),
    nobody: clientFor(server.url, ann.user, ''),
    strict: { ...ann, call: (method, path, body) => ann.call(method, path, body, { prefer: 'handling=strict' }) },
  }; // prettier-ignore
  await grantPermission(server, vaultId, bob, 'read');
  await ann.put('/v1/user/password', { password: 'a long phrase of her own' });
  const create = async (path: string, body: object, client = ann): Promise<number> =>
    idOf(await client.post(path, body));
  const createInVault = (body: object): Promise<number> => create('/v2/objects', { vault_id: vaultId, ...body }); // prettier-ignore
  const [D, D2] = [await newDataset(), await newDataset()];
  const records = [{ gene: 'TP53', n: 1 }];
  const target_fields = [{ name: 'gene', entity_type: 'gene' }];
  const I = await create('/v2/dataset_imports', { dataset_id: D, records, target_fields });
  await ann.post('/v2/dataset_imports', { dataset_id: D2, records });
  const T = await newFile('table.csv', 'gene\nTP53\n');
  const P = await create('/v2/dataset_exports', { dataset_id: D, format: 'json' });
  await waitForJob(ann, `/v2/dataset_exports/${P}`);
  const partsFile =
    await ann.post('/v2/objects', { vault_id: vaultId, object_type: 'file', filename: 'parts', size: 100 }); // prettier-ignore
  const BS = await create('/v2/beacon_sets', { title: 'Set', is_shared: true });
  const target = { object_type: 'file', id: T };
  const APP = await create('/v2/applications', { name: 'App', redirect_uris: 'https://a.org/' });
  const invite = async (body: object) => (await boss.post('/v1/invitations', body)).json;
  const revokedInvitation = await invite({});
  await boss.delete(`/v1/invitations/${String(revokedInvitation['id'])}`);
  const [personalVault] = listOf(await ann.get('/v2/vaults?vault_type=personal'));
  const [field] = listOf(await ann.get(`/v2/datasets/${D}/fields?name=gene`));
  const [commitField] = listOf(await ann.get(`/v2/datasets/${D}/fields?name=_commit`));
  const [commit] = listOf(await ann.get(`/v2/datasets/${D}/commits`));
  const owner = await server.catalog.users.byEmail('owner@acme.org');
  const F = await createInVault({ object_type: 'folder', filename: 'folder' });
  await server.catalog.globalBeacons.enable(D, ann.user.id);
  const job = {
    datasetId: D,
    userId: ann.user.id,
    accountId: ann.user.accountId,
    format: 'json',
    params: {},
  };
  const { row: canceledExport } = await server.catalog.exports.create(
    job as Parameters<typeof server.catalog.exports.create>[0],
  );
  await server.catalog.tasks.cancel(canceledExport.taskId!);
  const OLDEXPORT = await create('/v2/dataset_exports', { dataset_id: D, format: 'json' });
  await waitForJob(ann, `/v2/dataset_exports/${OLDEXPORT}`);
  await server.catalog.exports.update(OLDEXPORT, { provenance: null }); // as an export of an early release is stored
  const signUrl = (method: 'GET' | 'PUT', path: string): string =>
    createUrlSigner(server.key).sign(method, `${path}user=${ann.user.id}`, Date.now() + 3_600_000);
  valuesByName = {
    FOLDERUPLOAD: signUrl('PUT', `/v2/uploads/${F}/1?`),
    PARTUPLOAD: signUrl('PUT', `/v2/uploads/${idOf(partsFile)}/parts/9?version=1&`),
    CANCELED: canceledExport.id,
    CANCELEDURL: signUrl(
      'GET',
      `/v2/downloads/exports/${canceledExport.id}?response-content-disposition=f&`,
    ),
    OLDEXPORT,
    V: vaultId,
    PERSONAL: personalVault!['id'],
    D,
    D2,
    I,
    T,
    P,
    FIELD: field!['id'],
    COMMITFIELD: commitField!['id'],
    C: commit!['id'],
    F,
    E: await createInVault({ object_type: 'file', filename: 'empty.csv' }),
    S: await createInVault({ object_type: 'shortcut', filename: 'shortcut', target }),
    M: idOf(partsFile),
    U: partsFile.json['upload_id'],
    Q: await create('/v2/saved_queries', { name: 'query', is_shared: true }),
    TPL: await create('/v2/dataset_templates', { name: 'template' }),
    BS,
    B: await create('/v2/beacons', { beacon_set_id: BS, title: 'Beacon', vault_object_id: D }),
    G: await create('/v1/groups', { name: 'Readers' }, boss),
    APP,
    SECRET: (await ann.get(`/v2/applications/${APP}/secret`)).json['client_secret'],
    REVOKED: revokedInvitation['id'],
    CODE: (await invite({}))['code'],
    BOUND: (await invite({ email: 'eve@acme.org' }))['code'],
    ANN: ann.user.id,
    BOB: bob.user.id,
    BOSS: boss.user.id,
    OWNER: owner!.id,
  };
});

test.each([
  [{ batchQueries: 1 }, 'POST /v2/batch_query {"queries": [{}, {}]} ==> 400 {"queries":["A batch takes at most 1 queries, not 2: split them over several requests."]}'],
  [{ manifestFiles: 1 }, 'POST /v2/dataset_imports {"dataset_id": $D, "manifest": {"files": [{"object_id": $T}, {"object_id": $T}]}} ==> 400 {"manifest":["A manifest takes at most 1 files, not 2: split them over several imports."]}'],
  [{ jsonBodyBytes: 10 }, 'GET /v2/objects?vault_id=$V ==> 400 {"detail":"The objects inherit more metadata than the 10 bytes that an answer may have: lower the limit."}'],
  [{ facetTerms: 1 }, 'POST /v2/search {"facets": {"type": {"limit": 0}}} ==> 400 {"facets":["The facet of type has too many terms: all facets of an answer may have 1 at most; set the limit of the facet, or narrow the query with filters."]}'],
  [{ facetTerms: 1 }, 'POST /v2/search {"facets": {"type": {"limit": 1}, "vault": {"limit": 1}}} ==> 400 {"facets":["The facet of vault has too many terms: all facets of an answer may have 1 at most; set the limit of the facet, or narrow the query with filters."]}'],
])('with the budget %j: %s', (budget, line) =>
  withChangedBudgets(budget, () => expectRequestCase(line, clientsByName, valuesByName)),
); // prettier-ignore

test('annotation takes so many records and fields at most', async () => {
  const listOfLength = (length: number) => Array.from({ length }, () => ({ name: 'a' }));
  for (const [body, expectedBody] of [
    [{ records: listOfLength(501) }, { records: ['A request takes at most 500 records, not 501: annotate them in several requests.'] }],
    [{ records: [], fields: listOfLength(1001) }, { fields: ['A request takes at most 1000 fields, not 1001.'] }],
  ] as const) {
    const { status, json } = await ann.post('/v1/annotate', body);
    expect([status, json]).toEqual([400, expectedBody]);
  }
}); // prettier-ignore

test.each(readCaseLines('test/api/resources/refusals.txt'))('%s', (line) =>
  expectRequestCase(line, clientsByName, valuesByName),
);
