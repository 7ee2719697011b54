import { beforeAll, expect, test } from '@jest/globals';
import { gunzipSync } from 'node:zlib';
import type { RawContent } from '../../../api/http/operation-row.js';
import { exportResource } from '../../../api/resources/exports/export.js';
import { operations } from '../../../api/resources/index.js';
import { startServerFixture } from '../server-fixture.js';
import { idOf, waitForJob } from '../server.js';
import { exampleUrlQueriesOf } from './example-queries.js';

/*
 * The test calls every operation whose body or answer is not JSON with a declared schema. It sends the example of the body, once for each
 * media type that the answer may have; the answer must have that media type and the shape of the example.
 */

const uploadExample = exampleBodyOf('uploads.put');
const { server, ann, vaultId, newDataset } = await startServerFixture({
  limits: { multipartBytes: uploadExample.length },
});
const password = new URLSearchParams(exampleBodyOf('authorization.decide')).get('password');
let ada: Awaited<ReturnType<typeof server.user>>;
let sharedVaultId: number;
let authorizePath: string;
let singleUploadUrl: string;
let partUploadUrl: string;
let exportUrl: string;
let rejectedUrl: string;

beforeAll(async () => {
  ada = await server.user('ada', { role: 'admin' });
  await ada.put('/v1/user/password', { password });
  sharedVaultId = idOf(await ada.post('/v2/vaults', { name: 'Shared' }));
  await ada.put(`/v2/vaults/${sharedVaultId}/permissions`, { user_id: ann.user.id, permission: 'read' }); // prettier-ignore
  const application = { name: 'Browser', redirect_uris: 'https://apps.example.org/callback' };
  const client_id = idOf(await ada.post('/v2/applications', application));
  authorizePath = `/authorize?${exampleQueryOf('authorization.page', { client_id })}`;
  const newFile = (more: object) =>
    ann.post('/v2/objects', { vault_id: vaultId, object_type: 'file', filename: 'a.csv', ...more });
  singleUploadUrl = String((await newFile({})).json['upload_url']);
  const largeFile = await newFile({ filename: 'b.csv', size: uploadExample.length });
  [{ upload_url: partUploadUrl }] = largeFile.json['presigned_urls'] as [{ upload_url: string }];
  const datasetId = await newDataset();
  const records = [{ gene: 'MYH7', variant: 'GRCH38-14-23424840-23424840-T', n: 1 }];
  await ann.post('/v2/dataset_imports', { dataset_id: datasetId, records });
  const exportExample = exportResource.createSchema.example as object;
  const createdExport = await ann.post('/v2/dataset_exports', { ...exportExample, dataset_id: datasetId }); // prettier-ignore
  exportUrl = `/v2/dataset_exports/${idOf(createdExport)}`;
  await waitForJob(ann, exportUrl);
  const badRecords = [
    { n: 'x', gene: 'MYH7' },
    { n: 2, gene: 'MYH7' },
  ];
  const failedImport = await ann.post('/v2/dataset_imports', {
    dataset_id: datasetId,
    records: badRecords,
  });
  rejectedUrl = `/v2/dataset_imports/${idOf(failedImport)}/rejected`;
});

/** For each operation, a function that carries it out for a media type of its answer. */
const senderByOperation: Readonly<Record<string, (mediaType: string) => Promise<Response>>> = {
  'root.head': () => send('/', { method: 'HEAD' }),
  swagger: () => send('/swagger'),
  docs: () => send('/docs'),
  join: () => send('/join'),
  metrics: () => send('/metrics'),
  'auditLog.export': (mediaType) => {
    const format = mediaType === 'text/csv' ? 'csv' : 'jsonl';
    const liveValues = { format, user_id: ada.user.id, subject_id: sharedVaultId };
    return send(`/v2/audit_log/export?${exampleQueryOf('auditLog.export', liveValues)}`, {
      headers: { authorization: `Bearer ${ada.token}` },
    });
  },
  'uploads.put': () => send(singleUploadUrl, { method: 'PUT', body: uploadExample }),
  'uploads.part': () => send(partUploadUrl, { method: 'PUT', body: exampleBodyOf('uploads.part') }),
  'downloads.object': async () => {
    const [, id] = /uploads\/(\d+)/.exec(singleUploadUrl)!;
    return send(await fetchDownloadUrl(`/v2/objects/${id}/download`));
  },
  'downloads.export': async () => send(await fetchDownloadUrl(`${exportUrl}/download`)),
  'downloads.rejected': async () => send(await fetchDownloadUrl(rejectedUrl)),
  'authorization.page': () => send(authorizePath),
  'authorization.decide': () => submitForm(authorizePath, exampleBodyOf('authorization.decide')),
  'authorization.linkPage': async () => send(await createSignInLink()),
  'authorization.useLink': async () =>
    submitForm(await createSignInLink(), exampleBodyOf('authorization.useLink')),
};

const isRaw = (content: object | undefined): content is RawContent =>
  content !== undefined && 'examples' in content;
const rawOperations = Object.values(operations).filter(
  ({ body, answer }) => isRaw(body) || isRaw(answer),
);
const cases = rawOperations.flatMap(({ id, answer }) => {
  const mediaTypes = isRaw(answer) ? Object.keys(answer.examples) : [];
  return (mediaTypes.length === 0 ? [''] : mediaTypes).map((mediaType) => [id, mediaType] as const);
});

test.each(cases)('%s answers as its example of %j shows', async (id, mediaType) => {
  const { status, answer, summary } = operations[id]!;
  const { description, examples } = answer as RawContent;
  expect([description, summary]).not.toContain('');
  const response = await senderByOperation[id]!(mediaType);
  expect([id, response.status]).toEqual([id, status]);
  const bytes = Buffer.from(await response.arrayBuffer());
  if (mediaType === '') {
    expect(bytes.toString()).toBe('');
    for (const [, header] of description.matchAll(/header `([\w-]+)`/g))
      expect(response.headers.get(header!)).toMatch(/./);
    return;
  }
  expect(response.headers.get('content-type')?.split(';')[0]).toBe(mediaType);
  const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
  expect(isGzip).toBe(description.includes('gzip'));
  const text = (isGzip ? gunzipSync(bytes) : bytes).toString();
  expectShapeOf(examples[mediaType]!, text);
});

test('no operation with such content is left out', () => {
  expect(rawOperations.map(({ id }) => id).toSorted()).toEqual(
    Object.keys(senderByOperation).toSorted(),
  );
});

/**
 * Expects that a text has the shape of its example: a page begins with it, the first lines of JSON lines have the same keys, the metrics
 * have each of its lines except for the numbers, and CSV has the same header line.
 */
function expectShapeOf(example: string, text: string): void {
  const [shownLine, line] = [example, text].map((one) => one.split(/\r?\n/)[0]!) as [
    string,
    string,
  ];
  if (example.startsWith('<')) expect(text.slice(0, example.length)).toBe(example);
  else if (example.startsWith('{')) expect(keysOf(line)).toEqual(keysOf(shownLine));
  else if (example.startsWith('#'))
    expect(linesWithoutNumbersIn(text)).toEqual(
      expect.arrayContaining(linesWithoutNumbersIn(example)),
    );
  else expect(line).toBe(shownLine);
}

function keysOf(line: string): readonly string[] {
  return Object.keys(JSON.parse(line) as object).toSorted();
}

function linesWithoutNumbersIn(text: string): string[] {
  return text.split('\n').map((line) => line.replace(/ [\d.e+]+$/, ' 0'));
}

function exampleBodyOf(id: string): string {
  return Object.values((operations[id]!.body as RawContent).examples)[0]!;
}

function send(path: string, options: RequestInit = {}): Promise<Response> {
  return fetch(path.startsWith('http') ? path : server.url + path, { redirect: 'manual', ...options }); // prettier-ignore
}

/** Submits a form of a page, with the token of the page in place of that of the example. */
async function submitForm(path: string, example: string): Promise<Response> {
  const page = await send(path);
  const cookie = page.headers.get('set-cookie')!.split(';')[0]!;
  const [, csrfToken] = /name="csrf_token" value="(\w+)"/.exec(await page.text())!;
  const body = new URLSearchParams(example);
  expect(body.get('csrf_token')).toHaveLength(csrfToken!.length);
  body.set('csrf_token', csrfToken!);
  return send(path, { method: 'POST', body, headers: { cookie } });
}

async function createSignInLink(): Promise<string> {
  const code = await server.catalog.signIns.create('link', ada.user.id, server.key);
  return `/v1/oauth2/sign_in?${exampleQueryOf('authorization.linkPage', { code })}`;
}

/**
 * Returns the query string with the examples of those parameters of an operation that need no certain values of others, and `liveValues`
 * in place of the examples of the same name.
 */
function exampleQueryOf(id: string, liveValues: Readonly<Record<string, string | number>>): string {
  return exampleUrlQueriesOf(operations[id]!, liveValues).at(-1)!;
}

async function fetchDownloadUrl(path: string): Promise<string> {
  const { json } = await ann.get(`${path}?redirect=`);
  return String(json['download_url']);
}
