import { beforeEach, describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { armFault, faultHits } from '../../engine/core/faultpoint.js';
import { Reconciliation } from '../../scheduler/queue/reconcile.js';
import { sweepDatasets } from '../../scheduler/queue/sweep.js';
import { idOf, sendRequest, waitForJob, type Answer } from '../api/server.js';
import { vcfTextOf } from '../scheduler/lake.js';
import { pollUntil } from '../until.js';
import { findFolderInconsistencies } from './differences.js';
import {
  diskFaults,
  expectRefusedOrFailed,
  faultMessagePattern,
  faultName,
  stepsBetweenFaults,
  useFailingDisk,
} from './failing-disk.js';

/*
 * Makes the disk fail at the n-th step of an operation, for n = 1, 2, … until the operation has fewer steps (threats R5, R6). After each
 * failure, the error names its cause, no partial result is visible or left on the disk, and the next request works.
 */

const disk = useFailingDisk();
const { failAtEveryStep, sweepAsAtStart, recordCountOf, reportedMessages } = disk;

let sourceObjectId: number;
beforeEach(async () => {
  const createdFile = await newFile('source.vcf');
  await sendRequest('', 'PUT', String(createdFile.json['upload_url']), vcfSource);
  sourceObjectId = idOf(createdFile);
});

const vcfSource = vcfTextOf(40);
const newFile = (filename: string): Promise<Answer> =>
  disk.ann.post('/v2/objects', { vault_id: disk.vaultId, object_type: 'file', filename });

test('R5: a disk that stays full refuses what needs space; reads, cancels and deletions go on, and so does all else later', async () => {
  const newNamedDataset = (name: string): Promise<Answer> =>
    disk.ann.post('/v2/datasets', { vault_id: disk.vaultId, name });
  const datasetId = idOf(await newNamedDataset('full'));
  const doomedDatasetId = idOf(await newNamedDataset('doomed'));
  const records = [{ gene: 'TP53' }];
  await disk.ann.post('/v2/dataset_imports', { dataset_id: datasetId, records });
  const exportId = idOf(
    await disk.ann.post('/v2/dataset_exports', { dataset_id: datasetId, format: 'json' }),
  );
  await waitForJob(disk.ann, `/v2/dataset_exports/${exportId}`);
  // The file operations that need disk space, except those of the catalogue, which has reserved some.
  const operations = ['mkdir', 'open', 'write', 'flush', 'rename', 'link'] as const;
  armFault({ code: 'ENOSPC', nth: 1, isLasting: true, operations });
  const job = await disk.ann.post('/v2/dataset_imports', {
    dataset_id: datasetId,
    object_id: sourceObjectId,
  });
  const { json } = await waitForJob(disk.ann, `/v2/dataset_imports/${idOf(job)}`);
  expect(json).toMatchObject({ status: 'failed' });
  armFault({ code: 'ENOSPC', nth: 1, isLasting: true, operations: ['write', 'flush', 'commit'] });
  const file = await newFile('full.txt');
  expect([file.status, file.json]).toMatchObject([
    507,
    { detail: expect.stringMatching(/^No space/) },
  ]);
  expect(await recordCountOf(datasetId)).toBe(1);
  for (const path of ['/v1/user', '/v2/vaults', '/v2/tasks', `/v2/dataset_exports/${exportId}`]) {
    expect([path, (await disk.ann.get(path)).status]).toEqual([path, 200]);
  }
  const download = await disk.ann.get(`/v2/dataset_exports/${exportId}/download?redirect=`);
  expect((await sendRequest('', 'GET', String(download.json['url']))).status).toBe(200);
  armFault({ code: 'ENOSPC', nth: 1, isLasting: true, operations });
  expect((await disk.ann.delete(`/v2/datasets/${doomedDatasetId}`)).status).toBe(200);
  armFault(undefined);
  const repeatedImport = await disk.ann.post('/v2/dataset_imports', {
    dataset_id: datasetId,
    records,
  });
  expect(repeatedImport.json['status']).toBe('completed');
  expect(await recordCountOf(datasetId)).toBe(2);
  await sweepAsAtStart();
  expect(await findFolderInconsistencies(disk.server)).toEqual([]);
});

test('R5: the last 64 MB of a disk are kept for what ends, cancels and deletes', async () => {
  const createdDataset = await disk.ann.post('/v2/datasets', {
    vault_id: disk.vaultId,
    name: 'reserve',
  });
  const file = await newFile('reserve.txt');
  armFault({ code: 'LOW', nth: 1 });
  const uploadAnswer = await sendRequest('', 'PUT', String(file.json['upload_url']), 'ACGT');
  expect(uploadAnswer.status).toBe(507);
  const body = { dataset_id: idOf(createdDataset), object_id: sourceObjectId };
  const job = await disk.ann.post('/v2/dataset_imports', body);
  const { json } = await waitForJob(disk.ann, `/v2/dataset_imports/${idOf(job)}`);
  expect(json).toMatchObject({
    status: 'failed',
    error_message: expect.stringMatching(faultMessagePattern),
  });
  expect((await disk.ann.delete(`/v2/datasets/${idOf(createdDataset)}`)).status).toBe(200);
});

test('R5: a task that ends while the catalogue has no space ends when it has some again', async () => {
  const createdDataset = await disk.ann.post('/v2/datasets', {
    vault_id: disk.vaultId,
    name: 'later',
  });
  const datasetId = idOf(createdDataset);
  const body = { dataset_id: datasetId, object_id: sourceObjectId };
  const job = await disk.ann.post('/v2/dataset_imports', body);
  const taskId = Number(job.json['task_id']);
  reportedMessages.length = 0;
  armFault({ code: 'ENOSPC', nth: 1, isLasting: true, operations: ['commit'] });
  await pollUntil(() => reportedMessages.some((text) => text.includes('no space left')));
  armFault(undefined);
  expect(await disk.server.scheduler.wait(taskId)).toMatchObject({
    status: expect.stringMatching(/completed|failed/),
  });
  expect(await findFolderInconsistencies(disk.server)).toEqual([]);
});

describe.each(diskFaults)('R5, R6: a disk with $code', (fault) => {
  test(`${faultName(fault)} at any step of an import from a file`, async () => {
    const datasetId = idOf(
      await disk.ann.post('/v2/datasets', { vault_id: disk.vaultId, name: faultName(fault) }),
    );
    let expectedCount = 0;
    const ends = await failAtEveryStep(fault, async (where) => {
      const job = await disk.ann.post('/v2/dataset_imports', {
        dataset_id: datasetId,
        object_id: sourceObjectId,
      });
      if (job.status !== 201) return expectRefusedOrFailed(where, job, fault);
      const { json } = await waitForJob(disk.ann, `/v2/dataset_imports/${idOf(job)}`);
      armFault(undefined);
      if (json['status'] === 'completed') expectedCount += 40;
      else
        expect([where, json['error_message']]).toEqual([
          where,
          expect.stringMatching(faultMessagePattern),
        ]);
      expect([where, await recordCountOf(datasetId)]).toEqual([where, expectedCount]);
      return json['status'] === 'completed' ? 'done' : 'failed';
    });
    // After a short write, the rest of the data is written, so the operation must not fail.
    if (fault.code === 'SHORT') expect(ends.failed).toBe(0);
    else expect(ends.failed).toBeGreaterThan(2);
  });

  test.each(['upsert', 'delete'] as const)(
    `${faultName(fault)} at any step of an import of records with commit_mode %s`,
    async (mode) => {
      const datasetId = idOf(
        await disk.ann.post('/v2/datasets', { vault_id: disk.vaultId, name: mode }),
      );
      const givenRecords = Array.from({ length: 300 }, (_, n) => ({ n, state: 0 }));
      await disk.ann.post('/v2/dataset_imports', { dataset_id: datasetId, records: givenRecords });
      /** Returns the number and state of each stored record. */
      const fetchStored = async (): Promise<readonly (readonly [number, number])[]> => {
        const { json } = await disk.ann.post(`/v2/datasets/${datasetId}/data`, { limit: 1_000 });
        return (json['results'] as { n: number; state: number }[]).map(({ n, state }) => [
          n,
          state,
        ]);
      };
      let expectedRows = await fetchStored();
      let round = 0;
      await failAtEveryStep(fault, async (where) => {
        round++;
        const namedNumbers = expectedRows.filter(([n]) => n % 60 === round % 60).map(([n]) => n);
        const job = await disk.ann.post('/v2/dataset_imports', {
          dataset_id: datasetId,
          commit_mode: mode,
          id_fields: ['n'],
          records: namedNumbers.map((n) => ({ n, state: round })),
        });
        armFault(undefined);
        const isDone = job.json['status'] === 'completed';
        if (isDone)
          expectedRows = expectedRows.flatMap(([n, state]) =>
            !namedNumbers.includes(n) ? [[n, state]] : mode === 'delete' ? [] : [[n, round]],
          );
        else if (job.status === 201)
          expect([where, job.json['error_message']]).toEqual([
            where,
            expect.stringMatching(faultMessagePattern),
          ]);
        else expectRefusedOrFailed(where, job, fault);
        expect([where, await fetchStored()]).toEqual([where, expectedRows]);
        return isDone ? 'done' : 'failed';
      });
    },
  );

  test(`${faultName(fault)} at any step of an import of records`, async () => {
    const datasetId = idOf(
      await disk.ann.post('/v2/datasets', { vault_id: disk.vaultId, name: 'inline' }),
    );
    let expectedCount = 0;
    await failAtEveryStep(fault, async (where) => {
      const records = [{ gene: 'TP53', n: expectedCount }];
      const job = await disk.ann.post('/v2/dataset_imports', { dataset_id: datasetId, records });
      if (job.json['status'] === 'completed') {
        expectedCount += 1;
        return 'done';
      }
      if (job.status === 201) {
        expect([where, job.json['error_message']]).toEqual([
          where,
          expect.stringMatching(faultMessagePattern),
        ]);
      } else expectRefusedOrFailed(where, job, fault);
      armFault(undefined);
      expect([where, await recordCountOf(datasetId)]).toEqual([where, expectedCount]);
      return 'failed';
    });
  });

  test(`${faultName(fault)} at any step of a migration`, async () => {
    const createDataset = async (name: string): Promise<number> =>
      idOf(await disk.ann.post('/v2/datasets', { vault_id: disk.vaultId, name }));
    const [source_id, target_id] = [await createDataset('migrated'), await createDataset('target')];
    const records = [{ gene: 'TP53' }, { gene: 'KRAS' }];
    await disk.ann.post('/v2/dataset_imports', { dataset_id: source_id, records });
    let expectedCount = 0;
    const ends = await failAtEveryStep(fault, async (where) => {
      const job = await disk.ann.post('/v2/dataset_migrations', { source_id, target_id });
      if (job.status !== 201) return expectRefusedOrFailed(where, job, fault);
      const { json } = await waitForJob(disk.ann, `/v2/dataset_migrations/${idOf(job)}`);
      armFault(undefined);
      if (json['status'] === 'completed') expectedCount += 2;
      else
        expect([where, json['error_message']]).toEqual([
          where,
          expect.stringMatching(faultMessagePattern),
        ]);
      expect([where, await recordCountOf(target_id)]).toEqual([where, expectedCount]);
      return json['status'] === 'completed' ? 'done' : 'failed';
    });
    if (fault.code === 'SHORT') expect(ends.failed).toBe(0);
    else expect(ends.failed).toBeGreaterThan(2);
  });

  test(`${faultName(fault)} at any step of an export with a target`, async () => {
    const datasetId = idOf(
      await disk.ann.post('/v2/datasets', { vault_id: disk.vaultId, name: 'exported' }),
    );
    const records = [{ gene: 'TP53' }, { gene: 'KRAS' }];
    await disk.ann.post('/v2/dataset_imports', { dataset_id: datasetId, records });
    await failAtEveryStep(fault, async (where) => {
      const job = await disk.ann.post('/v2/dataset_exports', {
        dataset_id: datasetId,
        format: 'csv',
        params: { fields: ['gene'] },
        target_full_path: `Disk:/out/${where}`,
      });
      if (job.status !== 201) return expectRefusedOrFailed(where, job, fault);
      const { json } = await waitForJob(disk.ann, `/v2/dataset_exports/${idOf(job)}`);
      armFault(undefined);
      if (json['status'] !== 'completed') {
        const { rows } = await disk.server.catalog.exports.list(
          { viewer: null },
          { limit: 1, offset: 0 },
        );
        expect([where, rows[0]?.errorMessage]).toEqual([
          where,
          expect.stringMatching(faultMessagePattern),
        ]);
        return 'failed';
      }
      const download = await disk.ann.get(`/v2/dataset_exports/${idOf(job)}/download?redirect=`);
      const { text } = await sendRequest('', 'GET', String(download.json['url']));
      expect([where, text]).toEqual([where, 'gene\r\nTP53\r\nKRAS\r\n']);
      return 'done';
    });
  });

  test(`${faultName(fault)} at any step of an upload`, async () => {
    const bytes = 'ACGT'.repeat(50_000);
    await failAtEveryStep(fault, async (where) => {
      const file = await newFile('up.txt');
      if (file.status !== 201) return expectRefusedOrFailed(where, file, fault);
      const uploadAnswer = await sendRequest('', 'PUT', String(file.json['upload_url']), bytes);
      armFault(undefined);
      const object = await disk.server.catalog.objects.get(idOf(file));
      if (uploadAnswer.status === 200) {
        const md5 = createHash('md5').update(bytes).digest('hex');
        expect([where, object]).toMatchObject([where, { revision: 1, md5 }]);
        return 'done';
      }
      expect([where, object?.revision]).toEqual([where, 0]);
      return expectRefusedOrFailed(where, uploadAnswer, fault);
    });
  });

  test(`${faultName(fault)} at any step of another content of a file, and of a restoration`, async () => {
    for (const versioning of ['enabled', 'disabled']) {
      const vaultId = idOf(await disk.ann.post('/v2/vaults', { name: `${faultName(fault)} ${versioning}`, versioning })); // prettier-ignore
      const file = await disk.ann.post('/v2/objects', { vault_id: vaultId, object_type: 'file', filename: 'f' }); // prettier-ignore
      const path = `/v2/objects/${idOf(file)}`;
      const replace = (text: string) =>
        sendRequest('', 'PUT', String(file.json['upload_url']), text);
      expect((await replace('0')).status).toBe(200);
      const fetchCurrent = async (): Promise<string> =>
        (await sendRequest('', 'GET', String((await disk.ann.get(`${path}/download`)).json['download_url']))).text; // prettier-ignore
      const fetchVersionCount = async (): Promise<number> =>
        Number((await disk.ann.get(path)).json['version_count']);
      let [content, versionCount, uploads] = ['0', 1, 0];
      const check = async (where: string, answer: Answer, next: string): Promise<'done' | 'failed'> => {
        armFault(undefined);
        const isDone = answer.status === 200;
        if (isDone) content = next;
        if (isDone && versioning === 'enabled') versionCount += 1;
        expect([where, await fetchCurrent(), await fetchVersionCount()]).toEqual([where, content, versionCount]);
        return isDone ? 'done' : expectRefusedOrFailed(where, answer, fault);
      }; // prettier-ignore
      await failAtEveryStep(fault, async (where) => {
        const next = String(++uploads);
        return check(where, await replace(next), next);
      });
      if (versioning === 'disabled') continue;
      await failAtEveryStep(fault, async (where) => {
        const { revision } = (await disk.server.catalog.objects.get(idOf(file)))!;
        const versionBody = { version_id: revision - 1 };
        const version = await disk.server.catalog.fileVersions.get(idOf(file), revision - 1);
        const text = content; // the content before the restore; restoring alternates between two contents
        const restoreAnswer = await disk.ann.post(`${path}/versions/current`, versionBody);
        armFault(undefined);
        if (restoreAnswer.status === 200) {
          expect(restoreAnswer.json['md5']).toBe(version?.md5);
          versionCount += 1;
          content = await fetchCurrent();
          expect([where, content === text]).toEqual([where, false]);
          return 'done';
        }
        expect([where, await fetchCurrent(), await fetchVersionCount()]).toEqual([
          where,
          text,
          versionCount,
        ]);
        return expectRefusedOrFailed(where, restoreAnswer, fault);
      });
    }
  });

  test(`${faultName(fault)} at any step of deleting a dataset: it is gone, and its files by the next start`, async () => {
    for (let nth = 1, hits = 1; hits > 0; nth += stepsBetweenFaults) {
      const datasetBody = { vault_id: disk.vaultId, name: `delete ${nth}` };
      const datasetId = idOf(await disk.ann.post('/v2/datasets', datasetBody));
      await disk.ann.post('/v2/dataset_imports', { dataset_id: datasetId, records: [{ a: 1 }] });
      armFault({ ...fault, nth });
      const answer = await disk.ann.delete(`/v2/datasets/${datasetId}`);
      hits = faultHits().length;
      armFault(undefined);
      const isDeleted = answer.status === 200;
      if (!isDeleted) expectRefusedOrFailed(`step ${nth}`, answer, fault);
      const datasetAnswer = await disk.ann.get(`/v2/datasets/${datasetId}`);
      expect(datasetAnswer.status).toBe(isDeleted ? 404 : 200);
      if (hits === 0) expect(await disk.server.store.version(datasetId)).toBe(-1);
      expect([nth, await findFolderInconsistencies(disk.server)]).toEqual([nth, []]);
    }
    const { catalog, store } = disk.server;
    const report = (message: string): void => void reportedMessages.push(message);
    await new Reconciliation({ catalog, store, report }).reconcileAll(); // as the next start of the server does
    expect(await catalog.datasets.dropped()).toEqual([]);
    await sweepDatasets(catalog, store, report);
    const { rows } = await catalog.datasets.list({ viewer: null }, { limit: 1_000, offset: 0 });
    expect(await store.datasets()).toEqual(
      rows
        .filter(({ logVersion }) => logVersion >= 0)
        .map(({ id }) => id)
        .sort((a, b) => a - b),
    );
  });
});
