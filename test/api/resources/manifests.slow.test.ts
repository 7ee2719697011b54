import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { budgets } from '../../../engine/core/budgets.js';
import type { FetchLimits } from '../../../scheduler/fetch/fetch-limits.js';
import {
  httpResponse,
  responseHead,
  patientLimits,
  startScriptedHost,
  type ScriptedHost,
  type RespondToRequest,
} from '../../scheduler/fetch/host.js';
import {
  idOf,
  sendRequest,
  startServer,
  waitForJob,
  type Client,
  type TestServer,
} from '../server.js';

/** A server that may fetch from `sourceHost`, with a user and a vault of the user. */
interface FetchServerFixture {
  readonly server: TestServer;
  readonly ann: Client;
  readonly vaultId: number;
}

let fetchFixture: FetchServerFixture;
let server: TestServer;
let ann: Client;
let sourceHost: ScriptedHost;
let hostScript: RespondToRequest = (socket) => socket.end(responseHead(404, ['Content-Length: 0']));
beforeAll(async () => {
  sourceHost = await startScriptedHost((socket, text, nth) => hostScript(socket, text, nth));
  fetchFixture = await openFetchFixture();
  ({ server, ann } = fetchFixture);
});
afterAll(async () => {
  await server.close();
  await sourceHost.close();
});
afterEach(() => {
  const filesLeft = readdirSync(server.data.scratch).filter((name) => !name.startsWith('spill'));
  expect(filesLeft).toEqual([]);
});

async function openFetchFixture(limits: Partial<FetchLimits> = {}): Promise<FetchServerFixture> {
  const newServer = await startServer({
    scheduler: {
      config: { threads: 1, workerMemoryMb: 512, allowAddresses: [`127.0.0.1:${sourceHost.port}`] },
      fetchLimits: { ...patientLimits, retries: 1, ...limits },
      report: () => undefined, // reports are expected, because one test kills the worker
    },
  });
  const user = await newServer.user('ann');
  const vaultId = idOf(await user.post('/v2/vaults', { name: 'Lab' }));
  return { server: newServer, ann: user, vaultId };
}

const md5Of = (bytes: string | Uint8Array): string => createHash('md5').update(bytes).digest('hex');

let datasetCount = 0;
async function newDataset(fixture = fetchFixture): Promise<number> {
  datasetCount += 1;
  const body = { vault_id: fixture.vaultId, name: `d${datasetCount}` };
  return idOf(await fixture.ann.post('/v2/datasets', body));
}

async function newFile(
  filename: string,
  body: string | Uint8Array,
  fixture = fetchFixture,
): Promise<number> {
  const file = { vault_id: fixture.vaultId, object_type: 'file', filename };
  const createdObject = await fixture.ann.post('/v2/objects', file);
  await sendRequest('', 'PUT', String(createdObject.json['upload_url']), body);
  return idOf(createdObject);
}

/** Serves files by path, with the given headers. */
function serveFiles(
  files: Readonly<Record<string, string | Uint8Array>>,
  headers: readonly string[] = [],
): void {
  hostScript = (socket, text) => {
    const path = /^GET (\S+)/.exec(text)?.[1] ?? '';
    const body = files[path];
    socket.end(
      body === undefined ? responseHead(404, ['Content-Length: 0']) : httpResponse(body, headers),
    );
  };
}

async function runManifest(datasetId: number, files: unknown, fixture = fetchFixture) {
  const body = { dataset_id: datasetId, manifest: { files } };
  const createdImport = await fixture.ann.post('/v2/dataset_imports', body);
  if (createdImport.status !== 201)
    throw new Error(`${createdImport.status} ${createdImport.text}`);
  await fixture.server.scheduler.wait(Number(createdImport.json['task_id'])); // resolves after the scratch folder has been deleted too
  return (await waitForJob(fixture.ann, `/v2/dataset_imports/${idOf(createdImport)}`)).json;
}

async function fetchRecords(
  datasetId: number,
  fixture = fetchFixture,
): Promise<readonly unknown[]> {
  const body = { limit: 10_000, exclude_fields: ['_id', '_commit'] };
  return (await fixture.ann.post(`/v2/datasets/${datasetId}/data`, body)).json[
    'results'
  ] as unknown[];
}

const vcfText = [
  '##fileformat=VCFv4.2',
  '##INFO=<ID=DP,Number=1,Type=Integer,Description="Depth">',
  '#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO',
  '1\t100\trs1\tA\tT\t50\tPASS\tDP=10',
  '2\t200\t.\tG\tC,T\t.\tq10\tDP=20',
  '',
].join('\n');
const sampleFiles: Readonly<Record<string, string | Uint8Array>> = {
  '/a.vcf.gz': gzipSync(vcfText),
  '/b.json': '{"gene":"TP53","n":1}\n{"gene":"KRAS","n":2}\n',
  '/c.csv': 'gene;score\nBRCA2;0.5\n',
  '/d.tsv': 'gene\tnote\nEGFR\tx\n',
  '/e.gff3': '##gff-version 3\nchr1\tx\tgene\t1\t9\t.\t+\t.\tID=g1\n',
  '/f.xml': '<root><item><gene>MYC</gene></item></root>',
};

describe('a manifest', () => {
  test('of URLs of several formats comes to the same as the uploaded files', async () => {
    serveFiles(sampleFiles);
    const paramsOf = (path: string): object =>
      path === '/c.csv' ? { reader_params: { delimiter: ';' } } : { reader_params: null };
    const paths = Object.keys(sampleFiles);
    const urlDatasetId = await newDataset();
    const urlImport = await runManifest(
      urlDatasetId,
      paths.map((path) => {
        const bytes = Buffer.from(sampleFiles[path]!);
        return {
          url: sourceHost.url(path),
          size: bytes.length,
          md5: md5Of(bytes),
          ...paramsOf(path),
        };
      }),
    );
    expect([urlImport['status'], urlImport['error_message']]).toEqual(['completed', null]);
    const uploadDatasetId = await newDataset();
    const files: object[] = [];
    for (const path of paths) {
      const id = await newFile(path.slice(1), sampleFiles[path]!);
      files.push({ object_id: id, md5: md5Of(sampleFiles[path]!), ...paramsOf(path) });
    }
    expect((await runManifest(uploadDatasetId, files))['status']).toBe('completed');
    const urlRecords = await fetchRecords(urlDatasetId);
    expect(urlRecords).toHaveLength(3 + 2 + 1 + 1 + 1 + 1);
    expect(urlRecords).toEqual(await fetchRecords(uploadDatasetId));
    expect(urlImport['manifest']).toMatchObject({
      files: [{ url: sourceHost.url('/a.vcf.gz') }, {}, {}, {}, {}, {}],
    });
    expect(urlImport['source']).toBe('manifest');
    // All files of a manifest are imported by one commit.
    const commits = await ann.get(`/v2/datasets/${urlDatasetId}/commits`);
    expect(commits.json['total']).toBe(1);
  });

  test('may mix URLs and objects, and name the format where no name does', async () => {
    serveFiles({
      '/download?id=1': '{"n":1}\n',
      '/x': 'n\tm\n2\ta\n',
      '/y.txt': '{"n":3}\n',
      '/z': '{"n":5}\n',
    });
    const datasetId = await newDataset();
    const endedImport = await runManifest(datasetId, [
      { url: sourceHost.url('/download?id=1'), name: 'export.json' },
      { url: sourceHost.url('/x'), format: 'tsv' },
      { url: sourceHost.url('/y.txt'), reader_params: { reader: 'json' } },
      { object_id: await newFile('w.json', '{"n":4}\n'), url: '' },
      { url: sourceHost.url('/z'), format: '.JSON.gz', name: 'z.vcf' },
    ]);
    expect([endedImport['status'], endedImport['error_message']]).toEqual(['completed', null]);
    expect((await fetchRecords(datasetId)).map((row) => (row as { n: unknown }).n)).toEqual([
      1, 2, 3, 4, 5,
    ]);
  });

  test('names each file that is wrong, all of them at once, and makes no task', async () => {
    const datasetId = await newDataset();
    const tasksBefore = (await ann.get('/v2/tasks')).json['total'];
    const fileId = await newFile('ok.json', '{}\n');
    const url = 'https://example.org/a.json';
    const cases: readonly (readonly [object, string])[] = [
      [{ name: 'n' }, 'Each file must have a url or an object_id; File 1 "n" has neither.'],
      [
        { url: null, object_id: '' },
        'Each file must have a url or an object_id; File 1 has neither.',
      ],
      [{ url, object_id: fileId }, 'File 1, url: Give only one of url and object_id.'],
      [{ url: 'ftp://x/a.json' }, 'File 1, url: The url must begin with http or https.'],
      [{ url: 'http://u:p@x/a.json' }, 'File 1, url: The url must not hold credentials.'],
      [
        { url: 'http://x:22/a.json', name: 'b' },
        'File 1 "b", url: The url must have port 80, 443 or one from 1024 on.',
      ],
      [{ url: 7 }, 'File 1, url: The url is not a URL.'],
      [{ object_id: 1 }, 'File 1, object_id: Invalid object "1".'],
      [
        { object_id: datasetId },
        `File 1, object_id: Object "${datasetId}" is a dataset, not a file.`,
      ],
      [{ url, size: -1 }, 'File 1 "a.json", size: Must not be negative.'],
      [{ url, size: 'big' }, 'File 1 "a.json", size: A valid integer is required.'],
      [{ url, md5: 'x' }, 'File 1 "a.json", md5: Must be 32 hex digits.'],
      [{ url, base64_md5: 'x' }, 'File 1 "a.json", base64_md5: Must be 16 bytes in base64.'],
      [
        { url, md5: '0'.repeat(32), base64_md5: Buffer.alloc(16, 1).toString('base64') },
        'File 1 "a.json", base64_md5: Is not the same as md5.',
      ],
      [{ url, reader_params: [1] }, 'File 1 "a.json", reader_params: Must be a JSON object.'],
      [{ url, entity_params: 'x' }, 'File 1 "a.json", entity_params: Must be a JSON object.'],
      [
        { url, entity_params: { sample_count: -1 } },
        'File 1 "a.json", entity_params: sample_count: Must be from 1 to 1000.',
      ],
      [
        { url, validation_params: { disable: 'perhaps' } },
        'File 1 "a.json", validation_params: disable: Must be a valid boolean.',
      ],
      [{ url, reader_params: { reader: 'odd' } }, 'unknown reader "odd"'],
      [{ url, format: 'odd' }, 'File 1 "a.json", format: unknown format "odd"'],
      [{ url: 'https://example.org/a.odd' }, 'no reader for the file name "a.odd"'],
      [{ url: 'https://example.org/' }, 'no reader for the file name "example.org"'],
      [
        { url: 'https://example.org/a.csv', reader_params: { delimiter: 'long' } },
        'File 1 "a.csv", reader_params: ',
      ],
    ];
    for (const [entry, expected] of cases) {
      const manifest = { files: [entry] };
      const { status, json } = await ann.post('/v2/dataset_imports', {
        dataset_id: datasetId,
        manifest,
      });
      expect([entry, status, Object.keys(json)]).toEqual([entry, 400, ['manifest']]);
      expect((json['manifest'] as string[]).join()).toContain(expected);
    }
    const allEntries = cases.map(([entry]) => entry);
    const refusedAnswer = await ann.post('/v2/dataset_imports', {
      dataset_id: datasetId,
      manifest: { files: allEntries },
    });
    const manifestErrors = (refusedAnswer.json['manifest'] as string[]).join('\n');
    for (let i = 1; i <= allEntries.length; i += 1) expect(manifestErrors).toContain(`File ${i}`);
    for (const files of [undefined, null, [], {}, 'x', [1], [[]], [null]]) {
      const manifest = { files, other: 1 };
      const { status, json } = await ann.post('/v2/dataset_imports', {
        dataset_id: datasetId,
        manifest,
      });
      expect([files, status, Object.keys(json)]).toEqual([files, 400, ['manifest']]);
    }
    expect((await ann.get('/v2/tasks')).json['total']).toBe(tasksBefore);
  });

  test('T0: has a thousand files at most (manifestFiles)', async () => {
    const datasetId = await newDataset();
    const postManifest = (count: number) =>
      ann.post('/v2/dataset_imports', {
        dataset_id: datasetId,
        manifest: { files: Array.from({ length: count }, () => ({ url: 'ftp://x/' })) },
      });
    expect((await postManifest(budgets.manifestFiles)).text).toContain('File 1000, url');
    expect((await postManifest(budgets.manifestFiles + 1)).json).toEqual({
      manifest: ['A manifest takes at most 1000 files, not 1001: split them over several imports.'],
    });
  });

  test('whose uploaded file is another one than it says fails before it is read', async () => {
    const datasetId = await newDataset();
    const id = await newFile('m.json', '{"n":1}\n');
    const goodMd5 = md5Of('{"n":1}\n');
    const base64 = Buffer.from(goodMd5, 'hex').toString('base64');
    for (const [entry, expected] of [
      [
        { md5: '0'.repeat(32) },
        `m.json: its md5 is ${goodMd5}, not ${'0'.repeat(32)} as the manifest says`,
      ],
      [{ base64_md5: Buffer.alloc(16).toString('base64') }, `m.json: its md5 is ${goodMd5}`],
      [{ size: 9 }, 'm.json: has 8 bytes, not the 9 that the manifest says (size)'],
    ] as const) {
      const endedImport = await runManifest(datasetId, [{ object_id: id, ...entry }]);
      expect(endedImport['status']).toBe('failed');
      expect(endedImport['error_message']).toContain(expected);
    }
    expect(await fetchRecords(datasetId)).toEqual([]);
    const rightEntry = { object_id: id, md5: goodMd5.toUpperCase(), base64_md5: base64, size: '8' };
    expect((await runManifest(datasetId, [rightEntry]))['status']).toBe('completed');
  });
});

describe('N8: an encoding on top of the file', () => {
  const text = '{"n":1}\n{"n":2}\n';
  const gzipBytes = gzipSync(text);
  test.each([
    ['/a.json', text, []],
    ['/a.json.gz', gzipBytes, []],
    ['/a.json', gzipBytes, ['Content-Encoding: gzip']],
    ['/a.json.gz', gzipSync(gzipBytes), ['Content-Encoding: gzip']],
    ['/a.json.gz', gzipBytes, ['Content-Encoding: x-gzip']],
    ['/a.json', brotliCompressSync(text), ['Content-Encoding: br']],
  ] as const)('%s gives the same records (%#)', async (path, body, headers) => {
    serveFiles({ [path]: body }, headers);
    const datasetId = await newDataset();
    const endedImport = await runManifest(datasetId, [{ url: sourceHost.url(path) }]);
    expect([endedImport['status'], endedImport['error_message']]).toEqual(['completed', null]);
    expect(await fetchRecords(datasetId)).toEqual([{ n: 1 }, { n: 2 }]);
  });

  test('but no third layer is removed', async () => {
    serveFiles({ '/a.json.gz': gzipSync(gzipSync(gzipBytes)) }, ['Content-Encoding: gzip']);
    const datasetId = await newDataset();
    const endedImport = await runManifest(datasetId, [{ url: sourceHost.url('/a.json.gz') }]);
    expect(endedImport['status']).toBe('failed');
    expect(endedImport['error_message']).toMatch(/compressed twice/);
  });
});

describe('N6, N9: a host that fails leaves nothing', () => {
  const marker = 'internal-secret-marker';
  const goodText = '{"n":1}\n';
  test.each<[string, RespondToRequest, RegExp, Partial<FetchLimits>]>([
    [
      'answers never',
      () => undefined,
      /its host sent no answer within 0.3 s, the longest that is waited: try again later, or upload the file/,
      { firstByteMs: 300 },
    ],
    [
      'stops',
      (socket) => void socket.write(`${responseHead(200, ['Content-Length: 99'])}{"n":2}\n`),
      /its host sent no further bytes within 0.3 s, the longest/,
      { idleMs: 300 },
    ],
  ])('when it %s', async (_, respondBadly, expected, limits) => {
    // On a busy machine, even a good host may exceed so short a limit, so this server fetches only from the bad host.
    const impatientFixture = await openFetchFixture(limits);
    try {
      const goodId = await newFile('good.json', goodText, impatientFixture);
      await expectNothing(impatientFixture, { object_id: goodId }, respondBadly, expected);
    } finally {
      await impatientFixture.server.close();
    }
  });

  const cases: readonly (readonly [string, RespondToRequest, RegExp, object?])[] = [
    [
      'breaks off',
      (socket) => void socket.end(httpResponse(`{"n":2}\n`, ['Content-Length: 99'])),
      /the connection broke off/,
    ],
    [
      'lies about the length',
      (socket) => void socket.end(httpResponse('{"n":2}\n{"n":3}\n', ['Content-Length: 8'])),
      /more than its Content-Length/,
    ],
    [
      'sends more than size',
      (socket) => void socket.end(httpResponse(goodText.repeat(2))),
      /more than the 8 bytes/,
      { size: 8 },
    ],
    [
      'sends other bytes',
      (socket) => void socket.end(httpResponse(goodText)),
      /its md5 is [0-9a-f]{32}, not 0{32}/,
      { md5: '0'.repeat(32) },
    ],
    [
      'answers with an error',
      (socket) =>
        void socket.end(
          `HTTP/1.1 500 ${marker}\r\nX: ${marker}\r\nContent-Length: ${marker.length}\r\n\r\n${marker}`,
        ),
      /answered with status 500/,
    ],
    [
      'leads inside',
      (socket) =>
        void socket.end(
          responseHead(302, [`Location: http://10.9.8.7/${marker}`, 'Content-Length: 0']),
        ),
      /address not allowed/,
    ],
    [
      'speaks another language',
      (socket) => void socket.end(`${marker}\r\n\r\n`),
      /its answer is not HTTP/,
    ],
  ];
  test.each(cases)('when it %s', (_, respondBadly, expected, more = {}) =>
    expectNothing(
      fetchFixture,
      { url: sourceHost.url('/good.json') },
      respondBadly,
      expected,
      more,
    ),
  );

  /** Imports a good file and a file of a bad host: the import fails with the expected message and stores nothing. */
  async function expectNothing(
    fixture: FetchServerFixture,
    goodFile: object,
    respondBadly: RespondToRequest,
    expected: RegExp,
    more: object = {},
  ): Promise<void> {
    const datasetId = await newDataset(fixture);
    const version = (await fixture.server.store.snapshot(datasetId)).version;
    hostScript = (socket, text, nth) => {
      if (text.includes('/good.json')) socket.end(httpResponse(goodText));
      else respondBadly(socket, text, nth);
    };
    const files = [goodFile, { url: sourceHost.url('/bad.json?secret=of-the-user'), ...more }];
    const endedImport = await runManifest(datasetId, files, fixture);
    expect(endedImport['status']).toBe('failed');
    expect(endedImport['error_message']).toMatch(expected);
    expect(endedImport['error_message']).toMatch(/^bad\.json: /);
    expect((await fixture.server.store.snapshot(datasetId)).version).toBe(version);
    expect(await fetchRecords(datasetId, fixture)).toEqual([]);
    const seenTexts = [
      (await fixture.ann.get('/v2/tasks')).text,
      (await fixture.ann.get(`/v2/tasks/${String(endedImport['task_id'])}`)).text,
      JSON.stringify(endedImport),
      fixture.server.logs.join('\n'),
    ].join('\n');
    for (const secret of [marker, '10.9.8.7', '127.0.0.1:1']) {
      // The import itself names the host of the manifest, because the user wrote it.
      expect(seenTexts.replaceAll(`127.0.0.1:${sourceHost.port}`, '')).not.toContain(secret);
    }
  }

  test('N1: when its address is nobody’s public host, of a name or a number', async () => {
    const connectionsBefore = sourceHost.connectionCount;
    for (const host of ['127.0.0.2', 'localhost', '2130706434', '[::1]', '10.0.0.1']) {
      const datasetId = await newDataset();
      const endedImport = await runManifest(datasetId, [
        { url: `http://${host}:${sourceHost.port + 1}/a.json` },
      ]);
      expect([host, endedImport['status'], endedImport['error_message']]).toEqual([
        host,
        'failed',
        'a.json: address not allowed',
      ]);
    }
    expect(sourceHost.connectionCount).toBe(connectionsBefore);
  });
});

test('a canceled import stops fetching at once', async () => {
  let hasEnded = false;
  const fetchBegin = new Promise<void>((resolve) => {
    hostScript = (socket) => {
      socket.on('close', () => (hasEnded = true));
      socket.write(`${responseHead(200, ['Content-Length: 1000000'])}{`, () => resolve());
    };
  });
  const datasetId = await newDataset();
  const manifest = { files: [{ url: sourceHost.url('/a.json') }] };
  const id = idOf(await ann.post('/v2/dataset_imports', { dataset_id: datasetId, manifest }));
  await fetchBegin;
  const cancelAnswer = await ann.put(`/v2/dataset_imports/${id}`, { status: 'canceled' });
  expect([cancelAnswer.status, cancelAnswer.json['status']]).toEqual([200, 'canceled']);
  expect(hasEnded).toBe(true);
});

test('a worker that dies while it fetches costs a second try and nothing else', async () => {
  let kills = 0;
  hostScript = (socket) => {
    const { workerPid } = server.scheduler.status();
    if (kills === 0 && workerPid !== null) {
      kills += 1;
      process.kill(workerPid, 'SIGKILL');
    } else socket.end(httpResponse('{"n":1}\n'));
  };
  const datasetId = await newDataset();
  const endedImport = await runManifest(datasetId, [{ url: sourceHost.url('/a.json') }]);
  expect([kills, endedImport['status'], endedImport['error_message']]).toEqual([
    1,
    'completed',
    null,
  ]);
  expect(await fetchRecords(datasetId)).toEqual([{ n: 1 }]);
});

test('a file of another host is listed with its progress', async () => {
  const body = '{"n":1}\n'.repeat(50_000);
  serveFiles({ '/p.json': body });
  const datasetId = await newDataset();
  const endedImport = await runManifest(datasetId, [{ url: sourceHost.url('/p.json') }]);
  expect(endedImport['metadata']).toMatchObject({
    progress: { processed_records: 50_000, total_bytes: body.length, percent: 100 },
  });
  expect(readFileSync('README.md', 'utf8')).toContain('allow-addresses');
});
