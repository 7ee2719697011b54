import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { hostileTexts } from '../../engine/query/hostile.js';
import { bodiesWithText } from '../../engine/search/places.js';
import { grantPermission, idOf, listOf, startServer, waitForJob, type Answer, type Client, type TestServer } from '../server.js'; // prettier-ignore

let server: TestServer;
let ann: Client;
let bob: Client;
let dee: Client;
let vaultId: number;
let runsFolderId: number;
let datasetId: number;
let secretVaultId: number;
/** A word that occurs only in data that bob must not see (threat A3). */
const secretWord = 'zyzzyva';

type SearchResult = Readonly<Record<string, unknown>>;

beforeAll(async () => {
  server = await startServer();
  ann = await server.user('ann');
  bob = await server.user('bob');
  dee = await server.user('dee', { domain: 'other' });
  vaultId = idOf(await ann.post('/v2/vaults', { name: 'Lab', tags: ['fuji'] }));
  const postObject = (body: object): Promise<Answer> => ann.post('/v2/objects', { vault_id: vaultId, ...body }); // prettier-ignore
  runsFolderId = idOf(await postObject({ object_type: 'folder', filename: 'runs' }));
  datasetId = idOf(
    await postObject({
      object_type: 'dataset',
      filename: 'Variants-GRCH37',
      parent_object_id: runsFolderId,
      tags: ['fuji', 'public data'],
      storage_class: 'Standard',
    }),
  );
  await postObject({ object_type: 'file', filename: 'reads of run.vcf', parent_object_id: runsFolderId, description: 'a test of a file' }); // prettier-ignore
  await grantPermission(server, vaultId, bob, 'read');
  secretVaultId = idOf(await ann.post('/v2/vaults', { name: secretWord, tags: [secretWord], description: secretWord })); // prettier-ignore
  await ann.post('/v2/objects', { vault_id: secretVaultId, object_type: 'folder', filename: secretWord, tags: [secretWord] }); // prettier-ignore
  await ann.post('/v2/objects', {
    vault_id: secretVaultId,
    object_type: 'folder',
    filename: 'runs',
  });
});
afterAll(() => server.close());

async function searchObjects(client: Client, body: object = {}): Promise<SearchResult> {
  const answer = await client.post('/v2/search', body);
  expect([answer.status, answer.text]).toEqual([200, expect.anything()]);
  return answer.json;
}

async function searchPaths(client: Client, body: object): Promise<readonly unknown[]> {
  return ((await searchObjects(client, body)).results as readonly SearchResult[]).map(
    (one) => one.full_path,
  );
}

test('a result has the keys that clients read, and a page says where the next one begins (contract 8.7)', async () => {
  const answer = await searchObjects(bob, { filters: [['type', 'dataset']] });
  expect(answer).toEqual({
    took: expect.any(Number),
    total: 1,
    offset: null,
    subjects_count: 0,
    results: [
      {
        _id: `dataset-${datasetId}`,
        id: datasetId,
        type: 'dataset',
        name: 'Variants-GRCH37',
        full_path: 'acme:Lab:/runs/Variants-GRCH37',
        path: 'acme:Lab:/runs/Variants-GRCH37',
        parent: 'runs',
        parent_id: runsFolderId,
        vault: 'Lab',
        vault_id: vaultId,
        user: 'ann',
        tags: ['fuji', 'public data'],
        storage_class: 'Standard',
        description: 'Variants-GRCH37',
        created_at: expect.stringMatching(/^\d{4}-.*Z$/),
        updated_at: expect.stringMatching(/^\d{4}-.*Z$/),
        indexed_at: expect.stringMatching(/^\d{4}-.*Z$/),
      },
    ],
  });
  const allDocuments = await searchObjects(bob);
  expect([allDocuments.total, allDocuments.offset]).toEqual([5, null]);
  const pagedResults = [];
  for (let offset: unknown = 0; offset !== null;) {
    const page = await searchObjects(bob, { limit: 2, offset });
    pagedResults.push(...(page.results as readonly SearchResult[]));
    offset = page.offset;
  }
  expect(pagedResults).toEqual(allDocuments.results);
});

test('what the Python client sends works (GlobalSearch)', async () => {
  const today = new Date().toISOString().slice(0, 10);
  const cases: readonly (readonly [object, readonly string[]])[] = [
    [{ filters: [['type__in', ['vault']]], query: 'Lab' }, ['acme:Lab']],
    [{ filters: [['path__prefix', 'acme:Lab:/runs']] }, ['acme:Lab:/runs', 'acme:Lab:/runs/Variants-GRCH37', 'acme:Lab:/runs/reads of run.vcf']],
    [{ filters: [{ and: [['path__prefix', 'acme:Lab:/runs'], ['type__in', ['folder']]] }] }, ['acme:Lab:/runs']],
    [{ filters: [{ and: [['type', 'dataset'], ['user', 'Ann']] }] }, ['acme:Lab:/runs/Variants-GRCH37']],
    [{ filters: [['created_at__range', [today, '2999-01-01']], ['vault', 'lab'], ['type', 'file']] }, ['acme:Lab:/runs/reads of run.vcf']],
    [{ filters: [['created_at__range', ['1999-01-01', '2000-01-01']]] }, []],
    [{ query: 'fuji', filters: [['type', 'vault']], debug: 'True', offset: 0, limit: 1000 }, ['acme:Lab']],
    [{ query: 'test', offset: 0 }, ['acme:Lab:/runs/reads of run.vcf']],
    [{ query: 'runs AND reads', ordering: null, entities: null, filters: [] }, ['acme:Lab:/runs/reads of run.vcf']],
    [{ query: 'tags:"public data"' }, ['acme:Lab:/runs/Variants-GRCH37']],
    [{ filters: [['id__in', [String(datasetId)]]], fields: ['full_path', 'type'] }, ['acme:Lab:/runs/Variants-GRCH37']],
    [{ filters: [['parent_id', runsFolderId]], ordering: ['-name'] }, ['acme:Lab:/runs/reads of run.vcf', 'acme:Lab:/runs/Variants-GRCH37']],
    [{ filters: [['name__regexp', '.*GRCH3[78]']] }, ['acme:Lab:/runs/Variants-GRCH37']],
    [{ query: 'full_path:*GRCH3?' }, ['acme:Lab:/runs/Variants-GRCH37']],
  ]; // prettier-ignore
  for (const [body, paths] of cases) expect([body, await searchPaths(bob, body)]).toEqual([body, paths]); // prettier-ignore
  const facetRequests = { type: {}, tags: { limit: 1 }, id: { facet_type: 'count' } };
  const facetedResult = await searchObjects(bob, {
    limit: 0,
    facets: facetRequests,
    include_vaults: true,
  });
  expect(facetedResult).toMatchObject({
    results: [],
    offset: null,
    facets: {
      type: [
        ['vault', 2],
        ['dataset', 1],
        ['file', 1],
        ['folder', 1],
      ],
      tags: [['fuji', 2]],
      id: 5,
    },
    vaults: [
      { full_path: `acme:user-${bob.user.id}`, count: 1 },
      { id: vaultId, name: 'Lab', full_path: 'acme:Lab', count: 4 },
    ],
  });
});

test('what fits better comes first, and equals come in one order', async () => {
  const ranksVaultId = idOf(await dee.post('/v2/vaults', { name: 'Ranks' }));
  for (const filename of ['apple and much else that is not asked for', 'pear apple', 'apple', 'pear', 'apple apple']) {
    await dee.post('/v2/objects', { vault_id: ranksVaultId, object_type: 'folder', filename });
  } // prettier-ignore
  const foundPaths = await searchPaths(dee, { query: 'apple pear' });
  expect(foundPaths.map((path) => String(path).split('/')[1])).toEqual([
    'pear apple',
    'apple apple',
    'pear',
    'apple',
    'apple and much else that is not asked for',
  ]);
  for (let i = 0; i < 3; i++)
    expect(await searchPaths(dee, { query: 'apple pear' })).toEqual(foundPaths);
});

describe('nothing of what the caller may not read is found (A2, A3)', () => {
  test('not by any word, filter, facet or count', async () => {
    const bodies = [
      {},
      { query: secretWord },
      { query: `${secretWord}*` },
      { query: `NOT ${secretWord}` },
      { filters: [['vault', secretWord]] },
      { filters: [['vault_id', secretVaultId]] },
      { filters: [['path__prefix', `acme:${secretWord}`]] },
      { filters: [{ not: ['name', 'x'] }], vault_scope: 'any' },
      { vault_scope: 'access', filters: [['tags', secretWord]] },
      { limit: 0, facets: { vault: { limit: 0 }, tags: { limit: 0 }, full_path: { limit: 0 }, name: { limit: 0, facets: { vault: {} } } } },
      { include_vaults: true, ordering: ['vault'] },
    ]; // prettier-ignore
    for (const body of bodies) {
      const { text } = await bob.post('/v2/search', body);
      expect([body, text.includes(secretWord), text.includes(`"vault_id":${secretVaultId},`)]).toEqual([body, false, false]); // prettier-ignore
    }
    expect(await searchObjects(bob, { query: secretWord })).toMatchObject({
      total: 0,
      results: [],
    });
    expect(await searchObjects(bob, { query: 'runs', limit: 0 })).toMatchObject({ total: 3 });
    expect(await searchObjects(ann, { query: secretWord })).toMatchObject({ total: 3 });
  });

  test('a right counts from the moment it is given, and no longer than it is held', async () => {
    await grantPermission(server, secretVaultId, bob, 'read');
    expect(await searchObjects(bob, { query: secretWord })).toMatchObject({ total: 3 });
    await server.catalog.vaultPermissions.grant(secretVaultId, { userId: bob.user.id }, null);
    expect(await searchObjects(bob, { query: secretWord })).toMatchObject({ total: 0 });
  });

  test('public vaults are found by all, unless own ones are asked for', async () => {
    const { id } = await server.catalog.vaults.create({ accountId: ann.user.accountId, userId: ann.user.id, name: 'Commons', isPublic: true }); // prettier-ignore
    const body = { filters: [['vault_id', id]] };
    for (const client of [bob, dee]) {
      expect(await searchPaths(client, body)).toEqual(['acme:Commons']);
      expect(await searchPaths(client, { ...body, vault_scope: 'any' })).toEqual(['acme:Commons']);
      expect(await searchPaths(client, { ...body, vault_scope: 'access' })).toEqual([]);
    }
    expect(await searchPaths(ann, { ...body, vault_scope: 'access' })).toEqual(['acme:Commons']);
    await server.catalog.vaults.delete(id);
    expect(await searchPaths(bob, body)).toEqual([]);
  });
});

test('changes show at once', async () => {
  for (let i = 0; i < 10; i++) {
    const name = `Quick ${i}`;
    const id = idOf(await dee.post('/v2/vaults', { name }));
    expect(await searchPaths(dee, { filters: [['name', name]] })).toEqual([`other:${name}`]);
    const folderId = idOf(await dee.post('/v2/objects', { vault_id: id, object_type: 'folder', filename: 'f' })); // prettier-ignore
    await dee.post('/v2/objects', { vault_id: id, object_type: 'folder', filename: 'g', parent_object_id: folderId }); // prettier-ignore
    expect(await searchPaths(dee, { query: `vault:"${name}" AND name:g` })).toEqual([`other:${name}:/f/g`]); // prettier-ignore
    await dee.patch(`/v2/objects/${folderId}`, { filename: 'renamed', tags: ['new'] });
    expect(await searchPaths(dee, { query: `renamed AND name:g AND vault:"${name}"` })).toEqual([`other:${name}:/renamed/g`]); // prettier-ignore
    expect(await searchObjects(dee, { filters: [['tags', 'new']], limit: 0 })).toMatchObject({
      total: 1,
    });
    await dee.delete(`/v2/vaults/${id}`);
    expect(await searchObjects(dee, { filters: [['vault_id', id]] })).toMatchObject({ total: 0 });
  }
});

describe('entities are looked for in datasets with a global beacon (contract 14.4)', () => {
  let ids: number[];
  const names = ['One', 'Two', 'Plain', 'Hidden', 'Off'];
  const recordsByDataset: readonly (readonly object[])[] = [
    [{ gene: 'BRCA2', sample: 'S1' }, { gene: 'BRCA2', sample: 'S1' }, { gene: 'TP53', sample: 'S2' }],
    [{ gene: 'brca2', sample: 'S3' }, { gene: 'KRAS', sample: 'S1' }],
    [{ word: 'BRCA2' }],
    [{ gene: 'BRCA2', sample: 'zyzzyva' }],
    [{ gene: 'BRCA2', sample: 'S9' }],
  ]; // prettier-ignore

  beforeAll(async () => {
    const vaultIds = [vaultId, vaultId, vaultId, secretVaultId, vaultId];
    ids = [];
    for (const [i, filename] of names.entries()) {
      const object = {
        vault_id: vaultIds[i],
        object_type: 'dataset',
        filename,
        tags: ['entities'],
      };
      const id = idOf(await ann.post('/v2/objects', object));
      ids.push(id);
      for (const name of Object.keys(recordsByDataset[i]![0]!)) {
        const entity = name === 'word' ? {} : { entity_type: name };
        await ann.post('/v2/dataset_fields', { dataset_id: id, name, data_type: 'string', ...entity }); // prettier-ignore
      }
      const importAnswer = await ann.post('/v2/dataset_imports', {
        dataset_id: id,
        records: recordsByDataset[i],
      });
      await waitForJob(ann, `/v2/dataset_imports/${idOf(importAnswer)}`);
      if (filename !== 'Off') expect((await ann.post(`/v2/objects/${id}/beacon`)).status).toBe(200);
    }
  });

  async function namesOf(client: Client, body: object): Promise<readonly unknown[]> {
    return ((await searchObjects(client, body)).results as readonly SearchResult[]).map(
      ({ name }) => name,
    );
  }

  test('any or all of them, with the other parts of a search', async () => {
    const cases: readonly (readonly [object, readonly string[]])[] = [
      [{ entities: [['gene', 'BRCA2']] }, ['One', 'Two']],
      [{ entities: ['gene', 'BRCA2'] }, ['One', 'Two']],
      [{ entities: [['gene', 'FANCD1']] }, ['One', 'Two']], // an alias of a gene
      [{ entities: [['gene', 'KRAS'], ['gene', 'TP53']] }, ['One', 'Two']],
      [{ entities: [['gene', 'BRCA2'], ['gene', 'TP53']], entities_match: 'all' }, ['One']],
      [{ entities: [['gene', ['KRAS', 'TP53']], ['sample', 'S3']], entities_match: 'all' }, ['Two']],
      [{ entities: [['sample', 'S1']], vault_scope: 'any' }, ['One', 'Two']],
      [{ entities: [['variant', 'GRCH38-7-140753336-140753336-T']] }, []],
      [{ entities: [['variant', 'GRCH38-7-140753336-140753336-T'], ['gene', 'TP53']] }, ['One']],
      [{ entities: [['gene', 'BRCA2']], query: 'two' }, ['Two']],
      [{ entities: [['gene', 'BRCA2']], filters: [['type', 'folder']] }, []],
      [{ entities: [['gene', 'BRCA2']], ordering: ['-name'], limit: 1 }, ['Two']],
    ]; // prettier-ignore
    for (const [body, expected] of cases) expect([body, await namesOf(bob, body)]).toEqual([body, expected]); // prettier-ignore
    expect(await namesOf(ann, { entities: [['gene', 'BRCA2']] })).toEqual(['One', 'Two', 'Hidden']);
    expect(await namesOf(dee, { entities: [['gene', 'BRCA2']] })).toEqual([]);
  });

  test('places, variants, rs ids and genes in every notation', async () => {
    const variants = [
      ['Old', { variant: 'GRCH37-13-32890598-32890599-A', row_id: 'rs80359550', genomic_coordinates: { build: 'GRCh37', chromosome: '13', start: 32890598, stop: 32890599 } }],
      ['New', { variant: 'GRCH38-13-32316461-32316461-G', gene: 'ERBB2', genomic_coordinates: { build: 'GRCh38', chromosome: '13', start: 32316461, stop: 32316461 } }],
      ['Newest', { variant: 'T2T-CHM13-13-31533000-31533000-G', row_id: 'rs1;rs42', genomic_coordinates: { build: 'T2T-CHM13', chromosome: '13', start: 31533000, stop: 31533000 } }],
    ] as const;
    for (const [filename, record] of variants) {
      const object = { vault_id: vaultId, object_type: 'dataset', filename, tags: ['notations'] };
      const id = idOf(await ann.post('/v2/objects', object));
      const createdImport = await ann.post('/v2/dataset_imports', { dataset_id: id, records: [record] });
      await waitForJob(ann, `/v2/dataset_imports/${idOf(createdImport)}`);
      expect((await ann.post(`/v2/objects/${id}/beacon`)).status).toBe(200);
    }
    const filters = [['tags', 'notations']];
    for (const [type, value, expected] of [
      ['genomic_region', '13:31000000-33000000', ['Old', 'New', 'Newest']],
      ['genomic_region', 'chr13:32,316,000-32,317,000', ['New']],
      ['genomic_region', 'GRCh37:13:31000000-33000000', ['Old']],
      ['gene', 'hs1:13:31000000-33000000', ['Newest']],
      ['genomic_region', { chromosome: 'chr13', start: 32316461, stop: 32316461 }, ['New']],
      ['variant', '13-32890598-AT-A', ['Old']],
      ['variant', 'hg38-13-32890598-AT-A', []],
      ['variant', ['13:32316461:A:G', 'chm13-13-31533000-A-G'], ['New', 'Newest']],
      ['variant', 'rs80359550', ['Old']],
      ['genomic_region', 'rs42', ['Newest']],
      ['genomic_region', 'HER2', ['New']],
      ['variant', 'ERBB2', ['New']],
    ] as const)
      expect([value, await namesOf(ann, { entities: [[type, value]], filters })]).toEqual([value, expected]);
    // An invalid entity, such as a region of an unknown build, is an error, and not an empty result.
    for (const [type, value, message] of [
      ['genomic_region', 'hg18:13:1-100', 'Expected the build GRCh37, GRCh38 or T2T-CHM13, not "hg18".'],
      ['variant', 'GRCh36-13-5-A-G', 'Expected the build GRCh37, GRCh38 or T2T-CHM13, not "GRCh36".'],
      ['genomic_region', '13:200-100', 'A region stops behind its start, but 200 comes before 100'],
      ['genomic_region', 'somewhere', 'Expected a region like'],
      ['genomic_region', { chromosome: '13', start: 1 }, 'A region needs chromosome, start and stop'],
      ['gene', '', 'Expected a name'],
    ] as const) {
      const { status, json } = await ann.post('/v2/search', { entities: [['gene', 'TP53'], [type, value]] });
      expect([value, status, json]).toEqual([value, 400, { entities: [expect.stringContaining(message)] }]);
      expect(String((json['entities'] as string[])[0])).toContain('entities[1]');
    }
  }); // prettier-ignore

  test('subjects are the samples of the records found, counted and told on request', async () => {
    const entities = [['gene', 'BRCA2']];
    const entityAnswer = await searchObjects(bob, { entities, include_subjects: true, limit: 0 });
    const subjectOf = (name: string, i: number): object => ({ subject: name, access: true, dataset_id: ids[i], dataset_path: `acme:Lab:/${names[i]}` }); // prettier-ignore
    expect(entityAnswer).toMatchObject({
      total: 2, subjects: [subjectOf('S1', 0), subjectOf('S3', 1)], subjects_count: 2,
    }); // prettier-ignore
    expect((await bob.post('/v2/search', { entities, include_all_subjects: true })).text).not.toContain(secretWord); // prettier-ignore
    expect(await searchObjects(ann, { entities, include_subjects: true })).toMatchObject({
      subjects_count: 3,
    });
    expect(Object.keys(await searchObjects(bob, { include_subjects: true }))).not.toContain(
      'subjects',
    );
    const bothEntities = {
      entities: [
        ['gene', 'TP53'],
        ['gene', 'KRAS'],
      ],
      include_subjects: true,
    };
    expect(await searchObjects(bob, bothEntities)).toMatchObject({
      subjects: [subjectOf('S2', 0), subjectOf('S1', 1)],
    });
  });

  test('a beacon is enabled, shown and disabled', async () => {
    const path = `/v2/objects/${ids[4]}/beacon`;
    const noneAnswer = await bob.get(path);
    expect([noneAnswer.status, noneAnswer.json]).toEqual([
      404,
      { detail: `No Global Beacon for Dataset:${ids[4]}` },
    ]);
    expect((await bob.post(path)).status).toBe(403);
    expect((await dee.get(path)).json).toEqual({ detail: 'Not found' });
    expect((await ann.post(`/v2/objects/${runsFolderId}/beacon`)).status).toBe(404);
    const enabledBeacon = (await ann.post(path)).json;
    expect(enabledBeacon).toEqual({ id: expect.any(Number), datastore_id: 1, dataset_id: ids[4], granularity: 'none', status: 'completed', progress_percent: 100, is_deleted: false }); // prettier-ignore
    expect((await ann.post(path)).json).toEqual(enabledBeacon);
    expect((await bob.get(path)).json).toEqual(enabledBeacon);
    expect((await bob.get(`/v2/objects/${ids[4]}`)).json['global_beacon']).toEqual(enabledBeacon);
    expect((await bob.get(`/v2/objects/${runsFolderId}`)).json['global_beacon']).toBe(null);
    expect(await namesOf(bob, { entities: [['sample', 's9']] })).toEqual(['Off']);
    const disableAnswer = await ann.delete(path);
    expect(disableAnswer.json).toEqual({
      ...enabledBeacon,
      status: 'destroying',
      is_deleted: true,
    });
    expect((await ann.delete(path)).status).toBe(404);
    expect(await namesOf(bob, { entities: [['sample', 's9']] })).toEqual([]);
    await ann.post(path);
    await ann.delete(`/v2/objects/${ids[4]}`);
    expect(await namesOf(ann, { entities: [['sample', 's9']] })).toEqual([]);
  });

  test('what is no entity is named', async () => {
    const badEntities = ['x', [['bogus', 'x']], [['gene']], [['gene', '']], [['gene', []]], { gene: 'x' }, [['gene', null]]]; // prettier-ignore
    for (const entities of badEntities) {
      const { status, json } = await bob.post('/v2/search', { entities });
      expect([entities, status, Object.keys(json)]).toEqual([entities, 400, ['entities']]);
    }
    const { json } = await bob.post('/v2/search', { entities_match: 'some' });
    expect(String(json['entities_match'])).toMatch(/any or all/);
  });
});

describe('bad requests are named', () => {
  const cases: readonly (readonly [unknown, string, RegExp])[] = [
    [{ filters: [['bogus', 1]] }, 'filters', /Unknown field: bogus/],
    [{ filters: [['_commit', 'x']] }, 'filters', /Unknown field: _commit/],
    [{ filters: [['name__near', 1]] }, 'filters', /Unknown action: near/],
    [{ filters: [['name__gt', 'a']] }, 'filters', /does not apply/],
    [{ filters: [['name__regexp', '(?=a)']] }, 'filters', /regular expression/],
    [{ filters: [['created_at', 'soon']] }, 'filters', /Expected a date/],
    [{ query: '(a' }, 'query', /./],
    [{ ordering: ['description'] }, 'ordering', /Cannot order by/],
    [{ ordering: ['bogus'] }, 'ordering', /Unknown field/],
    [{ facets: { description: {} } }, 'facets', /no facets/],
    [{ facets: ['_id'] }, 'facets', /_id/],
    [{ limit: -1 }, 'limit', /whole number/],
    [{ limit: 10_001 }, 'limit', /at most 10000, not 10001/],
    [{ offset: 'x' }, 'offset', /whole number/],
    [{ vault_scope: 'mine' }, 'vault_scope', /all, any or access/],
    [{ include_vaults: 'maybe' }, 'include_vaults', /true or false/],
    [[], 'non_field_errors', /object/],
  ];
  test.each(cases)('%j', async (body, key, message) => {
    const { status, json } = await bob.post('/v2/search', body);
    expect([status, Object.keys(json), String(json[key])]).toEqual([400, [key], expect.stringMatching(message)]); // prettier-ignore
  });

  test('nobody searches without credentials', async () => {
    const { status } = await bob.call('POST', '/v2/search', {}, { authorization: 'Bearer no' });
    expect(status).toBe(401);
  });
});

test('hostile texts are values or mistakes, in every place (Q1, Q2)', async () => {
  const objectsBefore = (await ann.get('/v2/objects?limit=1000')).text;
  // Each text is tested in one part of a search; test/engine/search tests each text in all parts.
  for (const [i, text] of hostileTexts.entries()) {
    const { status } = await bob.post(
      '/v2/search',
      bodiesWithText[i % bodiesWithText.length]!(text),
    );
    expect([text.slice(0, 40), [200, 400].includes(status)]).toEqual([text.slice(0, 40), true]);
  }
  expect((await ann.get('/v2/objects?limit=1000')).text).toBe(objectsBefore);
  expect(Object.keys(Object.prototype)).toEqual([]);
});

test('patterns that explode elsewhere end (Q3)', async () => {
  const filename = `${'a'.repeat(900)}b`;
  const heavyVaultId = idOf(await dee.post('/v2/vaults', { name: 'Heavy' }));
  await dee.post('/v2/objects', { vault_id: heavyVaultId, object_type: 'folder', filename });
  const patterns = ['(a+)+$', '(a|a)*b', '(a*)*c', '.*'.repeat(30), '(a|aa)+', '(.*a){20}'];
  for (const pattern of patterns) {
    const answer = await searchObjects(dee, { filters: [['name__regexp', pattern]] });
    expect([pattern, (answer.total as number) >= 0]).toEqual([pattern, true]);
  }
  for (const query of [`${'*a'.repeat(20)}`, 'a'.repeat(100) + '*', `name:${'?'.repeat(20)}`]) {
    expect((await dee.post('/v2/search', { query })).status).toBe(200);
  }
});

test('long texts are looked at as far as said, and keep nobody waiting', async () => {
  const longVaultId = idOf(await dee.post('/v2/vaults', { name: 'Long' }));
  const postObject = (body: object): Promise<Answer> =>
    dee.post('/v2/objects', {
      vault_id: longVaultId,
      object_type: 'folder',
      filename: 'long',
      ...body,
    });
  const filler = 'ab '.repeat(700_000);
  await postObject({ description: `first ${filler} last` });
  await postObject({ tags: ['a'.repeat(50_000), 'short'] });
  await postObject({ tags: ['a'.repeat(150_000), 'short'], filename: 'over' });
  const fetchTotal = async (body: object): Promise<unknown> => (await searchObjects(dee, { limit: 0, ...body })).total; // prettier-ignore
  expect(await fetchTotal({ query: 'description:first' })).toBe(1);
  expect(await fetchTotal({ query: 'description:last' })).toBe(0);
  expect(await fetchTotal({ query: 'description:fir*' })).toBe(1);
  expect(await fetchTotal({ filters: [['tags', 'short']] })).toBe(1);
  expect(await fetchTotal({ filters: [['tags__regexp', '(a|aa)+']] })).toBe(0);
  expect(await fetchTotal({ filters: [['tags__prefix', 'aaaa']] })).toBe(1);
  expect(
    await fetchTotal({ query: `description:${'?'.repeat(9)}x tags:${'*a'.repeat(10)}x` }),
  ).toBe(0);
});

test('a search says the same as the lists of vaults and objects', async () => {
  for (const client of [ann, bob, dee]) {
    const vaultPaths = listOf(await client.get('/v2/vaults?limit=1000')).map(
      (one) => one.full_path,
    );
    const objectPaths = listOf(await client.get('/v2/objects?limit=1000')).map(
      (one) => one.full_path,
    );
    const foundPaths = await searchPaths(client, { limit: 1000 });
    expect([...foundPaths].toSorted()).toEqual([...vaultPaths, ...objectPaths].toSorted());
  }
});
