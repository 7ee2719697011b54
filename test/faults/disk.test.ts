import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { armFault, faultHits, type Fault } from '../../engine/faultpoint.js';
import { openStore } from '../../engine/store/open.js';
import { reconcile } from '../../scheduler/reconcile.js';
import { sweepExports, sweepObjects, sweepScratch } from '../../scheduler/sweep.js';
import { verifyFolder } from '../../scheduler/verify.js';
import {
  idOf,
  send,
  startServer,
  waitFor,
  type Answer,
  type Client,
  type TestServer,
} from '../api/server.js';
import { vcfOf } from '../scheduler/lake.js';
import { hostInProcess } from './in-process.js';

/*
 * A disk that fails at its n-th step, for n = 1, 2, … until an operation comes through untouched (threats R5, R6). After
 * each: the error says what it was, nothing half-done shows or stays, and the next request works.
 */

let server: TestServer;
let ann: Client;
let vaultId: number;
let sourceId: number;
const reports: string[] = [];
beforeAll(async () => {
  server = await startServer({
    scheduler: {
      startHost: hostInProcess,
      retryMs: 5,
      report: (message) => reports.push(message),
    },
  });
  ann = await server.user('ann');
  vaultId = idOf(await ann.post('/v2/vaults', { name: 'Disk' }));
  const file = await newFile('source.vcf');
  await send('', 'PUT', String(file.json['upload_url']), source);
  sourceId = idOf(file);
});
afterEach(() => armFault(undefined));
afterAll(() => server.close());

const source = vcfOf(40);
const newFile = (filename: string): Promise<Answer> =>
  ann.post('/v2/objects', { vault_id: vaultId, object_type: 'file', filename });

const faults: readonly Omit<Fault, 'nth'>[] = [
  { code: 'ENOSPC' },
  { code: 'EIO' },
  { code: 'EMFILE' },
  { code: 'SHORT' },
  { code: 'EIO', operations: ['flush'] }, // R6
];
const nameOf = ({ code, operations }: Omit<Fault, 'nth'>): string =>
  operations === undefined ? code : `${code} at ${operations.join()}`;

/** What a failed task says: the cause, never more than the last names of a path. */
const reason = /no space left on the disk|cannot \w+ .*: (EIO|EMFILE)/;

/** Runs an operation with the fault at its first, second, … step, until it does not strike any more. */
async function atEveryStep(
  fault: Omit<Fault, 'nth'>,
  operation: (where: string) => Promise<'done' | 'failed'>,
): Promise<{ done: number; failed: number }> {
  const ends = { done: 0, failed: 0 };
  for (let nth = 1; ; nth++) {
    armFault({ ...fault, nth });
    const where = `${nameOf(fault)}, step ${nth}`;
    const end = await operation(where);
    const hits = faultHits();
    armFault(undefined);
    ends[end] += 1;
    // What could not be removed, the next start removes.
    if (hits.includes('remove')) await sweepAsAtStart();
    expect([where, hits, await differences()]).toEqual([where, hits, []]);
    if (hits.length === 0) {
      expect([where, end]).toEqual([where, 'done']);
      return ends;
    }
  }
}

/** All that section 12 of the threats asks of the files; offline, but nothing runs at the moment. */
async function differences(): Promise<readonly string[]> {
  const { catalog, data } = server;
  const now = Date.now();
  const parts = { catalog, data, store: openStore(data), unnamedBefore: Infinity, now };
  const found = await verifyFolder(parts);
  return found
    .filter(({ where }) => !where.startsWith('scratch/spill'))
    .map(({ where, problem }) => `${where}: ${problem}`);
}

async function sweepAsAtStart(): Promise<void> {
  const { catalog, data, store } = server;
  await sweepScratch(catalog, data);
  await sweepObjects(catalog, data);
  await sweepExports(catalog, data, Date.now());
  await store.sweep();
}

async function countOf(datasetId: number): Promise<unknown> {
  const answer = await ann.post(`/v2/datasets/${datasetId}/data`, { limit: 0 });
  return answer.json['total'] ?? answer.text;
}

describe.each(faults)('R5, R6: a disk with $code', (fault) => {
  test(`${nameOf(fault)} at any step of an import from a file`, async () => {
    const datasetId = idOf(
      await ann.post('/v2/datasets', { vault_id: vaultId, name: nameOf(fault) }),
    );
    let rows = 0;
    const ends = await atEveryStep(fault, async (where) => {
      const job = await ann.post('/v2/dataset_imports', {
        dataset_id: datasetId,
        object_id: sourceId,
      });
      expect([where, job.status]).toEqual([where, 201]);
      const { json } = await waitFor(ann, `/v2/dataset_imports/${idOf(job)}`);
      armFault(undefined);
      if (json['status'] === 'completed') rows += 40;
      else expect([where, json['error_message']]).toEqual([where, expect.stringMatching(reason)]);
      expect([where, await countOf(datasetId)]).toEqual([where, rows]);
      return json['status'] === 'completed' ? 'done' : 'failed';
    });
    // A short write is no fault: the rest is written after it.
    if (fault.code === 'SHORT') expect(ends.failed).toBe(0);
    else expect(ends.failed).toBeGreaterThan(2);
  });

  test(`${nameOf(fault)} at any step of an import of records`, async () => {
    const datasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'inline' }));
    let rows = 0;
    await atEveryStep(fault, async (where) => {
      const records = [{ gene: 'TP53', n: rows }];
      const job = await ann.post('/v2/dataset_imports', { dataset_id: datasetId, records });
      if (job.json['status'] === 'completed') {
        rows += 1;
        return 'done';
      }
      if (job.status === 201) {
        expect([where, job.json['error_message']]).toEqual([where, expect.stringMatching(reason)]);
      } else expectRefused(where, job, fault);
      armFault(undefined);
      expect([where, await countOf(datasetId)]).toEqual([where, rows === 0 ? 0 : rows]);
      return 'failed';
    });
  });

  test(`${nameOf(fault)} at any step of an export with a target`, async () => {
    const datasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'exported' }));
    const records = [{ gene: 'TP53' }, { gene: 'KRAS' }];
    await ann.post('/v2/dataset_imports', { dataset_id: datasetId, records });
    await atEveryStep(fault, async (where) => {
      const job = await ann.post('/v2/dataset_exports', {
        dataset_id: datasetId,
        format: 'csv',
        params: { fields: ['gene'] },
        target_full_path: `Disk:/out/${where}`,
      });
      if (job.status !== 201) return expectRefused(where, job, fault);
      const { json } = await waitFor(ann, `/v2/dataset_exports/${idOf(job)}`);
      armFault(undefined);
      if (json['status'] !== 'completed') {
        const { rows } = await server.catalog.exports.list(
          { access: null },
          { limit: 1, offset: 0 },
        );
        expect([where, rows[0]?.errorMessage]).toEqual([where, expect.stringMatching(reason)]);
        return 'failed';
      }
      const download = await ann.get(`/v2/dataset_exports/${idOf(job)}/download?redirect=`);
      const { text } = await send('', 'GET', String(download.json['url']));
      expect([where, text]).toEqual([where, 'gene\r\nTP53\r\nKRAS\r\n']);
      return 'done';
    });
  });

  test(`${nameOf(fault)} at any step of an upload`, async () => {
    const bytes = 'ACGT'.repeat(50_000);
    await atEveryStep(fault, async (where) => {
      const file = await newFile('up.txt');
      const put = await send('', 'PUT', String(file.json['upload_url']), bytes);
      armFault(undefined);
      const object = await server.catalog.objects.get(idOf(file));
      if (put.status === 200) {
        const md5 = createHash('md5').update(bytes).digest('hex');
        expect([where, object]).toMatchObject([where, { revision: 1, md5 }]);
        return 'done';
      }
      expect([where, object?.revision]).toEqual([where, 0]);
      return expectRefused(where, put, fault);
    });
  });

  test(`${nameOf(fault)} at any step of deleting a dataset: it is gone, and its files by the next start`, async () => {
    for (let nth = 1, hits = 1; hits > 0; nth++) {
      const name = { vault_id: vaultId, name: `delete ${nth}` };
      const datasetId = idOf(await ann.post('/v2/datasets', name));
      await ann.post('/v2/dataset_imports', { dataset_id: datasetId, records: [{ a: 1 }] });
      armFault({ ...fault, nth });
      const answer = await ann.delete(`/v2/datasets/${datasetId}`);
      hits = faultHits().length;
      armFault(undefined);
      expect(answer.status).toBe(200);
      expect((await ann.get(`/v2/datasets/${datasetId}`)).status).toBe(404);
      if (hits === 0) expect(await server.store.version(datasetId)).toBe(-1);
      expect([nth, await differences()]).toEqual([nth, []]);
    }
    const { catalog, store } = server;
    await reconcile(catalog, store, (message) => reports.push(message)); // as the next start does
    expect(await catalog.datasets.dropped()).toEqual([]);
    await store.sweep();
    const { rows } = await catalog.datasets.list({ access: null }, { limit: 1_000, offset: 0 });
    expect(await store.datasets()).toEqual(
      rows
        .filter(({ logVersion }) => logVersion >= 0)
        .map(({ id }) => id)
        .sort((a, b) => a - b),
    );
  });
});

function expectRefused(where: string, answer: Answer, fault: Omit<Fault, 'nth'>): 'failed' {
  if (fault.code === 'ENOSPC') {
    expect([where, answer.status, answer.text]).toEqual([
      where,
      507,
      expect.stringContaining('No space left'),
    ]);
  } else expect([where, answer.status]).toEqual([where, 500]);
  return 'failed';
}
