import { beforeAll, describe, expect, test } from '@jest/globals';
import { gunzipSync } from 'node:zlib';
import { parseJson } from '../../../engine/core/json.js';
import { runQuery } from '../../../engine/query/plan/run-query.js';
import { openQueryEngine } from '../../../engine/query/plan/query-engine.js';
import { parseQuery } from '../../../engine/query/request/query-request.js';
import { prepareExport } from '../../../scheduler/jobs/export/publish-export.js';
import type { PublishContext } from '../../../scheduler/jobs/job.js';
import { loadVisibleVersion } from '../../../scheduler/jobs/visible-data.js';
import { spillFolder } from '../../../scheduler/worker/messages.js';
import { startServerFixture } from '../server-fixture.js';
import { idOf, listOf, waitForJob, type Answer } from '../server.js';

const { server, ann, newDataset, runImport, countRecords } = await startServerFixture();

/** A commit: its id, the time at which it completed, and all records imported until then. */
interface KnownCommit {
  readonly id: number;
  readonly time: string;
  readonly records: readonly Readonly<Record<string, unknown>>[];
}

let datasetId: number;
let commits: readonly KnownCommit[];

/**
 * The records of each import. `n` has only integers at first, so that its field is widened later; `note` occurs from the fourth import on,
 * and in the sixth `text` is longer than a string may be.
 */
const importedRecords = Array.from({ length: 30 }, (_, i) => [
  { n: i, gene: 'TP53', text: `short ${i}` },
  {
    n: i < 5 ? 100 + i : 100.5 + i,
    gene: i % 2 === 0 ? 'KRAS' : 'EGFR',
    text: i === 5 ? 'long '.repeat(8_000) : `second ${i}`,
    ...(i >= 3 && { note: `note ${i}` }),
  },
]);

beforeAll(async () => {
  datasetId = await newDataset();
  for (const records of importedRecords.slice(0, -1)) await addRecords(datasetId, records);
  // A merge creates a version without a commit.
  await server.scheduler.compacted();
  const mergedVersion = await server.store.version(datasetId);
  expect(mergedVersion).toBeGreaterThan(28);
  await addRecords(datasetId, importedRecords.at(-1)!);
  expect(await server.store.version(datasetId)).toBeGreaterThan(mergedVersion);
  const listedCommits = listOf(
    await ann.get(`/v2/datasets/${datasetId}/commits?limit=100`),
  ).toReversed();
  commits = listedCommits.map((commit, i) => ({
    id: Number(commit['id']),
    time: (commit['timestamps'] as string[][]).at(-1)![2]!,
    records: importedRecords.slice(0, i + 1).flat(),
  }));
  expect(commits).toHaveLength(importedRecords.length);
});

async function addRecords(id: number, records: readonly object[]): Promise<void> {
  const body = { dataset_id: id, data_records: records, entity_params: { disable: true } };
  await runImport(body);
}

const queryDataset = (body: object, id = datasetId): Promise<Answer> =>
  ann.post(`/v2/datasets/${id}/data`, body);

/** Returns the records in an answer, without nulls and without the keys that the server adds. */
function recordsOf(answer: Answer): unknown[] {
  expect([answer.status, answer.text.slice(0, 300)]).toEqual([200, expect.any(String)]);
  return (answer.json['results'] as Record<string, unknown>[]).map(withoutNulls);
}

function withoutNulls({ _id, _commit, ...rest }: Record<string, unknown>): unknown {
  return Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null));
}

/** Returns the last commit that had completed at a time, according to the list of commits. */
const lastCommitAt = (time: number): KnownCommit | undefined =>
  commits.findLast((one) => Date.parse(one.time) <= time);

const statusAndJsonOf = (answer: Answer): unknown => [answer.status, answer.json];

describe('a query as of', () => {
  test('a commit sees what had been imported up to it, and says so', async () => {
    const versions: number[] = [];
    for (const { id, records } of commits) {
      for (const as_of of [id, String(id)]) {
        const answer = await queryDataset({ as_of });
        expect(recordsOf(answer)).toEqual(records);
        expect(answer.json['total']).toBe(records.length);
        expect(answer.json['as_of']).toEqual({ commit_id: id, version: expect.any(Number) });
        versions.push((answer.json['as_of'] as { version: number }).version);
      }
    }
    // If merges have followed a commit, the version after the last merge is read.
    const storedCommits = await Promise.all(
      commits.map(({ id }) => server.catalog.commits.get(id)),
    );
    const firstVersions = storedCommits.flatMap((row) => [row!.logVersion, row!.logVersion]);
    const endVersions = [...firstVersions.slice(2), Infinity, Infinity];
    expect(versions.every((one, i) => one >= firstVersions[i]! && one < endVersions[i]!)).toBe(
      true,
    );
  });

  test('a time sees what had been imported by then', async () => {
    for (const { time } of commits) {
      for (const moment of [Date.parse(time) - 1, Date.parse(time)]) {
        const answer = await queryDataset({ as_of: new Date(moment).toISOString() });
        const lastCommit = lastCommitAt(moment);
        expect(recordsOf(answer)).toEqual(lastCommit?.records ?? []);
        expect(answer.json['as_of']).toMatchObject({ commit_id: lastCommit?.id ?? null });
      }
    }
    const { id, time, records } = commits.at(-1)!;
    const offsetTime = new Date(Date.parse(time) + 2 * 3_600_000)
      .toISOString()
      .replace('Z', '+02:00');
    for (const as_of of [offsetTime, time.replace('Z', ''), '2999-01-01', '2999-01-01T00:00:00Z']) {
      const answer = await queryDataset({ as_of, limit: 0 });
      expect(answer.json).toMatchObject({ total: records.length, as_of: { commit_id: id } });
    }
    // A date stands for its first moment.
    const day = commits[0]!.time.slice(0, 10);
    const lastCommit = lastCommitAt(Date.parse(day));
    expect((await queryDataset({ as_of: day, limit: 0 })).json).toMatchObject({
      total: lastCommit?.records.length ?? 0,
      as_of: { commit_id: lastCommit?.id ?? null },
    });
  });

  test('a time before the first commit finds nothing, under the names of the fields of today', async () => {
    const body = {
      as_of: '2001-01-01T00:00:00Z',
      filters: [['note', 'note 3']],
      query: 'gene:TP53 AND second',
      fields: ['n', 'note'],
      ordering: ['-n'],
      facets: { gene: {}, n: {}, note: { facet_type: 'count' } },
    };
    const { status, json } = await queryDataset(body);
    expect([status, json]).toMatchObject([
      200,
      {
        total: 0,
        offset: null,
        results: [],
        as_of: { commit_id: null, version: -1 },
        facets: { gene: [], n: { count: 0, sum: null }, note: 0 },
      },
    ]);
    const emptyDatasetId = await newDataset();
    expect((await queryDataset({ as_of: '2999-01-01' }, emptyDatasetId)).json).toMatchObject({
      total: 0,
      results: [],
      as_of: { commit_id: null, version: -1 },
    });
  });

  test('knows fields of later commits, without values, and types that were widened since', async () => {
    const { id, records } = commits[2]!;
    const fetchRecordsAsOf = async (body: object): Promise<unknown[]> =>
      recordsOf(await queryDataset({ ...body, as_of: id }));
    expect(await fetchRecordsAsOf({ filters: [['note', 'note 3']] })).toEqual([]);
    expect(await fetchRecordsAsOf({ filters: [['note', null]] })).toEqual(records);
    expect(await fetchRecordsAsOf({ fields: ['note', 'n'] })).toEqual(
      records.map(({ n }) => ({ n })),
    );
    expect(await fetchRecordsAsOf({ ordering: ['note', '-n'] })).toEqual(
      records.toSorted((a, b) => Number(b['n']) - Number(a['n'])),
    );
    const largeRecords = records.filter(({ n }) => Number(n) > 1.5);
    expect(await fetchRecordsAsOf({ filters: [['n__gt', 1.5]] })).toEqual(largeRecords);
    expect(await fetchRecordsAsOf({ filters: [['text__contains', 'second']] })).toEqual(
      records.filter(({ text }) => String(text).includes('second')),
    );
    expect(await fetchRecordsAsOf({ query: 'second' })).toHaveLength(3);
    const facets = { n: { facet_type: 'stats' }, gene: { limit: 1 }, note: { facet_type: 'count' } }; // prettier-ignore
    const sum = records.reduce((all, { n }) => all + Number(n), 0);
    expect((await queryDataset({ facets, as_of: id, limit: 0 })).json['facets']).toMatchObject({
      n: { count: 6, min: 0, max: 102, sum },
      gene: [['TP53', 3]],
      note: 0,
    });
  });

  test('finds the same when SQL answers every query', async () => {
    const { data } = server;
    const engine = openQueryEngine({
      dataFolder: data.root,
      memoryMb: 256,
      threads: 1,
      spillFolder: spillFolder(data, process.pid),
      spillMb: 64,
    });
    try {
      for (const commit of [undefined, ...commits.slice(0, 7), commits.at(-1)!]) {
        const version = (await server.catalog.commits.get(commit?.id ?? 0))?.logVersion ?? -1;
        const { snapshot, fields } = await loadVisibleVersion(server.catalog, server.store, datasetId, version); // prettier-ignore
        for (const body of [
          {},
          { filters: [['n__gt', 1.5]] },
          { filters: [['note', 'note 3']] },
          { filters: [['text__contains', 'second']], ordering: ['note', '-n'] },
          { query: 'second AND KRAS', fields: ['n', 'note'] },
          { facets: { n: { facet_type: 'stats' }, gene: {}, note: {} }, limit: 0 }, // prettier-ignore
        ]) {
          const request = parseQuery(body, fields);
          const result = await runQuery(engine, snapshot, fields, request);
          const as_of = commit?.id ?? '2001-01-01';
          const { json } = await queryDataset({ ...body, as_of });
          expect([result.total, parseJson(result.results), result.facets && parseJson(result.facets)]).toEqual([json['total'], json['results'], json['facets']]); // prettier-ignore
        }
      }
    } finally {
      await engine.close();
    }
  });

  test('a query without as_of sees the newest version, and its answer has no such key', async () => {
    for (const body of [{}, { as_of: null }, { as_of: '' }]) {
      const { json } = await queryDataset({ ...body, limit: 1 });
      expect(json['total']).toBe(60);
      expect(Object.hasOwn(json, 'as_of')).toBe(false);
    }
    expect(await countRecords(datasetId)).toBe(60);
  });

  test('is found in batches, lookups, facets of a field and other formats', async () => {
    const { id, records } = commits[4]!;
    const queries = [{ as_of: id }, {}, { as_of: 'x' }].map((more) => ({ dataset: datasetId, limit: 0, ...more })); // prettier-ignore
    const batch = await ann.post('/v2/batch_query', { queries });
    expect(batch.json).toMatchObject([
      { status_code: 200, total: 10, as_of: { commit_id: id } },
      { status_code: 200, total: 60 },
      { status_code: 400, as_of: [expect.any(String)] },
    ]);

    const idRecords = (await queryDataset({ fields: ['_id'] })).json['results'] as Record<
      '_id',
      string
    >[];
    const wantedIds = [idRecords[0]!['_id'], idRecords.at(-1)!['_id']].join(',');
    const path = `/v2/datasets/${datasetId}/data/${wantedIds}`;
    const lookupAnswer = await ann.get(`${path}?as_of=${id}`);
    expect(lookupAnswer.json).toMatchObject({ total: 1, as_of: { commit_id: id } });
    expect(recordsOf(lookupAnswer)).toEqual(records.slice(0, 1));
    expect((await ann.get(path)).json['total']).toBe(2);

    const [field] = listOf(await ann.get(`/v2/datasets/${datasetId}/fields?name=gene`));
    const facetsPath = `/v2/dataset_fields/${String(field?.['id'])}/facets`;
    const countGene = (gene: string): number =>
      records.filter((one) => one['gene'] === gene).length;
    expect((await ann.get(`${facetsPath}?as_of=${id}`)).json).toMatchObject({
      facets: [
        ['TP53', 5],
        ['KRAS', countGene('KRAS')],
        ['EGFR', countGene('EGFR')],
      ],
      total: 3,
      as_of: { commit_id: id },
    });
    const { json: emptyFacets } = await ann.get(`${facetsPath}?as_of=2001-01-01`);
    expect(emptyFacets).toMatchObject({ facets: [], total: 0 });
    expect(Object.hasOwn((await ann.get(facetsPath)).json, 'as_of')).toBe(false);

    for (const as_of of [id, undefined, '2001-01-01']) {
      const linesAnswer = await ann.call('POST', `/v2/datasets/${datasetId}/data`, { as_of }, { accept: 'application/x-ndjson' }); // prettier-ignore
      const headerOf = (name: string): string | null => linesAnswer.headers.get(name);
      expect([
        headerOf('x-total'),
        headerOf('x-as-of-commit'),
        headerOf('x-as-of-version'),
      ]).toEqual(
        as_of === id ? ['10', String(id), '4'] : as_of ? ['0', null, '-1'] : ['60', null, null],
      );
    }
  });
});

describe('a cursor begun with as_of', () => {
  test('stays on its version, whatever the time names meanwhile', async () => {
    const id = await newDataset();
    for (const records of importedRecords.slice(0, 3)) await addRecords(id, records);
    const firstPage = await queryDataset({ as_of: '2999-01-01', limit: 4, cursor: true }, id);
    expect(firstPage.json).toMatchObject({ total: 6, as_of: { version: 2 } });
    await addRecords(id, importedRecords[3]!);
    for (const as_of of ['2999-01-01', ' 2999-01-01', undefined]) {
      const nextPage = await queryDataset(
        { limit: 4, cursor: firstPage.json['cursor'], as_of },
        id,
      );
      expect(nextPage.json).toMatchObject({
        total: 6,
        cursor: null,
        as_of: firstPage.json['as_of'],
      });
      expect(recordsOf(nextPage)).toEqual(importedRecords.slice(0, 3).flat().slice(4));
    }
    const newestPage = await queryDataset({ as_of: '2999-01-01', limit: 0 }, id);
    expect(newestPage.json).toMatchObject({ total: 8, as_of: { version: 3 } });
  });

  test('is refused with another as_of, and one without with any', async () => {
    const [firstCommit, secondCommit] = commits;
    const beginCursor = async (more: object): Promise<unknown> =>
      (await queryDataset({ limit: 1, cursor: true, ...more })).json['cursor'];
    for (const [cursorBody, asOf] of [
      [{ as_of: firstCommit!.id }, secondCommit!.id],
      [{ as_of: firstCommit!.id }, firstCommit!.time],
      [{}, firstCommit!.id],
    ] as const) {
      const answer = await queryDataset({
        limit: 1,
        cursor: await beginCursor(cursorBody),
        as_of: asOf,
      });
      expect(statusAndJsonOf(answer)).toEqual([
        400,
        { as_of: [expect.stringContaining('A cursor stays on the version')] },
      ]);
    }
    const textAnswer = await queryDataset({
      limit: 1, cursor: await beginCursor({ as_of: firstCommit!.id }), as_of: `${firstCommit!.id}`,
    }); // prettier-ignore
    expect(textAnswer.json).toMatchObject({ total: 2, as_of: { commit_id: firstCommit!.id } });
  });
});

describe('an export as of', () => {
  async function exportRecords(body: object, id = datasetId): Promise<Answer> {
    const createdExport = await ann.post('/v2/dataset_exports', {
      dataset_id: id,
      format: 'json',
      ...body,
    });
    return createdExport.status === 201
      ? waitForJob(ann, `/v2/dataset_exports/${idOf(createdExport)}`)
      : createdExport;
  }

  async function contentOf(endedExport: Answer): Promise<unknown[]> {
    expect([endedExport.status, endedExport.json['error_message']]).toEqual([200, null]);
    const path = `/v2/dataset_exports/${idOf(endedExport)}/download?redirect=`;
    const file = await fetch(String((await ann.get(path)).json['url']));
    const lines = gunzipSync(Buffer.from(await file.arrayBuffer()))
      .toString()
      .split('\n');
    const records = lines.filter((line) => line !== '').map((line) => JSON.parse(line) as object);
    return records.map((record) => withoutNulls(record as Record<string, unknown>));
  }

  test('a commit or a time has what had been imported up to it', async () => {
    const { id, time, records } = commits[7]!;
    const lastCommit = lastCommitAt(Date.parse(time))!;
    for (const [body, expected] of [
      [{ as_of: id }, { id, records }],
      [{ params: { as_of: String(id) } }, { id, records }],
      [{ as_of: id, params: { as_of: `${id}`, fields: ['n', 'gene', 'text', 'note'] } }, { id, records }], // prettier-ignore
      [{ params: { as_of: time } }, lastCommit],
    ] as const) {
      const endedExport = await exportRecords(body);
      expect(await contentOf(endedExport)).toEqual(expected.records);
      expect(endedExport.json).toMatchObject({
        documents_count: expected.records.length,
        as_of: { commit_id: expected.id, version: 7 },
      });
    }
    const emptyExport = await exportRecords({ as_of: '2001-01-01' });
    expect(await contentOf(emptyExport)).toEqual([]);
    expect(emptyExport.json['as_of']).toEqual({ commit_id: null, version: -1 });
    const newestExport = await exportRecords({});
    expect([newestExport.json['as_of'], newestExport.json['documents_count']]).toEqual([null, 60]);
  });

  test('is fixed when the export is created', async () => {
    const id = await newDataset();
    await addRecords(id, importedRecords[0]!);
    const body = { dataset_id: id, format: 'json', as_of: '2999-01-01' };
    const createdExport = await ann.post('/v2/dataset_exports', body);
    await addRecords(id, importedRecords[1]!);
    const endedExport = await waitForJob(ann, `/v2/dataset_exports/${idOf(createdExport)}`);
    expect(createdExport.json['as_of']).toEqual(endedExport.json['as_of']);
    expect(await contentOf(endedExport)).toEqual(importedRecords[0]);
    expect(await countRecords(id)).toBe(4);
    // The task of the export is prepared a second time, as after a restart.
    const task = await server.catalog.tasks.get(Number(endedExport.json['task_id']));
    const { catalog, store } = server;
    const context = { catalog, store, now: Date.now } as unknown as PublishContext;
    expect((await prepareExport(task!, context)).snapshot).toMatchObject({ version: 0, rows: 2 });
  });

  test('refuses two versions, and what is none, under the key that has it', async () => {
    const [firstCommit, secondCommit] = commits;
    expect(
      statusAndJsonOf(
        await exportRecords({ as_of: firstCommit!.id, params: { as_of: secondCommit!.id } }),
      ),
    ).toEqual([400, { as_of: ['params.as_of is another one: send as_of once.'] }]);
    expect(statusAndJsonOf(await exportRecords({ as_of: 'x' }))).toEqual([400, { as_of: [expect.stringContaining('such as 2026')] }]); // prettier-ignore
    expect(statusAndJsonOf(await exportRecords({ params: { as_of: 'x' } }))).toEqual([
      400,
      { params: [{ as_of: [expect.stringContaining('such as 2026')] }] },
    ]);
  });
});

test('as_of refuses what is no commit of the dataset and no time, and names the fix', async () => {
  const otherDatasetId = await newDataset();
  await addRecords(otherDatasetId, importedRecords[0]!);
  const [foreignCommit] = listOf(await ann.get(`/v2/datasets/${otherDatasetId}/commits`));
  for (const id of [foreignCommit!['id'], 1, '123456789', datasetId])
    expect(statusAndJsonOf(await queryDataset({ as_of: id }))).toEqual([
      400,
      {
        as_of: [
          `This dataset has no commit ${String(id)}: GET /v2/datasets/${datasetId}/commits lists its commits.`,
        ],
      },
    ]);
  // prettier-ignore
  for (const value of ['yesterday', 0, -1, 1.5, true, {}, [], [1], '2026-13-01', '2026-02-30', '2026-01-01T25:00:00Z', '2026-1-1', '9'.repeat(30)])
    expect(statusAndJsonOf(await queryDataset({ as_of: value }))).toEqual([
      400,
      { as_of: [expect.stringMatching(/^Expected the id of a commit, or a time such as 2026-03-02T09:20:41Z, not /)] },
    ]);
});

test('commits show how many records they added, changed and removed', async () => {
  for (const path of [`datasets/${datasetId}/commits`, `dataset_commits?dataset_id=${datasetId}`]) {
    const listedCommits = listOf(await ann.get(`/v2/${path}`));
    const counts = listedCommits.map((commit) =>
      ['modified', 'added', 'changed', 'removed'].map((what) => commit[`records_${what}`]),
    );
    expect(counts).toEqual(importedRecords.map(() => [2, 2, 0, 0]));
  }
});
