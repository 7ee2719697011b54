import { tableFromIPC } from 'apache-arrow';
import { readdir, readlink } from 'node:fs/promises';
import { beforeAll, expect, test } from '@jest/globals';
import { pollUntil } from '../../until.js';
import { startServerFixture } from '../server-fixture.js';
import { idOf } from '../server.js';

let datasetId: number;

const { server, ann, vaultId } = await startServerFixture();
/** A server without columns in memory, which reads the records of a page itself. */
const columnlessFixture = await startServerFixture({ queryCacheMb: 0 });
beforeAll(async () => {
  datasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'd' }));
  await addRecords(0, 25);
});

async function addRecords(from: number, count: number): Promise<void> {
  const records = Array.from({ length: count }, (_, i) => ({ n: from + i, even: (from + i) % 2 === 0 })); // prettier-ignore
  const { json } = await ann.post('/v2/dataset_imports', {
    dataset_id: datasetId,
    data_records: records,
  });
  expect(json['status']).toBe('completed');
}

const fetchDataPage = async (body: object): Promise<Record<string, unknown>> =>
  (await ann.post(`/v2/datasets/${datasetId}/data`, body)).json;
const numbersOfPage = (json: Record<string, unknown>): number[] =>
  (json['results'] as { n: number }[]).map(({ n }) => n);

test('a cursor reads one version while records are added, and ends with null (Q8)', async () => {
  for (const query of [{}, { ordering: ['-n'] }, { filters: [['even', true]] }]) {
    const expectedNumbers = numbersOfPage(await fetchDataPage({ ...query, limit: 1_000 }));
    const pagedNumbers: number[] = [];
    let cursor: unknown = true;
    let pageCount = 0;
    while (cursor !== null) {
      const json = await fetchDataPage({ ...query, limit: 4, cursor, facets: { even: {} } });
      expect(json).toMatchObject({ total: expectedNumbers.length, offset: null });
      // Only the first page of a query has facets.
      expect(Object.hasOwn(json, 'facets')).toBe(cursor === true);
      pagedNumbers.push(...numbersOfPage(json));
      cursor = json['cursor'];
      if ((pageCount += 1) === 2) await addRecords(100, 3);
    }
    expect(pagedNumbers).toEqual(expectedNumbers);
    expect(pageCount).toBe(Math.ceil(expectedNumbers.length / 4));
  }
});

test.each(['text/csv', 'application/x-ndjson', 'application/vnd.apache.arrow.stream'])(
  'pages as %s have a cursor, too, of the same version',
  async (accept) => {
    const decode = (bytes: Buffer): number[] => {
      if (accept.includes('arrow')) return Array.from(tableFromIPC(bytes).getChild('n')!, Number);
      const lines = bytes.toString().trim().split(/\r?\n/);
      if (accept === 'text/csv') return lines.slice(1).map(Number);
      return lines.map((line) => (JSON.parse(line) as { n: number }).n);
    };
    const computedField = { name: 'n', expression: 'record.n', data_type: 'long' };
    for (const query of [{}, { ordering: ['-n'] }, { target_fields: [computedField] }]) {
      const queryBody = { ...query, fields: ['n'] };
      const expectedNumbers = numbersOfPage(await fetchDataPage({ ...queryBody, limit: 1_000 }));
      const pagedNumbers: number[] = [];
      let cursor: string | true | null = true;
      for (let pages = 1; cursor !== null; pages++) {
        const answer: Response = await fetch(`${server.url}/v2/datasets/${datasetId}/data`, {
          method: 'POST',
          headers: { authorization: `Bearer ${ann.token}`, accept },
          body: JSON.stringify({ ...queryBody, limit: 10, cursor }),
        });
        expect([answer.status, answer.headers.get('x-total')]).toEqual([
          200,
          `${expectedNumbers.length}`,
        ]);
        expect(answer.headers.get('x-next-offset')).toBeNull();
        expect(answer.headers.get('access-control-expose-headers')).toContain('X-Next-Cursor');
        pagedNumbers.push(...decode(Buffer.from(await answer.arrayBuffer())));
        cursor = answer.headers.get('x-next-cursor');
        if (pages === 2) await addRecords(200, 3);
      }
      expect(pagedNumbers).toEqual(expectedNumbers);
    }
  },
);

test('a cursor that is too long for a header is refused, in JSON it is not', async () => {
  const id = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'long' }));
  const records = ['a', 'b', 'c'].map((first) => ({ text: first.repeat(4_000) }));
  await ann.post('/v2/dataset_imports', { dataset_id: id, data_records: records });
  const body = { fields: ['text'], ordering: ['text'], limit: 2, cursor: true };
  const path = `/v2/datasets/${id}/data`;
  const headers = { authorization: `Bearer ${ann.token}`, accept: 'text/csv' };
  const requestPage = (more: object): Promise<Response> =>
    fetch(server.url + path, {
      method: 'POST',
      headers,
      body: JSON.stringify({ ...body, ...more }),
    });
  const refusedAnswer = await requestPage({});
  expect([refusedAnswer.status, await refusedAnswer.json()]).toEqual([
    400,
    { cursor: [expect.stringContaining('too long')] },
  ]);
  const { cursor } = (await ann.post(path, body)).json;
  const lastAnswer = await requestPage({ cursor });
  expect([lastAnswer.status, (await lastAnswer.text()).length]).toEqual([
    200,
    'text\r\n'.length + 4_002,
  ]);
});

const testOnLinux = process.platform === 'linux' ? test : test.skip;

testOnLinux('R4: a page that is refused while its records are being read leaves no file open', async () => {
  const id = await columnlessFixture.newDataset();
  const texts = Array.from({ length: 1_001 }, (_, i) => `${i + 10_000}`);
  texts[999] += 'x'.repeat(4_000);
  await columnlessFixture.runImport({ dataset_id: id, records: texts.map((text) => ({ text })) });
  /** Returns the number of files of the dataset that this process has open. */
  const countOpenFiles = async (): Promise<number> => {
    const names = await readdir('/proc/self/fd');
    const links = names.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => '')); // some are closed meanwhile
    const folder = columnlessFixture.server.data.dataset(id);
    return (await Promise.all(links)).filter((path) => path.startsWith(folder)).length;
  };
  const body = { ordering: ['text'], limit: 1_000, cursor: true };
  const headers = { accept: 'text/csv' };
  for (let i = 0; i < 5; i++) {
    const { status, json } = await columnlessFixture.ann.call('POST', `/v2/datasets/${id}/data`, body, headers);
    expect([status, json]).toEqual([400, { cursor: [expect.stringContaining('too long')] }]);
  }
  await pollUntil(async () => (await countOpenFiles()) === 0);
}); // prettier-ignore

test('an answer to a request without a cursor has none, and * begins one too', async () => {
  expect(Object.hasOwn(await fetchDataPage({ limit: 1 }), 'cursor')).toBe(false);
  expect(typeof (await fetchDataPage({ limit: 1, cursor: '*' }))['cursor']).toBe('string');
  expect((await fetchDataPage({ limit: 1_000, cursor: true }))['cursor']).toBeNull();
});

test('refuses a cursor that is made up, altered, or of another query or dataset', async () => {
  const { cursor } = await fetchDataPage({ limit: 2, cursor: true });
  const cursorText = cursor as string;
  const refusalOf = async (
    body: object,
    path = `/v2/datasets/${datasetId}/data`,
  ): Promise<unknown> => {
    const { status, json } = await ann.post(path, body);
    expect(status).toBe(400);
    return json;
  };
  const alteredCursor = `${cursorText.slice(0, 5)}${cursorText[5] === 'A' ? 'B' : 'A'}${cursorText.slice(6)}`;
  for (const wrongCursor of [
    'x',
    5,
    {},
    [],
    alteredCursor,
    cursorText.slice(0, -1),
    cursorText.split('.')[0]!,
  ])
    expect(await refusalOf({ limit: 2, cursor: wrongCursor })).toHaveProperty('cursor');
  expect(await refusalOf({ limit: 2, cursor: cursorText, ordering: ['n'] })).toEqual({
    cursor: ['This cursor belongs to another query; only the limit may change.'],
  });
  expect(await refusalOf({ limit: 2, cursor: cursorText, offset: 2 })).toHaveProperty('offset');
  expect(await refusalOf({ limit: 0, cursor: cursorText })).toHaveProperty('limit');
  const vaultId = idOf(await ann.post('/v2/vaults', { name: 'Other' }));
  const otherDatasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'o' }));
  expect(
    await refusalOf({ limit: 2, cursor: cursorText }, `/v2/datasets/${otherDatasetId}/data`),
  ).toEqual({
    cursor: ['This cursor belongs to another dataset.'],
  });
});

test('records keep their order by every executor if fields have the names of columns of the SQL engine', async () => {
  for (const fixture of [{ ann, vaultId }, columnlessFixture]) {
    const dataset = { vault_id: fixture.vaultId, name: 'with row numbers' };
    const dataset_id = idOf(await fixture.ann.post('/v2/datasets', dataset));
    const importRecords = async (records: readonly object[], commit_mode: string) => {
      const request = { dataset_id, data_records: records, commit_mode };
      const { json } = await fixture.ann.post('/v2/dataset_imports', request);
      expect(json['status']).toBe('completed');
    };
    // Generated ids sort before this one.
    const [first, second] = [{ n: 1, file_index: 1, file_row_number: 5 }, { n: 1, file_index: 2, file_row_number: 0 }]; // prettier-ignore
    await importRecords([{ _id: 'mine', ...first }], 'upsert');
    await importRecords([second], 'append');
    for (const query of [{}, { cursor: true }, { ordering: ['n'] }]) {
      const { json } = await fixture.ann.post(`/v2/datasets/${dataset_id}/data`, query);
      expect(json['results']).toMatchObject([first, second]);
    }
  }
});
