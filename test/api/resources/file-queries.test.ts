import { beforeAll, describe, expect, test } from '@jest/globals';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { startWorker } from '../../../scheduler/worker/worker-supervisor.js';
import { signUploadTarget } from '../../../api/resources/downloads/signed-addresses.js';
import { createUrlSigner } from '../../../api/http/signed-url.js';
import { budgets } from '../../../engine/core/budgets.js';
import { startWorkerInProcess } from '../../faults/in-process.js';
import { seededRandom } from '../../random.js';
import { startServerFixture } from '../server-fixture.js';
import { idOf, sendRequest, startServer, type Answer, type Client } from '../server.js';
import { seed } from '../../seed.js';

const randomNumber = seededRandom(seed);

const { server, ann, vaultId } = await startServerFixture({ scheduler: { startWorker } });

type TableRow = Readonly<Record<string, string | null>>;

async function uploadFile(filename: string, bytes: string | Uint8Array): Promise<number> {
  const createdObject = await ann.post('/v2/objects', {
    vault_id: vaultId,
    object_type: 'file',
    filename,
  });
  const uploadAnswer = await sendRequest(
    '',
    'PUT',
    String(createdObject.json['upload_url']),
    bytes,
  );
  expect([filename, uploadAnswer.status]).toEqual([filename, 200]);
  return idOf(createdObject);
}
const queryFile = (id: number, body: object = {}): Promise<Answer> =>
  ann.post(`/v2/objects/${id}/data`, body);
const fetchFieldsOfFile = async (id: number): Promise<unknown> =>
  (await ann.get(`/v2/objects/${id}/fields`)).json['fields'];

/** Returns the paths of the files in which the server caches the table of a file object, each with its modification time. */
function tableFilesOf(id: number): readonly string[] {
  const folder = server.data.fileTables;
  return readdirSync(folder)
    .filter((name) => name.startsWith(`${id}-`))
    .flatMap((name) => readdirSync(join(folder, name)).map((file) => join(folder, name, file)))
    .map((path) => `${path} ${statSync(path).mtimeMs}`);
}

const columnNames = ['id', 'gene', 'score', 'note'] as const;
const pickRandom = <T>(values: readonly T[]): T =>
  values[Math.floor(randomNumber() * values.length)]!;
const tableRows: readonly TableRow[] = Array.from({ length: 700 }, (_, i) => ({
  id: String(i),
  gene: pickRandom(['TP53', 'tp53', 'KRAS', 'brca2', 'Été', null]),
  score: pickRandom(['1', '1.0', '-2.50', '1e3', '007', 'NA', 'nan', '12', null]),
  note: pickRandom(['plain', 'two words', 'with, comma', 'say "so"', "'=1+1", null]),
}));
const quoteCell = (cell: string | null): string =>
  /[",\t]/.test(cell ?? '') ? `"${cell!.replaceAll('"', '""')}"` : (cell ?? '');
const tableTextOf = (delimiter: string): string =>
  [[...columnNames], ...tableRows.map((row) => columnNames.map((name) => quoteCell(row[name]!)))]
    .map((line) => `${line.join(delimiter)}\n`)
    .join('');
const toLowerCase = (value: string | null): string | undefined => value?.toLowerCase();
/** Returns the number in a cell; undefined if the cell does not contain a number. */
const numberOfCell = (cell: string | null): number | undefined =>
  cell === null || !Number.isFinite(Number(cell)) ? undefined : Number(cell);

describe('the whole file', () => {
  test.each([
    ['a.csv', () => tableTextOf(',')],
    ['a.tsv', () => tableTextOf('\t')],
    ['a.txt', () => tableTextOf('\t')],
    ['a.bed', () => tableTextOf('\t')],
    ['a.CSV.gz', () => gzipSync(tableTextOf(','))],
    ['a.txt.gz', () => gzipSync(tableTextOf('\t'))],
  ] as const)(`%s has texts, in the file’s order (seed ${seed})`, async (name, makeBytes) => {
    const id = await uploadFile(name, makeBytes());
    expect(await fetchFieldsOfFile(id)).toEqual(columnNames);
    const { status, json } = await queryFile(id, { limit: 1_000 });
    expect(status).toBe(200);
    expect(Object.keys(json)).toEqual(['object_id', 'results', 'total', 'offset', 'took']);
    expect(json).toMatchObject({ object_id: id, total: tableRows.length, offset: null });
    expect(json['results']).toEqual(tableRows);
    expect(Object.keys((json['results'] as TableRow[])[0]!)).toEqual(columnNames);
  });

  test('bzip2 is the same file', async () => {
    const plainLines = readFileSync('test/fixtures/files/regions.tsv', 'utf8')
      .trimEnd()
      .split('\n');
    const [head, ...lines] = plainLines.map((line) => line.split('\t'));
    const id = await uploadFile(
      'regions.tsv.bz2',
      readFileSync('test/fixtures/files/regions.tsv.bz2'),
    );
    const { json } = await queryFile(id, { limit: 1_000 });
    expect(json['results']).toEqual(
      lines.map((line) => Object.fromEntries(head!.map((name, i) => [name, line[i] || null]))),
    );
  });

  test.each(['r.json', 'r.jsonl', 'r.json.gz'])('%s keeps its types', async (name) => {
    const records = [
      { n: 1, x: 1.5, s: '1', flag: true, tags: ['a', 'b'], deep: { gene: 'TP53' }, none: null },
      { n: 2 ** 40, x: 2, s: 'é', flag: false, tags: [], deep: { gene: 'KRAS', n: 4 }, none: null },
      { n: null, x: null, s: '', flag: null, tags: null, deep: null, none: null, more: 7 },
    ];
    const lines = records.map((record) => `${JSON.stringify(record)}\n`).join('');
    const id = await uploadFile(name, name.endsWith('gz') ? gzipSync(lines) : lines);
    expect(await fetchFieldsOfFile(id)).toEqual([
      'n',
      'x',
      's',
      'flag',
      'tags',
      'deep',
      'none',
      'more',
    ]);
    const { json } = await queryFile(id);
    expect(json['results']).toEqual(records.map((record) => ({ more: null, ...record })));
    const filteredAnswer = await queryFile(id, { filters: [['n__gt', 1]], fields: ['deep.gene'] });
    expect(filteredAnswer.json).toMatchObject({ total: 1, results: [{ deep: { gene: 'KRAS' } }] });
  });

  test('a header line of BED may begin with #, and a file of a header has no records', async () => {
    const bedFileId = await uploadFile('x.bed', '#chrom\tstart\nchr1\t5\n');
    expect(await fetchFieldsOfFile(bedFileId)).toEqual(['#chrom', 'start']);
    expect((await queryFile(bedFileId)).json['results']).toEqual([
      { '#chrom': 'chr1', start: '5' },
    ]);
    const headerFileId = await uploadFile('none.csv', 'a,b\n');
    expect(await fetchFieldsOfFile(headerFileId)).toEqual(['a', 'b']);
    expect((await queryFile(headerFileId)).json).toMatchObject({
      results: [],
      total: 0,
      offset: null,
    });
    const emptyFileId = await uploadFile('empty.csv', '');
    expect(await fetchFieldsOfFile(emptyFileId)).toEqual([]);
    expect((await queryFile(emptyFileId)).json).toMatchObject({ results: [], total: 0 });
  });
});

describe('filters, fields and pages', () => {
  let id: number;
  beforeAll(async () => {
    id = await uploadFile('filters.csv', tableTextOf(','));
  });

  const geneOf = (row: TableRow): string | null => row['gene']!;
  const scoreOf = (row: TableRow): number => numberOfCell(row['score']!) ?? Number.NaN;
  const cases: readonly (readonly [unknown, (row: TableRow) => boolean])[] = [
    [[['gene', 'tp53']], (row) => toLowerCase(geneOf(row)) === 'tp53'],
    [[['gene', null]], (row) => geneOf(row) === null],
    [[['gene__iexact', 'KRAS']], (row) => toLowerCase(geneOf(row)) === 'kras'],
    [[['gene__exact', 'TP53']], (row) => geneOf(row) === 'TP53'],
    [
      [['gene__in', ['BRCA2', 'kras']]],
      (row) => ['brca2', 'kras'].includes(toLowerCase(geneOf(row))!),
    ],
    [[['gene__contains', 'P5']], (row) => geneOf(row)?.includes('P5') === true],
    [[['gene__prefix', 'TP']], (row) => geneOf(row)?.startsWith('TP') === true],
    [[['score', '1']], (row) => row['score'] === '1'],
    [[['score__gt', 1]], (row) => scoreOf(row) > 1],
    [[['score__gte', '1']], (row) => scoreOf(row) >= 1],
    [[['score__lt', 1]], (row) => scoreOf(row) < 1],
    [[['score__lte', 1]], (row) => scoreOf(row) <= 1],
    [[['score__range', [-2.5, 7]]], (row) => scoreOf(row) >= -2.5 && scoreOf(row) <= 7],
    [[['id__between', [10, 600]]], (row) => Number(row['id']) > 10 && Number(row['id']) < 600],
    [[{ not: [['score__gt', 1]] }], (row) => !(scoreOf(row) > 1)],
    [
      [
        {
          or: [
            ['gene', 'KRAS'],
            {
              and: [
                ['note', 'plain'],
                ['id__lt', 300],
              ],
            },
          ],
        },
      ],
      (row) =>
        toLowerCase(geneOf(row)) === 'kras' || (row['note'] === 'plain' && Number(row['id']) < 300),
    ],
  ];

  test.each(cases)('%j finds what a plain filter finds', async (filters, isWanted) => {
    const { status, json } = await queryFile(id, { filters, limit: 10_000 });
    const expectedRows = tableRows.filter(isWanted);
    expect([status, json['total'], json['offset']]).toEqual([200, expectedRows.length, null]);
    expect(json['results']).toEqual(expectedRows);
    expect(expectedRows.length).toBeGreaterThan(0);
  });

  test('numbers are compared where a cell spells one in digits, and nowhere else', async () => {
    const cells = ['12', '1_2', 'inf', '-Infinity', 'nan', ' 12 ', '+12', '12.', '1.2e1', '.5', '1e999', '0x0c', '1,2', '']; // prettier-ignore
    const numbersFileId =
      await uploadFile('numbers.csv', `id,v\n${cells.map((cell, i) => `${i},"${cell}"`).join('\n')}\n`); // prettier-ignore
    const fetchMatchingCells = async (filters: unknown): Promise<unknown[]> => {
      const { json } = await queryFile(numbersFileId, { filters });
      return (json['results'] as TableRow[]).map(({ v }) => v);
    };
    expect(await fetchMatchingCells([['v__range', [11, 13]]])).toEqual([
      '12',
      ' 12 ',
      '+12',
      '12.',
      '1.2e1',
    ]);
    expect(await fetchMatchingCells([['v__lt', 1]])).toEqual(['.5']);
    expect(await fetchMatchingCells([['v__gt', 13]])).toEqual([]);
  });

  test('pages together are all rows, and each has the exact total', async () => {
    const filters = [['gene__in', ['TP53', 'KRAS']]];
    const expectedRows = tableRows.filter((row) =>
      ['tp53', 'kras'].includes(toLowerCase(geneOf(row))!),
    );
    const walkedRows: unknown[] = [];
    let offset: number | null = 0;
    while (offset !== null) {
      const { json } = await queryFile(id, { filters, limit: 37, offset });
      expect(json['total']).toBe(expectedRows.length);
      walkedRows.push(...(json['results'] as unknown[]));
      offset = json['offset'] as number | null;
      if (offset !== null) expect(offset).toBe(walkedRows.length);
    }
    expect(walkedRows).toEqual(expectedRows);
    expect((await queryFile(id, { limit: 1 })).json).toMatchObject({
      total: tableRows.length,
      offset: 1,
    });
    expect((await queryFile(id, { limit: 0 })).json).toMatchObject({
      total: tableRows.length,
      results: [],
    });
  });

  test('fields have the requested order, without the excluded ones', async () => {
    const someResults = (await queryFile(id, { fields: ['note', 'id'], limit: 3 })).json[
      'results'
    ] as TableRow[];
    expect(someResults).toEqual(tableRows.slice(0, 3).map(({ note, id }) => ({ note, id })));
    expect(someResults.map(Object.keys)).toEqual(someResults.map(() => ['note', 'id']));
    const restAnswer = await queryFile(id, { exclude_fields: ['note', 'nothing'], limit: 1 });
    expect(Object.keys((restAnswer.json['results'] as TableRow[])[0]!)).toEqual([
      'id',
      'gene',
      'score',
    ]);
  });

  test.each([
    ['csv', ','],
    ['tsv', '\t'],
  ])('output_format %s: each result is one line without header', async (format, delimiter) => {
    const { json } = await queryFile(id, {
      output_format: format,
      limit: 1_000,
      fields: ['note', 'id'],
    });
    const formatCell = (value: string | null): string => {
      const isQuoted = value?.includes('"') || value?.includes(delimiter);
      return isQuoted ? `"${value!.replaceAll('"', '""')}"` : (value ?? '');
    };
    expect(json['results']).toEqual(
      tableRows.map((row) => [row['note']!, row['id']!].map(formatCell).join(delimiter)),
    );
    expect(json['total']).toBe(tableRows.length);
  });
});

describe('refusals', () => {
  let id: number;
  beforeAll(async () => {
    id = await uploadFile('refusals.csv', 'a,b\n1,x\n');
  });

  test.each([
    [{ query: 'x' }, 'query'],
    [{ entities: [['gene', 'TP53']] }, 'entities'],
    [{ facets: { a: {} } }, 'facets'],
    [{ cursor: true }, 'cursor'],
    [{ output_format: 'xml' }, 'output_format'],
    [{ filters: [['b__regexp', 'x']] }, 'filters'],
    [{ filters: [{ not: [['b__regex', 'x']] }] }, 'filters'],
    [{ filters: [['c', 'x']] }, 'filters'],
    [{ filters: [['_id', 'x']] }, 'filters'],
    [{ filters: [['a__gt', 'x']] }, 'filters'],
    [{ fields: ['c'] }, 'fields'],
    [{ fields: ['_commit'] }, 'fields'],
    [{ limit: 10_001 }, 'limit'],
    [{ offset: -1 }, 'offset'],
  ])('%j is a 400 that names %s', async (body, key) => {
    const { status, json } = await queryFile(id, body);
    expect([status, Object.keys(json)]).toEqual([400, [key]]);
  });

  test('regular expressions are named', async () => {
    const { text } = await queryFile(id, { filters: [['b__regexp', 'x']] });
    expect(text).toContain('regexp');
  });

  test('files that cannot be queried say why', async () => {
    const postObject = (object: object): Promise<Answer> =>
      ann.post('/v2/objects', { vault_id: vaultId, ...object });
    const vcfId = await uploadFile('x.vcf.gz', gzipSync('##fileformat=VCFv4.2\n'));
    expect((await queryFile(vcfId)).text).toContain('.json, .jsonl, .csv, .txt, .tsv, .bed');
    const folderId = idOf(await postObject({ object_type: 'folder', filename: 'f' }));
    const datasetId = idOf(await postObject({ object_type: 'dataset', filename: 'd' }));
    const waitingId = idOf(await postObject({ object_type: 'file', filename: 'w.csv' }));
    for (const one of [vcfId, folderId, datasetId, waitingId]) {
      const fields = await ann.get(`/v2/objects/${one}/fields`);
      expect([(await queryFile(one)).status, fields.status]).toEqual([400, 400]);
    }
    expect((await queryFile(waitingId)).text).toContain('not been uploaded yet');
  });

  test('cells beyond the header are texts in columns named by position', async () => {
    const wideFileId = await uploadFile('wide.csv', 'a,b\n1,2\n\n1,2,3\n');
    const { json } = await queryFile(wideFileId);
    expect(json['results']).toMatchObject([{ a: '1', b: '2' }, { a: '1', b: '2', column_2: '3' }]);
  }); // prettier-ignore

  test.each([
    ['open.csv', 'a,b\n1,2\n"1,2\n', 'open.csv, line 3: a quote that is opened here'],
    ['bad.json', '{"a":1}\n{"a":\n', 'bad.json, line 2: '],
    ['not.csv.gz', 'PK\u0003\u0004', 'not.csv.gz'],
  ])('%s is a 400 with file, line and reason', async (name, bytes, reason) => {
    const badFileId = await uploadFile(name, bytes);
    for (let i = 0; i < 2; i++) {
      const { status, json } = await queryFile(badFileId);
      expect([status, String(json['detail'])]).toEqual([400, expect.stringContaining(reason)]);
    }
    expect(tableFilesOf(badFileId)).toEqual([]);
  });
});

describe('tables are created once', () => {
  test('a second query reads the table that the first has created', async () => {
    const id = await uploadFile('once.csv', tableTextOf(','));
    await queryFile(id);
    const tableFiles = tableFilesOf(id);
    expect(tableFiles.length).toBeGreaterThan(1);
    await queryFile(id, { filters: [['gene', 'TP53']] });
    await ann.get(`/v2/objects/${id}/fields`);
    expect(tableFilesOf(id)).toEqual(tableFiles);
  });

  test('administrators see the task with class=background; members see it in no list', async () => {
    const id = await uploadFile('task.csv', tableTextOf(','));
    await queryFile(id);
    const fetchTaskTypes = async (client: Client, query: string): Promise<readonly unknown[]> => {
      const { json } = await client.get(`/v2/tasks?source_object_id=${id}${query}`);
      return (json['data'] as { task_type: string }[]).map((task) => task.task_type);
    };
    const admin = await server.user('boss', { role: 'admin' });
    expect(await fetchTaskTypes(admin, '&class=background')).toEqual(['objects.FileTable']);
    for (const query of ['', '&class=background', '&task_type=objects.FileTable'])
      expect([query, await fetchTaskTypes(ann, query)]).toEqual([query, []]);
    expect(await fetchTaskTypes(admin, '')).toEqual([]);
  });

  test('two at once share one', async () => {
    const id = await uploadFile('both.csv', tableTextOf(','));
    const answers = await Promise.all([
      queryFile(id),
      queryFile(id),
      ann.get(`/v2/objects/${id}/fields`),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const folders = new Set(tableFilesOf(id).map((path) => path.split('/').at(-2)));
    expect(folders.size).toBe(1);
  });

  test('another upload brings another table, a deletion takes it', async () => {
    const id = await uploadFile('twice.csv', 'a\n1\n');
    expect((await queryFile(id)).json['results']).toEqual([{ a: '1' }]);
    const version = (await server.catalog.fileVersions.get(id, 1))!;
    const secondUrl =
      server.url + signUploadTarget(createUrlSigner(server.key), ann.user.id, version);
    expect((await sendRequest('', 'PUT', secondUrl, 'b\n2\n3\n')).status).toBe(200);
    expect(tableFilesOf(id)).toEqual([]);
    expect((await queryFile(id)).json).toMatchObject({
      results: [{ b: '2' }, { b: '3' }],
      total: 2,
    });
    await ann.delete(`/v2/objects/${id}`);
    expect(tableFilesOf(id)).toEqual([]);
    expect((await queryFile(id)).status).toBe(404);
  });

  test('those used longest ago go when the budget is reached', async () => {
    const [firstFileId, secondFileId] = [
      await uploadFile('1.csv', tableTextOf(',')),
      await uploadFile('2.csv', tableTextOf(',')),
    ];
    const changedBudgets = budgets as unknown as Record<string, number>;
    const budgetBefore = budgets.fileTableBytes;
    changedBudgets['fileTableBytes'] = 2.5 * (1 << 20); // space for two small tables
    try {
      await queryFile(firstFileId);
      await queryFile(secondFileId);
      await queryFile(firstFileId);
      await queryFile(await uploadFile('3.csv', tableTextOf(',')));
      expect([tableFilesOf(firstFileId).length > 0, tableFilesOf(secondFileId)]).toEqual([
        true,
        [],
      ]);
      expect((await queryFile(secondFileId)).json['total']).toBe(tableRows.length);
    } finally {
      changedBudgets['fileTableBytes'] = budgetBefore;
    }
  });

  test('whoever waits gets the table though the worker dies', async () => {
    const id = await uploadFile('dies.csv', tableTextOf(','));
    const pendingAnswer = queryFile(id);
    const pid = server.scheduler.status().workerPid!;
    process.kill(pid, 'SIGKILL');
    expect((await pendingAnswer).json).toMatchObject({ total: tableRows.length });
  });

  test('when no request waits any longer, the creation stops and leaves no files', async () => {
    const id = await uploadFile('left.csv', tableTextOf(','));
    const file = { objectId: id, revision: 1, filename: 'left.csv' };
    const abortController = new AbortController();
    const { fileTables } = server.scheduler;
    const abandonedUse = fileTables.use(file, abortController.signal, async () => 'never');
    abortController.abort();
    await expect(abandonedUse).rejects.toMatchObject({ code: 'canceled' });
    expect((await queryFile(id)).json).toMatchObject({ total: tableRows.length });
    const folders = new Set(tableFilesOf(id).map((path) => path.split('/').at(-2)));
    expect(folders.size).toBe(1);
  });
});

test('a file that is too large as a table is refused, and the budget is named (T0)', async () => {
  const ownServer = await startServer({ scheduler: { startWorker: startWorkerInProcess } });
  const changedBudgets = budgets as unknown as Record<string, number>;
  const budgetBefore = budgets.fileTableBytes;
  changedBudgets['fileTableBytes'] = 1_000;
  try {
    const ben = await ownServer.user('ben');
    const benVaultId = idOf(await ben.post('/v2/vaults', { name: 'Ben' }));
    const file = { vault_id: benVaultId, object_type: 'file', filename: 'large.csv' };
    const createdObject = await ben.post('/v2/objects', file);
    await sendRequest('', 'PUT', String(createdObject.json['upload_url']), tableTextOf(','));
    const { status, json } = await ben.post(`/v2/objects/${idOf(createdObject)}/data`, {});
    expect([status, json['detail']]).toEqual([
      400,
      expect.stringMatching(
        /^large\.csv takes more than .* as a table, the most that a file may take to be queried: import it into a dataset/,
      ),
    ]);
    expect(readdirSync(ownServer.data.fileTables)).toEqual([]);
  } finally {
    changedBudgets['fileTableBytes'] = budgetBefore;
    await ownServer.close();
  }
});

test(`damaged files are refused or read, by the worker alone (F18, seed ${seed})`, async () => {
  const pid = server.scheduler.status().workerPid;
  const jsonLines = tableRows.map((row) => `${JSON.stringify(row)}\n`).join('');
  const sources: readonly (readonly [string, Uint8Array])[] = [
    ['m.csv', Buffer.from(tableTextOf(','))],
    ['m.tsv.gz', gzipSync(tableTextOf('\t'))],
    ['m.json', Buffer.from(jsonLines)],
    ['m.tsv.bz2', readFileSync('test/fixtures/files/regions.tsv.bz2')],
  ];
  for (let i = 0; i < 24; i++) {
    const [name, bytes] = sources[i % sources.length]!;
    const damagedBytes = Uint8Array.from(bytes);
    for (let k = 0; k < 3; k++)
      damagedBytes[Math.floor(randomNumber() * damagedBytes.length)] = Math.floor(
        randomNumber() * 256,
      );
    const { status, json: answerJson } = await queryFile(await uploadFile(name, damagedBytes));
    const namesFile = status === 200 || String(answerJson['detail']).startsWith('m');
    expect([name, [200, 400].includes(status), namesFile]).toEqual([name, true, true]);
  }
  expect(server.scheduler.status().workerPid).toBe(pid);
});
