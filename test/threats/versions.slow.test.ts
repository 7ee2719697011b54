import { expect, test } from '@jest/globals';
import { gunzipSync } from 'node:zlib';
import { startServerFixture } from '../api/server-fixture.js';
import { idOf, waitForJob, type Client } from '../api/server.js';

const { server, ann, vaultId } = await startServerFixture();

const recordsPerCommit = 40;

/**
 * What a page or file contains: the number of records of each commit, the total number of records, and the number of records that lack the
 * field of their commit.
 */
interface VersionContent {
  readonly source: string;
  readonly recordCounts: ReadonlyMap<string, number>;
  readonly total: number;
  readonly lackingCount: number;
  readonly isWhole: boolean;
  readonly version?: number;
}

type Row = Readonly<Record<string, unknown>>;

function versionContentOf(
  source: string,
  rows: readonly Row[],
  total: number,
  isWhole: boolean,
): VersionContent {
  const recordCounts = new Map<string, number>();
  let lackingCount = 0;
  for (const row of rows) {
    const commit = String(row['_commit']);
    recordCounts.set(commit, (recordCounts.get(commit) ?? 0) + 1);
    // Every commit adds a field of its own, which a page of its version must contain.
    if (row[`own_${String(row['w'])}_${String(row['i'])}`] !== row['n']) lackingCount += 1;
  }
  return { source, recordCounts, total, lackingCount, isWhole };
}

test('Q8, D11: every page and every export shows exactly one version while imports go on', async () => {
  const datasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'busy' }));
  const commitsOfWriter = 6;
  const active = { writers: 3 };
  const contents: VersionContent[] = [];
  const commit = async (w: number, i: number): Promise<void> => {
    const records = Array.from({ length: recordsPerCommit }, (_, n) => ({
      w,
      i,
      n,
      [`own_${w}_${i}`]: n,
    }));
    const body = { dataset_id: datasetId, records };
    const { status, text } = await ann.post('/v2/dataset_imports', body);
    expect([status, text.slice(0, 300)]).toEqual([201, expect.any(String)]);
  };
  await commit(0, 0);
  const writer = async (w: number): Promise<void> => {
    for (let i = 0; i < commitsOfWriter; i += 1) await commit(w, i);
    active.writers -= 1;
  };
  const walker = async (size: number): Promise<void> => {
    while (active.writers > 0) {
      for (let offset: number | null = 0; offset !== null;) {
        const body = { limit: size, offset };
        const { status, json, text } = await ann.post(`/v2/datasets/${datasetId}/data`, body);
        expect([status, text.slice(0, 300)]).toEqual([200, expect.any(String)]);
        const rows = json['results'] as readonly Row[];
        const total = Number(json['total']);
        contents.push(versionContentOf(`page of ${size}`, rows, total, rows.length === total));
        offset = json['offset'] as number | null;
      }
    }
  };
  const counter = async (): Promise<void> => {
    while (active.writers > 0) {
      const body = { limit: 0, facets: { w: { facet_type: 'terms', limit: 0 } } };
      const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, body);
      const terms = (json['facets'] as Row)['w'] as readonly (readonly [unknown, number])[];
      const sum = terms.reduce((total, [, count]) => total + count, 0);
      expect(sum).toBe(json['total']);
      expect(sum % recordsPerCommit).toBe(0);
    }
  };
  const exporter = async (): Promise<void> => {
    for (let count = 0; active.writers > 0 || count < 2; count += 1) {
      const body = { dataset_id: datasetId, format: 'json' };
      const id = idOf(await ann.post('/v2/dataset_exports', body));
      const endedExport = await waitForJob(ann, `/v2/dataset_exports/${id}`);
      expect(endedExport.json).toMatchObject({ status: 'completed', error_message: null });
      const { json } = await ann.get(`/v2/dataset_exports/${id}/download?redirect=`);
      const bytes = Buffer.from(await (await fetch(String(json['url']))).arrayBuffer());
      const rows = gunzipSync(bytes).toString().trim().split('\n').map((line) => JSON.parse(line) as Row); // prettier-ignore
      const version = (await server.catalog.exports.get(id))?.logVersion ?? -1;
      contents.push({ ...versionContentOf('export', rows, rows.length, true), version });
      expect(endedExport.json['documents_count']).toBe(rows.length);
    }
  };
  const work = [writer(1), writer(2), writer(3), walker(10_000), walker(10_000), walker(70)];
  await Promise.all([...work, walker(33), counter(), exporter()]);

  const page = { limit: 10_000, offset: 0 };
  const viewer = { userId: ann.user.id, accountId: ann.user.accountId, role: ann.user.role };
  const { rows } = await server.catalog.commits.list({ viewer, datasetIds: [datasetId] }, page);
  const versionByCommitId = new Map(rows.map((row) => [String(row.id), row.logVersion]));
  const versions = [...versionByCommitId.values()].toSorted((a, b) => a - b);
  const atMost = (version: number): number => versions.filter((one) => one <= version).length;
  expect(rows.length).toBe(1 + 3 * commitsOfWriter);
  expect(contents.filter(({ source }) => source === 'export').length).toBeGreaterThan(1);
  for (const one of contents) {
    const shownVersion = JSON.stringify({ ...one, recordCounts: [...one.recordCounts] }).slice(
      0,
      300,
    );
    expect([shownVersion, one.total % recordsPerCommit, one.lackingCount]).toEqual([
      shownVersion,
      0,
      0,
    ]);
    // `newestVersion` is the version whose number of records equals the page's total: no record on the page may be from a later version,
    // and a page of the whole version must have all of its records.
    const newestVersion = versions[one.total / recordsPerCommit - 1] ?? -1;
    for (const [id, count] of one.recordCounts) {
      expect([shownVersion, (versionByCommitId.get(id) ?? Infinity) <= newestVersion]).toEqual([
        shownVersion,
        true,
      ]);
      if (one.isWhole) expect([shownVersion, count]).toEqual([shownVersion, recordsPerCommit]);
    }
    if (one.isWhole)
      expect([shownVersion, one.recordCounts.size]).toEqual([
        shownVersion,
        one.total / recordsPerCommit,
      ]);
    if (one.version !== undefined)
      expect([shownVersion, atMost(one.version)]).toEqual([
        shownVersion,
        one.total / recordsPerCommit,
      ]);
  }
});

test('Q8: a commit that the log has and the catalogue not yet does not show, nor half of it', async () => {
  const datasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'late' }));
  const add = (record: object): ReturnType<Client['post']> =>
    ann.post('/v2/dataset_imports', { dataset_id: datasetId, records: [record] });
  await add({ a: 1 });
  const { publish } = server.catalog;
  let go = (): void => undefined;
  const mayGo = new Promise<void>((resolve) => (go = resolve));
  let signalLinked = (): void => undefined;
  const whenLinked = new Promise<void>((resolve) => (signalLinked = resolve));
  server.catalog.publish = async (publication) => {
    signalLinked();
    await mayGo;
    return publish.call(server.catalog, publication);
  };
  try {
    const secondImport = add({ a: 2, b: 3 });
    await whenLinked;
    const answerDuring = await ann.post(`/v2/datasets/${datasetId}/data`, {
      exclude_fields: ['_id', '_commit'],
    });
    expect(answerDuring.json).toMatchObject({ total: 1, results: [{ a: 1 }] });
    go();
    expect((await secondImport).status).toBe(201);
  } finally {
    server.catalog.publish = publish;
  }
  const answerAfter = await ann.post(`/v2/datasets/${datasetId}/data`, {
    exclude_fields: ['_id', '_commit'],
  });
  expect(answerAfter.json['results']).toEqual([
    { a: 1, b: null },
    { a: 2, b: 3 },
  ]);
});

test('Q12: a query whose dataset is deleted meanwhile ends on its version or says that it is gone', async () => {
  for (let round = 0; round < 4; round += 1) {
    const datasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'gone' }));
    const records = Array.from({ length: 3_000 }, (_, n) => ({ n, t: `text ${n}` }));
    await ann.post('/v2/dataset_imports', { dataset_id: datasetId, records });
    const ask = (): ReturnType<Client['post']> =>
      ann.post(`/v2/datasets/${datasetId}/data`, {
        limit: 3_000,
        filters: [['t__regexp', 'text .*']],
        facets: { t: { facet_type: 'terms', limit: 0 } },
      });
    const answers = Array.from({ length: 12 }, ask);
    await new Promise((resolve) => setTimeout(resolve, round * 15));
    const deletionAnswer = await ann.delete(`/v2/datasets/${datasetId}`);
    expect(deletionAnswer.status).toBe(200);
    for (const { status, json, text } of await Promise.all(answers)) {
      expect([status, text.slice(0, 100)]).toEqual([
        status === 404 ? 404 : 200,
        expect.any(String),
      ]);
      if (status === 200) expect((json['results'] as unknown[]).length).toBe(3_000);
    }
    expect((await ask()).status).toBe(404);
  }
});

test('Q12: a dataset that is not available says so', async () => {
  const datasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'away' }));
  await server.catalog.datasets.update(datasetId, { availability: 'unavailable' });
  const answer = await ann.post(`/v2/datasets/${datasetId}/data`, {});
  expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('unavailable')]);
});
