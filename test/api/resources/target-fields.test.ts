import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { idOf, listOf, startServer, waitFor, type Client, type TestServer } from '../server.js';

let server: TestServer;
let ann: Client;
let vaultId: number;
let datasetId: number;
beforeAll(async () => {
  server = await startServer();
  ann = await server.user('ann');
  vaultId = idOf(await ann.post('/v2/vaults', { name: 'Lab' }));
});
afterAll(() => server.close());

async function newDataset(more: object = {}): Promise<void> {
  const name = `d${Math.random()}`;
  datasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name, ...more }));
}

async function newFile(filename: string, text: string): Promise<number> {
  const made = await ann.post('/v2/objects', { vault_id: vaultId, object_type: 'file', filename });
  await fetch(String(made.json['upload_url']), { method: 'PUT', body: text });
  return idOf(made);
}

/** Imports records, or a file's when given an id. */
async function imported(source: readonly object[] | number, target_fields: unknown) {
  const of = typeof source === 'number' ? { object_id: source } : { data_records: source };
  const made = await ann.post('/v2/dataset_imports', {
    dataset_id: datasetId,
    ...of,
    target_fields,
    entity_params: { disable: true },
  });
  expect([made.status, made.text]).toEqual([201, expect.any(String)]);
  const { json } = await waitFor(ann, `/v2/dataset_imports/${idOf(made)}`);
  const validation = (json['metadata'] as { validation: { warnings: { code: number }[] } })
    .validation;
  return { ...json, codes: validation.warnings.map(({ code }) => code) } as Record<string, unknown>;
}

async function records(): Promise<unknown> {
  const body = { exclude_fields: ['_id', '_commit'] };
  return (await ann.post(`/v2/datasets/${datasetId}/data`, body)).json['results'];
}

async function field(name: string): Promise<Record<string, unknown> | undefined> {
  return listOf(await ann.get(`/v2/datasets/${datasetId}/fields?name=${name}`))[0];
}

describe('target fields', () => {
  test('give fields their types: of flat files, of objects and of lists of objects', async () => {
    await newDataset();
    await imported(await newFile('a.csv', 'zip,Petal.Width,n\n01234,1.5,7\n99999,2,8\n'), [
      { name: 'zip', data_type: 'string' },
      { name: 'Petal.Width', data_type: 'string' },
      { name: 'n', data_type: 'integer' },
    ]);
    expect(await records()).toEqual([
      { zip: '01234', 'Petal.Width': '1.5', n: 7 },
      { zip: '99999', 'Petal.Width': '2', n: 8 },
    ]);

    await newDataset();
    const made = [
      { info: { af: 1, deep: [{ id: 5 }, { id: 6 }] }, items: [{ n: 1 }], one: { n: 2 } },
      { info: { af: 2 }, items: { n: 3 }, one: { n: 4 } },
    ];
    const file = await newFile('a.json', made.map((one) => JSON.stringify(one)).join('\n'));
    const done = await imported(file, [
      { name: 'info.af', data_type: 'double' },
      { name: 'info.deep.id', data_type: 'string' },
      { name: 'items.n', data_type: 'string' },
      { name: 'one.n', data_type: 'string', is_list: true },
      { name: 'absent.x', data_type: 'long' },
    ]);
    expect([done['status'], done['error_message']]).toEqual(['completed', null]);
    expect(await records()).toEqual([
      {
        info: { af: 1, deep: [{ id: '5' }, { id: '6' }] },
        items: [{ n: '1' }],
        one: { n: ['2'] },
      },
      { info: { af: 2 }, items: [{ n: '3' }], one: { n: ['4'] } },
    ]);
    expect((await field('info.af'))?.['data_type']).toBe('double');
    expect(await field('absent.x')).toBeUndefined();
  });

  test('make lists, texts, blobs and dates, and refuse what does not fit', async () => {
    await newDataset();
    const done = await imported(
      [
        { tags: 'a', when: '2020-02-03', body: 'x'.repeat(40_000), raw: 1 },
        { tags: ['b', 'c'], when: '2020-02-03T04:05:06Z', body: 'y', raw: 'z' },
      ],
      [
        { name: 'tags', data_type: 'string', is_list: true },
        { name: 'when', data_type: 'date' },
        { name: 'body', data_type: 'text' },
        { name: 'raw', data_type: 'blob' },
      ],
    );
    expect([done['status'], done['codes']]).toEqual(['completed', [302]]);
    expect(await records()).toEqual([
      { tags: ['a'], when: '2020-02-03', body: 'x'.repeat(40_000), raw: '1' },
      { tags: ['b', 'c'], when: '2020-02-03T04:05:06', body: 'y', raw: 'z' },
    ]);

    await newDataset();
    const failed = await imported([{ n: 'twelve' }], [{ name: 'n', data_type: 'long' }]);
    expect(failed['status']).toBe('failed');
    expect(String(failed['error_message'])).toContain('n');
    const lists = await imported(
      [{ n: [1, 2] }],
      [{ name: 'n', data_type: 'long', is_list: false }],
    );
    expect([lists['status'], lists['codes']]).toEqual(['completed', [303]]);
    expect(await records()).toEqual([{ n: 1 }]);
  });

  test('describe new fields, given as an object by name or as whole resources', async () => {
    await newDataset();
    await imported([{ a: 'x', o: { b: 'y' } }], {
      a: {
        title: 'A title',
        description: 'Words',
        ordering: 7,
        is_hidden: true,
        entity_type: 'sample',
        url_template: 'https://example.org/{value}',
      },
      'o.b': { id: 5, class_name: 'DatasetField', dataset_id: 1, title: 'B', expression: null },
    });
    expect(await field('a')).toMatchObject({
      title: 'A title',
      description: 'Words',
      ordering: 7,
      is_hidden: true,
      entity_type: 'sample',
      url_template: 'https://example.org/{value}',
      data_type: 'string',
    });
    expect(await field('o.b')).toMatchObject({ title: 'B', data_type: 'string' });
  });

  test('describe anew what the dataset has, and leave the rest of it', async () => {
    await newDataset({ fields: [{ name: 'd', data_type: 'string', title: 'Old', ordering: 3 }] });
    await imported([{ a: 1, d: 'x' }], []);
    const before = await field('a');
    await imported(
      [{ a: 2 }],
      [
        { ...before, title: 'New', description: null },
        { name: 'd', is_hidden: true },
      ],
    );
    expect(await field('a')).toMatchObject({ title: 'New', description: '', data_type: 'long' });
    expect(await field('d')).toMatchObject({ title: 'Old', ordering: 3, is_hidden: true });
  });

  test('that are transient are read and not stored', async () => {
    await newDataset();
    const made = [
      { a: 1, secret: 'x', o: { keep: 1, drop: 2 }, only: { drop: 1 }, l: [{ p: 1, q: 2 }] },
      { a: 2, o: { drop: 3 }, l: [] },
    ];
    const done = await imported(
      made,
      ['secret', 'o.drop', 'only.drop', 'l.q'].map((name) => ({ name, is_transient: true })),
    );
    expect([done['status'], done['error_message']]).toEqual(['completed', null]);
    expect(await records()).toEqual([
      { a: 1, o: { keep: 1 }, l: [{ p: 1 }] },
      { a: 2, o: {}, l: [] },
    ]);
    expect(await field('secret')).toBeUndefined();
    expect(await field('o.drop')).toBeUndefined();
  });

  test.each<[string, unknown, string]>([
    ['another type than the dataset has', [{ name: 'a', data_type: 'string' }], 'of type long'],
    ['a list where there is none', [{ name: 'a', is_list: true }], 'no list in this dataset'],
    ['to store no more', [{ name: 'a', is_transient: true }], 'is stored in this dataset'],
    ['a name twice', [{ name: 'z' }, { name: 'z' }], 'given twice'],
    ['an expression', [{ name: 'z', expression: '1' }], 'Expressions are not available yet'],
    ['no name', [{ title: 'z' }], 'name: This field is required'],
  ])('refuses %s', async (_, target_fields, message) => {
    await newDataset();
    await imported([{ a: 1 }], []);
    const answer = await ann.post('/v2/dataset_imports', {
      dataset_id: datasetId,
      data_records: [],
      target_fields,
    });
    expect([answer.status, answer.json]).toEqual([
      400,
      { target_fields: [expect.stringContaining(message)] },
    ]);
  });
});
