import { beforeAll, describe, expect, test } from '@jest/globals';
import {
  idOf,
  listOf,
  sendRequest,
  startServer,
  waitForJob,
  type Answer,
  type Client,
} from '../../server.js';
import { variantCalls, startBeaconServerFixture } from './beacon-fixture.js';

/* Tests which callers see which parts of a beacon, and that a dataset shows no more than its granularity (threats A2, A3, C12). */

const beaconFixture = await startBeaconServerFixture();
const {
  ann,
  anybody,
  bob,
  fetchFirstRecordId,
  newBeacon,
  server,
  setGranularity,
  stranger,
  vaultId,
} = beaconFixture;
const beaconRoot = '/beacon/v2/acme';

/** A word that occurs only in data that other users must not see. */
const secretWord = 'zyzzyva';
let publicVaultId: number;
/** The ids of the beacons in the public vault, by granularity. */
let publicBeaconIds: Record<'boolean' | 'count' | 'record', number>;
/** The id of the beacon in the private vault. */
let privateBeaconId: number;
beforeAll(async () => {
  publicVaultId = idOf(await ann.post('/v2/vaults', { name: 'Open', is_public: true }));
  const place = { vault_id: publicVaultId };
  privateBeaconId = await newBeacon('record');
  await ann.patch(`/v2/datasets/${privateBeaconId}`, { name: secretWord });
  publicBeaconIds = {
    boolean: await newBeacon('boolean', place),
    count: await newBeacon('count', place),
    record: await newBeacon('record', place),
  };
  await newBeacon(undefined, place);
  await newBeacon('none', place);
});

const variantQuery = 'assemblyId=GRCh38&referenceName=13&start=32316460&alternateBases=T';
function queryVariants(client: Client, more: string, datasetId?: number): Promise<Answer> {
  const datasetPath = datasetId === undefined ? '' : `/datasets/${datasetId}`;
  return client.get(`${beaconRoot}${datasetPath}/g_variants?${variantQuery}&${more}`);
}
function datasetsOf(answer: Answer): readonly string[] {
  const { collections } = answer.json['response'] as { collections: { id: string }[] };
  return collections.map(({ id }) => id);
}
const maskNumbers = (answer: Answer): string => answer.text.replaceAll(/\d+/g, '#');

describe('a beacon has', () => {
  test('the datasets with a granularity that the caller may read', async () => {
    const openIds = [publicBeaconIds.boolean, publicBeaconIds.count, publicBeaconIds.record].map(
      String,
    );
    for (const client of [anybody, bob, stranger])
      expect(datasetsOf(await client.get(`${beaconRoot}/datasets`)).toSorted()).toEqual(
        openIds.toSorted(),
      );
    const ownDatasets = datasetsOf(await ann.get(`${beaconRoot}/datasets`));
    expect(ownDatasets.toSorted()).toEqual([...openIds, String(privateBeaconId)].toSorted());
  });

  test.each(['bob', 'stranger', 'anybody'] as const)('nothing for %s of what they may not read', async (name) => {
    const client = { bob, stranger, anybody }[name];
    const missingId = 100_000_000_999_999;
    for (const path of ['', '/g_variants', '/filtering_terms']) {
      const hiddenAnswer = await client.get(`${beaconRoot}/datasets/${privateBeaconId}${path}`);
      const missingAnswer = await client.get(`${beaconRoot}/datasets/${missingId}${path}`);
      expect([path, hiddenAnswer.status, hiddenAnswer.text]).toEqual([path, 404, missingAnswer.text]);
    }
    const oneAnswer = await client.get(`${beaconRoot}/g_variants/${privateBeaconId}:${await fetchFirstRecordId(privateBeaconId)}`);
    expect([oneAnswer.status, oneAnswer.text]).toEqual([404, (await client.get(`${beaconRoot}/g_variants/${missingId}:x`)).text]);
    for (const datasetId of [privateBeaconId, missingId]) {
      const namedAnswer = await queryVariants(client, `requestedGranularity=record&datasetIds=${datasetId}`);
      expect([namedAnswer.status, namedAnswer.json['responseSummary']]).toEqual([200, { exists: false }]);
      expect(maskNumbers(namedAnswer)).toEqual(maskNumbers(await queryVariants(client, `requestedGranularity=record&datasetIds=${missingId}`)));
    }
    // For a client that may not read a dataset, the answer is the same whether or not the dataset is a beacon.
    const allParams = `includeResultsetResponses=ALL&requestedGranularity=record`;
    const answerBefore = await queryVariants(client, allParams);
    await setGranularity(privateBeaconId, 'none');
    expect((await queryVariants(client, allParams)).text).toBe(answerBefore.text);
    await setGranularity(privateBeaconId, 'record');
    for (const path of ['', '/datasets', '/filtering_terms', '/map', '/configuration', '/g_variants', '/service-info'])
      expect((await client.get(beaconRoot + path)).text).not.toContain(secretWord);
  }); // prettier-ignore

  test('no existence for others while nothing in it is for them', async () => {
    const quietUser = await server.user('lone', { domain: 'quiet' });
    for (const path of ['', '/info', '/service-info', '/map', '/datasets', '/g_variants', '/entry_types', '/configuration', '/filtering_terms']) {
      for (const client of [anybody, ann]) {
        const quietAnswer = await client.get(`/beacon/v2/quiet${path}`);
        const absentAnswer = await client.get(`/beacon/v2/absnt${path}`);
        expect([path, quietAnswer.status, quietAnswer.text]).toEqual([path, 404, absentAnswer.text.replaceAll('absnt', 'quiet')]);
      }
      expect([path, (await quietUser.get(`/beacon/v2/quiet${path}`)).status]).toEqual([path, 200]);
    }
  }); // prettier-ignore

  test('no caller with wrong credentials', async () => {
    for (const method of ['GET', 'POST'] as const) {
      const wrongAnswer = await anybody.call(method, `${beaconRoot}/g_variants`, method === 'POST' ? {} : undefined, { authorization: `Bearer ${'x'.repeat(30)}` }); // prettier-ignore
      expect([method, wrongAnswer.status, wrongAnswer.json['error']]).toEqual([method, 401, { errorCode: 401, errorMessage: expect.stringContaining('not accepted') }]); // prettier-ignore
    }
    expect((await anybody.post(`${beaconRoot}/g_variants`, {})).status).toBe(200);
    const longBody = { filters: ['x'.repeat(70_000)] };
    expect((await anybody.post(`${beaconRoot}/g_variants`, { query: longBody })).status).toBe(413);
    expect((await ann.post(`${beaconRoot}/g_variants`, { query: longBody })).status).toBe(400);
  });
});

test('without credentials, requests are limited by their address (W4)', async () => {
  const limitedServer = await startServer({ rateLimit: 3 });
  try {
    const statuses: number[] = [];
    for (let i = 0; i < 4; i++)
      statuses.push(
        (await sendRequest(limitedServer.url, 'POST', `${beaconRoot}/g_variants`, {})).status,
      );
    expect(statuses).toEqual([404, 404, 404, 429]);
    const refusedAnswer = await sendRequest(limitedServer.url, 'GET', `${beaconRoot}/info`);
    expect(refusedAnswer.json['error']).toEqual({ errorCode: 429, errorMessage: 'Request was throttled.' }); // prettier-ignore
  } finally {
    await limitedServer.close();
  }
});

describe('the setting of a dataset', () => {
  const total = variantCalls.filter(({ start, alternate }) => start === 32316461 && alternate === 'T').length; // prettier-ignore
  const existsSummary = { exists: true };
  const countSummary = { exists: true, numTotalResults: total };

  test.each([
    ['boolean', 'boolean', 'boolean', existsSummary],
    ['boolean', 'count', 'boolean', existsSummary],
    ['boolean', 'record', 'boolean', existsSummary],
    ['count', 'boolean', 'boolean', existsSummary],
    ['count', 'count', 'count', countSummary],
    ['count', 'record', 'count', countSummary],
    ['record', 'boolean', 'boolean', existsSummary],
    ['record', 'count', 'count', countSummary],
    ['record', 'record', 'record', countSummary],
  ] as const)(
    '%s, asked for %s, answers with %s',
    async (setting, requested, returned, summary) => {
      for (const client of [ann, anybody]) {
        const { status, json } = await queryVariants(client, `requestedGranularity=${requested}`, publicBeaconIds[setting]); // prettier-ignore
        const meta = json['meta'] as Record<string, unknown>;
        expect([status, meta['returnedGranularity'], json['responseSummary']]).toEqual([200, returned, summary]); // prettier-ignore
        expect('response' in json).toBe(returned === 'record');
      }
    },
  );

  test('limits what it adds to an answer about several', async () => {
    const answer = await queryVariants(anybody, 'requestedGranularity=record&includeResultsetResponses=ALL'); // prettier-ignore
    expect(answer.json['responseSummary']).toEqual({ exists: true, numTotalResults: 2 * total });
    const { resultSets } = answer.json['response'] as { resultSets: Record<string, unknown>[] };
    const setById = new Map(resultSets.map((one) => [one['id'], one]));
    const summaryOf = (id: number): unknown => {
      const { exists, resultsCount, results } = setById.get(String(id))!;
      return [exists, resultsCount, (results as unknown[]).length];
    };
    expect([setById.size, summaryOf(publicBeaconIds.boolean), summaryOf(publicBeaconIds.count), summaryOf(publicBeaconIds.record)]).toEqual([3, [true, 0, 0], [true, total, 0], [true, total, total]]); // prettier-ignore
    expect(answer.json['info']).toEqual({ warnings: [`${publicBeaconIds.boolean}: The dataset tells only whether it has matches; they are not counted.`] }); // prettier-ignore
  });

  test('boolean has the same answer for any number of matches', async () => {
    const queryText = async (where: string): Promise<string> => {
      const path = `${beaconRoot}/datasets/${publicBeaconIds.boolean}/g_variants`;
      const { text } = await anybody.get(`${path}?requestedGranularity=record&includeResultsetResponses=ALL&referenceName=13&${where}`); // prettier-ignore
      return text.replace(/"requestParameters":\{"g_variant":\{.*?\}\}/, '');
    };
    const oneMatch = await queryText('start=32316499&end=32316500');
    expect(await queryText('start=32316400&end=32316600')).toBe(oneMatch);
    expect(oneMatch).toContain('"exists":true');
    expect(await queryText('start=1&end=2')).toBe(
      oneMatch.replace('"exists":true', '"exists":false'),
    );
  });

  test('hides the ids of records unless it shows records', async () => {
    for (const [setting, status] of [
      ['boolean', 404],
      ['count', 404],
      ['record', 200],
    ] as const) {
      // prettier-ignore
      const record = await fetchFirstRecordId(publicBeaconIds[setting]);
      for (const client of [ann, anybody]) {
        const answer = await client.get(
          `${beaconRoot}/g_variants/${publicBeaconIds[setting]}:${record}`,
        );
        expect([setting, answer.status]).toEqual([setting, status]);
      }
    }
  });

  test('keeps filters from callers without credentials unless it shows records', async () => {
    const filter = 'requestedGranularity=count&filters=info.AF:>0.1';
    const accountAnswer = await queryVariants(anybody, filter);
    expect(accountAnswer.json['responseSummary']).toEqual({ exists: true, numTotalResults: total });
    const refusals = [publicBeaconIds.boolean, publicBeaconIds.count].map((id) => `${id}: The dataset answers filters only to callers with credentials.`); // prettier-ignore
    expect((accountAnswer.json['info'] as { warnings: string[] }).warnings.toSorted()).toEqual(refusals.toSorted()); // prettier-ignore
    const datasetAnswer = await queryVariants(anybody, filter, publicBeaconIds.boolean);
    expect([datasetAnswer.status, datasetAnswer.json['error']]).toEqual(
      [400, { errorCode: 400, errorMessage: refusals[0] }],
    ); // prettier-ignore
    const ownAnswer = await queryVariants(ann, filter, publicBeaconIds.boolean);
    expect([ownAnswer.status, ownAnswer.json['responseSummary']]).toEqual([200, { exists: true }]);
    const countTermsFor = async (client: Client, id: number): Promise<number> => {
      const { json } = await client.get(`${beaconRoot}/datasets/${id}/filtering_terms`);
      return (json['response'] as { filteringTerms: unknown[] }).filteringTerms.length;
    };
    expect(await countTermsFor(anybody, publicBeaconIds.boolean)).toBe(0);
    expect(await countTermsFor(anybody, publicBeaconIds.record)).toBeGreaterThan(5);
    expect(await countTermsFor(ann, publicBeaconIds.boolean)).toBeGreaterThan(5);
  });

  test('is changed by those who may write, and stands in the audit log', async () => {
    const path = `/v2/objects/${publicBeaconIds.count}/beacon`;
    expect((await bob.post(path, { granularity: 'record' })).status).toBe(403);
    expect((await anybody.post(path, { granularity: 'record' })).status).toBe(401);
    const wrongAnswer = await ann.post(path, { granularity: 'all' });
    expect([wrongAnswer.status, Object.keys(wrongAnswer.json)]).toEqual([400, ['granularity']]);
    expect((await ann.post(path)).json['granularity']).toBe('count');
    expect((await ann.get(path)).json['granularity']).toBe('count');
    expect((await ann.delete(path)).status).toBe(200);
    expect((await ann.post(path)).json['granularity']).toBe('none');
    await setGranularity(publicBeaconIds.count, 'count');
    const owner = await server.user('boss', { role: 'admin' });
    const log = listOf(await owner.get(`/v2/audit_log?subject_type=dataset&subject_id=${publicBeaconIds.count}`)); // prettier-ignore
    expect(log.map(({ action, details, user_id }) => [action, details, user_id])).toEqual([
      ['beacon.change', { before: 'none', after: 'count' }, ann.user.id],
      ['beacon.change', { before: 'count', after: 'none' }, ann.user.id],
      ['beacon.change', { before: 'none', after: 'count' }, ann.user.id],
    ]);
  });
});

describe('an answer is about the current version', () => {
  test('after records are added, replaced, deleted and restored', async () => {
    const id = await newBeacon('record', { records: [{ variant: 'GRCH38-1-10-10-G' }] });
    const record = await fetchFirstRecordId(id);
    const countAt = async (start: number): Promise<unknown> => {
      const { json } = await ann.get(`${beaconRoot}/datasets/${id}/g_variants?referenceName=1&start=${start}&alternateBases=G&requestedGranularity=count`); // prettier-ignore
      return (json['responseSummary'] as Record<string, unknown>)['numTotalResults'];
    };
    const change = (commit_mode: string, list: readonly object[]): Promise<Answer> =>
      ann.post('/v2/dataset_imports', { dataset_id: id, commit_mode, records: list });
    expect([await countAt(9), await countAt(19)]).toEqual([1, 0]);
    await change('overwrite', [{ _id: record, variant: 'GRCH38-1-20-20-G' }]);
    expect([await countAt(9), await countAt(19)]).toEqual([0, 1]);
    await change('delete', [{ _id: record }]);
    expect([await countAt(9), await countAt(19)]).toEqual([0, 0]);
    const [deletion] = listOf(await ann.get(`/v2/datasets/${id}/commits`));
    const rollbackAnswer = await ann.post(
      `/v2/dataset_commits/${String(deletion!['id'])}/rollback`,
      {},
    );
    await waitForJob(ann, `/v2/dataset_commits/${idOf(rollbackAnswer)}`);
    expect([await countAt(9), await countAt(19)]).toEqual([0, 1]);
  });

  test('an archived dataset is not in the beacon', async () => {
    const id = await newBeacon('record', { vault_id: vaultId });
    await ann.patch(`/v2/datasets/${id}`, { storage_class: 'Archive' });
    const [task] = listOf(await ann.get(`/v2/dataset_snapshot_tasks?dataset_id=${id}`));
    await waitForJob(ann, `/v2/dataset_snapshot_tasks/${String(task!['id'])}`);
    expect(datasetsOf(await ann.get(`${beaconRoot}/datasets`))).not.toContain(String(id));
    expect((await ann.get(`${beaconRoot}/datasets/${id}`)).status).toBe(404);
  });
});
