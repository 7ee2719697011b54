import { beforeAll, expect, test } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { startServerFixture } from '../api/server-fixture.js';
import { idOf, makeVaultFixture, sendRequest, waitForJob, type Answer } from '../api/server.js';
import { compressBgzf } from '../readers/source/bgzf.js';
import { seed } from '../seed.js';

let datasetId: number;
const { server, ann, vaultId } = await startServerFixture();
beforeAll(async () => {
  datasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'd' }));
});

/** Uploads a file and imports it into the dataset; returns the ended import, or the answer that refuses it. */
async function importFile(filename: string, bytes: Uint8Array): Promise<Answer> {
  const createdObject = await ann.post('/v2/objects', {
    vault_id: vaultId,
    object_type: 'file',
    filename,
  });
  await sendRequest('', 'PUT', String(createdObject.json['upload_url']), bytes);
  const body = { dataset_id: datasetId, object_id: idOf(createdObject) };
  const createdImport = await ann.post('/v2/dataset_imports', body);
  return createdImport.status === 201
    ? waitForJob(ann, `/v2/dataset_imports/${idOf(createdImport)}`)
    : createdImport;
}

const fetchTotalRecords = async (): Promise<unknown> =>
  (await ann.post(`/v2/datasets/${datasetId}/data`, { limit: 0 })).json['total'];

let randomState = seed;
const randomBelow = (limit: number): number => {
  randomState = (Math.imul(randomState, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((randomState / 2 ** 32) * limit);
};

/** Returns a file with a few bytes changed and, in half of the cases, a random range left out or repeated. */
function mutateBytes(bytes: Uint8Array): Uint8Array {
  const copy = Buffer.from(bytes);
  for (let i = 0; i < 1 + randomBelow(6); i += 1) copy[randomBelow(copy.length)] = randomBelow(256);
  const [from, to] = [randomBelow(copy.length), randomBelow(copy.length)];
  const cutBytes = Buffer.concat([copy.subarray(0, from), copy.subarray(to)]);
  return randomBelow(2) === 0 ? copy : cutBytes;
}

const vcfBytes = Buffer.from(
  '##fileformat=VCFv4.2\n##INFO=<ID=AF,Number=A,Type=Float,Description="x">\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n' +
    Array.from({ length: 60 }, (_, i) => `1\t${i + 1}\t.\tA\tC\t.\tPASS\tAF=0.${i}\n`).join(''),
);
const jsonBytes = Buffer.from(
  Array.from({ length: 60 }, (_, i) => `{"a":${i},"b":"é"}\n`).join(''),
);

test(`F18: files that damage a parser touch neither the server nor another client (seed ${seed})`, async () => {
  const otherUser = await server.user('ben');
  const { datasetId: otherDatasetId } = await makeVaultFixture(otherUser, 'Ben');
  const endController = new AbortController();
  let queryCount = 0;
  const otherClient = (async () => {
    for (; !endController.signal.aborted; queryCount += 1) {
      const { status, json: answerJson } = await otherUser.post(
        `/v2/datasets/${otherDatasetId}/data`,
        {},
      );
      expect([status, answerJson['total']]).toEqual([200, 2]);
    }
  })();
  const pid = server.scheduler.status().workerPid;
  const corpus = readdirSync('test/fixtures/bad').filter((name) => !name.endsWith('.md'));
  const files: (readonly [string, Uint8Array])[] = [
    ...corpus.map((name) => [name, readFileSync(join('test/fixtures/bad', name))] as const),
    ...Array.from({ length: 12 }, () => ['m.vcf', mutateBytes(vcfBytes)] as const),
    ...Array.from({ length: 6 }, () => ['m.vcf.gz', mutateBytes(gzipSync(vcfBytes))] as const),
    ...Array.from(
      { length: 6 },
      () => ['m.vcf.gz', mutateBytes(compressBgzf(vcfBytes, 500))] as const,
    ),
    ...Array.from({ length: 12 }, () => ['m.json', mutateBytes(jsonBytes)] as const),
    ...Array.from({ length: 6 }, () => ['m.json.gz', mutateBytes(gzipSync(jsonBytes))] as const),
    [
      'keys.json',
      Buffer.from(`{${Array.from({ length: 300_000 }, (_, i) => `"k${i}":1`).join()}}\n`),
    ],
    ['deep.json', Buffer.from(`${'{"a":'.repeat(500_000)}1`)],
  ];
  for (const [name, bytes] of files) {
    const totalBefore = await fetchTotalRecords();
    const endedImport = await importFile(name, bytes);
    const status = endedImport.status === 400 ? 'refused' : endedImport.json['status'];
    expect([name, ['completed', 'failed', 'refused'].includes(String(status))]).toEqual([
      name,
      true,
    ]);
    if (status === 'failed') {
      // The message must name the file, and the dataset must be unchanged.
      expect(String(endedImport.json['error_message'])).toContain(name.replace(/\..*/, ''));
      expect(await fetchTotalRecords()).toBe(totalBefore);
    }
  }
  endController.abort();
  await otherClient;
  expect(queryCount).toBeGreaterThan(10);
  // The worker process must have survived all files.
  expect(server.scheduler.status().workerPid).toBe(pid);
});

test('F1: a bomb of gzip in gzip, and one of many spaces, end with a reason', async () => {
  const zeros = gzipSync(Buffer.alloc(80 << 20), { level: 9 });
  const totalBefore = await fetchTotalRecords();
  for (const [name, bytes, reason] of [
    ['twice.json.gz', gzipSync(gzipSync('{"a":1}\n')), /compressed twice/],
    ['twice.vcf', gzipSync(zeros), /compressed twice/],
    ['zeros.json.gz', zeros, /longer than 64 MiB/],
  ] as const) {
    const endedImport = await importFile(name, bytes);
    expect([name, endedImport.json['status']]).toEqual([name, 'failed']);
    expect(String(endedImport.json['error_message'])).toMatch(reason);
  }
  expect(await fetchTotalRecords()).toBe(totalBefore);
});

test.each<readonly [string, Uint8Array, string, RegExp | number]>([
  ['gzip.json', gzipSync('{"a":1}\n'), 'completed', 1],
  ['plain.json.gz', Buffer.from('{"a":1}\n'), 'completed', 1],
  ['mark.json', Buffer.from('\ufeff{"a":1}\n'), 'completed', 1],
  ['empty.json', Buffer.alloc(0), 'completed', 0],
  ['zip.json', Buffer.from('PK\u0003\u0004rest of it'), 'failed', /zip archive/],
  [
    'page.json',
    Buffer.from('<!DOCTYPE html><html><body>404</body></html>'),
    'failed',
    /web page|HTML/i,
  ],
  ['page.vcf', Buffer.from('<html>Not found</html>'), 'failed', /web page|HTML/i],
  ['wide.json', Buffer.from('\ufeff{"a":1}\n', 'utf16le'), 'failed', /UTF-16/],
  ['nul.json', Buffer.from('{"a":1}\n\u0000\u0000\n'), 'failed', /line 2/],
])('F4: %s is what its bytes say', async (name, bytes, status, expectedDetail) => {
  const totalBefore = Number(await fetchTotalRecords());
  const endedImport = await importFile(name, bytes);
  expect(endedImport.json['status']).toBe(status);
  if (typeof expectedDetail === 'number')
    expect(Number(await fetchTotalRecords()) - totalBefore).toBe(expectedDetail);
  else expect(String(endedImport.json['error_message'])).toMatch(expectedDetail);
});
