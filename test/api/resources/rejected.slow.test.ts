import { describe, expect, test } from '@jest/globals';
import { readdir } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import { startLab } from '../lab.js';
import { grant, idOf, type Answer } from '../server.js';

const { server, ann, vaultId } = await startLab();

let count = 0;
/** A dataset whose `n` is a long. */
async function newDataset(): Promise<number> {
  const id = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: `d${++count}` }));
  await run(id, [{ n: 1 }]);
  return id;
}
const run = (datasetId: number, records: readonly object[]): Promise<Answer> =>
  ann.post('/v2/dataset_imports', { dataset_id: datasetId, records });
const path = (answer: Answer): string => `/v2/dataset_imports/${idOf(answer)}/rejected`;

describe('what an import rejected', () => {
  test('can be downloaded with its reasons, once the import has failed', async () => {
    const datasetId = await newDataset();
    const failed = await run(datasetId, [{ n: 2 }, { n: 'ü' }, { n: 3 }, { n: [4] }]);
    expect(failed.json).toMatchObject({
      status: 'failed',
      metadata: {
        receipt: {
          records_read: 4,
          records_stored: 3,
          records_rejected: 1,
          is_committed: false,
          rejected_file: { records: 1, left_out: 0 },
        },
      },
    });
    const { status, json } = await ann.get(`${path(failed)}?redirect=`);
    expect([status, json['download_url']]).toEqual([200, json['url']]);
    const redirect = await ann.get(path(failed));
    expect(redirect.status).toBe(302);
    const file = await fetch(String(redirect.headers.get('location')));
    expect(file.headers.get('content-disposition')).toMatch(/filename="rejected-\d+\.jsonl\.gz"/);
    const text = gunzipSync(Buffer.from(await file.arrayBuffer())).toString();
    expect(JSON.parse(text)).toMatchObject({
      file: 'data_records',
      line: 2,
      code: 301,
      field: 'n',
      text: '{"n":"ü"}',
    });
  });

  test('is not found where nothing was rejected, and by nobody who may not read the dataset', async () => {
    const datasetId = await newDataset();
    expect((await ann.get(path(await run(datasetId, [{ n: 2 }])))).status).toBe(404);
    const failed = await run(datasetId, [{ n: 'x' }]);
    const ben = await server.user('ben');
    expect((await ben.get(path(failed))).status).toBe(404);
    await grant(server, vaultId, ben, 'read');
    expect((await ben.get(path(failed))).status).toBe(302);
  });

  test('goes with its import, and with its dataset', async () => {
    const datasetId = await newDataset();
    const [a, b] = [await run(datasetId, [{ n: 'x' }]), await run(datasetId, [{ n: 'y' }])];
    const { json } = await ann.get(`${path(a)}?redirect=`);
    const files = () => readdir(server.data.rejected);
    const names = [a, b].map((answer) => `${idOf(answer)}.jsonl.gz`);
    expect(await files()).toEqual(expect.arrayContaining(names));
    await ann.delete(`/v2/dataset_imports/${idOf(a)}`);
    expect(await files()).not.toContain(names[0]);
    expect((await fetch(String(json['url']))).status).toBe(404);
    await ann.delete(`/v2/datasets/${datasetId}`);
    expect(await files()).not.toContain(names[1]);
  });

  test('cannot be had with an address that was changed', async () => {
    const failed = await run(await newDataset(), [{ n: 'x' }]);
    const url = String((await ann.get(`${path(failed)}?redirect=`)).json['url']);
    expect((await fetch(url.replace(/signature=.{3}/, 'signature=aaa'))).status).toBe(403);
    expect((await fetch(url.replace(String(idOf(failed)), '1'))).status).toBe(403);
  });
});
