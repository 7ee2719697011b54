import { describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { copyFile, mkdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { deletionVector } from '../../../engine/store/deletion-vector.js';
import { pollUntil } from '../../until.js';
import { startServerFixture } from '../server-fixture.js';
import { grantPermission, idOf, listOf, waitForJob } from '../server.js';

const { server, ann, vaultId, newDataset, runImport } = await startServerFixture();

interface VerificationAnswer {
  readonly is_whole: boolean;
  readonly version: number;
  readonly files: number;
  readonly records: number;
  readonly bytes: number;
  readonly differences: readonly { readonly path: string; readonly problem: string }[];
  readonly task_id: number;
}

async function verifyDataset(id: number): Promise<VerificationAnswer> {
  const answer = await ann.post(`/v2/datasets/${id}/verify`);
  expect([answer.status, answer.text]).toEqual([200, answer.text]);
  return answer.json as unknown as VerificationAnswer;
}

/** Imports `count` records; returns the id of the commit. */
async function addRecords(id: number, from: number, count: number): Promise<number> {
  const records = Array.from({ length: count }, (_, i) => ({ n: from + i, word: `w${from + i}`, list: ['a', `b${i}`] })); // prettier-ignore
  return commitImport({ dataset_id: id, records });
}

async function commitImport(body: object): Promise<number> {
  const json = await runImport(body);
  return (json['dataset_commits'] as { id: number }[])[0]!.id;
}

async function deleteRecords(id: number, filter: unknown): Promise<number> {
  const queryAnswer = await ann.post(`/v2/datasets/${id}/data`, { filters: [filter], fields: ['_id'], limit: 1_000 }); // prettier-ignore
  const records = queryAnswer.json['results'] as { _id: string }[];
  expect(records.length).toBeGreaterThan(0);
  return commitImport({ dataset_id: id, commit_mode: 'delete', records });
}

const rollBack = async (commitId: number): Promise<void> => {
  const rollbackAnswer = await ann.post(`/v2/dataset_commits/${commitId}/rollback`, {});
  expect([rollbackAnswer.status, rollbackAnswer.text]).toEqual([201, rollbackAnswer.text]);
};

/** Creates a dataset of three segments, the second of which has one deleted row. */
async function newDamageableDataset(): Promise<{ id: number; paths: readonly string[] }> {
  const id = await newDataset();
  for (let i = 0; i < 3; i++) await addRecords(id, 100 * i, 40);
  await deleteRecords(id, ['n', 105]);
  const { segments } = await server.store.snapshot(id);
  expect(segments.map(({ deletion }) => deletion?.rows)).toEqual([undefined, 1, undefined]);
  return { id, paths: segments.map(({ path }) => path) };
}

/** Changes the actions of a log entry, and gives it the checksum that entries of earlier releases have: it covers the actions alone. */
async function forgeLogEntry(
  id: number,
  version: number,
  change: (text: string) => string,
): Promise<void> {
  const entryPath = server.data.logEntry(id, version);
  const lines = (await readFile(entryPath, 'utf8')).split('\n').slice(0, -1);
  const info = lines.pop()!;
  const actionsBefore = lines.map((line) => `${line}\n`).join('');
  const actionsAfter = change(actionsBefore);
  expect(actionsAfter).not.toBe(actionsBefore);
  const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
  await writeFile(
    entryPath,
    `${actionsAfter}${info.replace(/(?<="checksum":")[0-9a-f]{64}/, sha256(actionsAfter))}\n`,
  );
}

describe('POST /v2/datasets/:id/verify', () => {
  test('a dataset without records is whole', async () => {
    const id = await newDataset();
    const { task_id: _, ...verification } = await verifyDataset(id);
    expect(verification).toEqual({ is_whole: true, version: -1, files: 0, records: 0, bytes: 0, old_versions: { files: 0, bytes: 0 }, differences: [] }); // prettier-ignore
  });

  test('a dataset is whole after imports, deletes, merges and rollbacks', async () => {
    const id = await newDataset();
    const expectWhole = async (recordCount: number): Promise<void> => {
      const { rows, bytes, version, segments } = await server.store.snapshot(id);
      expect(rows).toBe(recordCount);
      const { task_id: _, ...verification } = await verifyDataset(id);
      const { old_versions } = (await ann.get(`/v2/datasets/${id}/disk_use`)).json;
      expect(verification).toEqual({ is_whole: true, version, files: segments.length, records: recordCount, bytes, old_versions, differences: [] }); // prettier-ignore
    };
    const firstCommitId = await addRecords(id, 0, 50);
    await expectWhole(50);
    const deletionCommitId = await deleteRecords(id, ['n__lt', 20]);
    await expectWhole(30);
    await rollBack(deletionCommitId);
    await expectWhole(50);
    await deleteRecords(id, ['n', 49]);
    for (let i = 1; i < 25; i++) await addRecords(id, 100 * i, 5);
    await server.scheduler.compacted();
    expect((await server.store.snapshot(id)).segments.length).toBeLessThan(20);
    await expectWhole(49 + 24 * 5);
    const lastCommitId = await addRecords(id, 9_000, 3);
    await rollBack(lastCommitId);
    await expectWhole(49 + 24 * 5);
    // A version whose commit was deleted from the list is verified, too: the newest commit that remains is compared with its own version.
    const { json } = await ann.get(`/v2/datasets/${id}/commits`);
    const [newestCommit] = json['data'] as { id: number }[];
    expect((await ann.delete(`/v2/dataset_commits/${newestCommit!.id}`)).status).toBe(200);
    await expectWhole(49 + 24 * 5);
    expect((await ann.get(`/v2/dataset_commits/${firstCommitId}`)).status).toBe(200);
  });

  test('its task is one of the background, which administrators see', async () => {
    const id = await newDataset();
    await addRecords(id, 0, 1);
    const { task_id } = await verifyDataset(id);
    expect((await server.scheduler.wait(task_id)).status).toBe('completed');
    const path = `/v2/tasks/${task_id}`;
    const ada = await server.user('ada', { role: 'admin' });
    const type = 'datasets.DatasetVerification';
    expect((await ada.get(path)).json).toMatchObject({ task_type: type, status: 'completed' });
    expect((await ann.get(path)).status).toBe(404);
  });

  test('without waiting, it answers with a task of the user, which keeps what was found', async () => {
    const { id, paths } = await newDamageableDataset();
    const file = server.data.datasetFile(id, paths[1]!);
    await truncate(file, (await readFile(file)).length - 1);
    const { task_id: backgroundTaskId, ...syncResult } = await verifyDataset(id);
    expect(syncResult.is_whole).toBe(false);
    const verifyAnswer = await ann.post(`/v2/datasets/${id}/verify`, { wait: false });
    const type = 'datasets.DatasetVerification';
    expect([verifyAnswer.status, verifyAnswer.json]).toEqual([200, expect.objectContaining({ class_name: 'ECSTask', task_type: type })]); // prettier-ignore
    const task = await waitForJob(ann, `/v2/tasks/${idOf(verifyAnswer)}`);
    expect(task.json).toMatchObject({ status: 'completed', task_object: { error_message: null, result: syncResult } }); // prettier-ignore
    // A new verification removes earlier ones that nobody can request any more, and no others.
    await verifyDataset(id);
    expect((await ann.get(`/v2/tasks/${idOf(verifyAnswer)}`)).json).toEqual(task.json);
    expect(await server.catalog.tasks.get(backgroundTaskId)).toBeUndefined();
    const listedTasks = listOf(await ann.get(`/v2/tasks?source_object_id=${id}&task_type=${type}`));
    expect(listedTasks.map((one) => one['id'])).toEqual([idOf(verifyAnswer)]);
    expect((await ann.post(`/v2/datasets/${id}/verify`, { wait: 'perhaps' })).json).toEqual({ wait: ['Must be a valid boolean.'] }); // prettier-ignore
  });

  test('the task of a verification is for those who may read the dataset; whoever started it may cancel it', async () => {
    const id = await newDataset();
    await addRecords(id, 0, 1);
    const starter = await server.user('reader');
    expect((await starter.post(`/v2/datasets/${id}/verify`, { wait: false })).status).toBe(404);
    await grantPermission(server, vaultId, starter, 'read');
    const verifyAnswer = await starter.post(`/v2/datasets/${id}/verify`, { wait: false });
    const path = `/v2/tasks/${idOf(verifyAnswer)}`;
    const [otherReader, outsider] = [await server.user('other'), await server.user('outsider')];
    await grantPermission(server, vaultId, otherReader, 'read');
    const body = { status: 'canceled' };
    expect([(await otherReader.get(path)).status, (await otherReader.patch(path, body)).status]).toEqual([200, 403]); // prettier-ignore
    expect((await outsider.get(path)).status).toBe(404);
    // If the task has already ended, canceling it gives a 400.
    expect([200, 400]).toContain((await starter.patch(path, body)).status);
  });

  test('a dataset that the user may not read is not found', async () => {
    const id = await newDataset();
    const bob = await server.user('bob', { domain: 'elsewhere' });
    expect((await bob.post(`/v2/datasets/${id}/verify`)).status).toBe(404);
    expect((await ann.post('/v2/datasets/987654321/verify')).status).toBe(404);
  });
});

describe('exactly the damaged file is named (R7)', () => {
  test('a flipped byte in a schema file, which is written again when the dataset is read', async () => {
    const { id } = await newDamageableDataset();
    const [file = ''] = (await server.store.snapshot(id)).files;
    await flipBit(file);
    const verification = await verifyDataset(id);
    const differences = [{ path: `_schema/${basename(file)}`, problem: expect.stringContaining('columns of the log') }]; // prettier-ignore
    expect(verification).toMatchObject({ is_whole: false, files: 3, records: 119, differences });
    await server.store.snapshot(id);
    expect(await verifyDataset(id)).toMatchObject({ is_whole: true, differences: [] });
  });

  const damages: readonly (readonly [string, (file: string, others: readonly string[]) => Promise<void>, RegExp])[] = [
    ['a flipped byte in the middle', flipBit, /^does not match its checksum$/],
    ['a file cut short', async (file) => truncate(file, (await readFile(file)).length - 1), /^has \d+ bytes, should be \d+$/],
    ['another segment in its place', async (file, [other]) => copyFile(other!, file), /^(has \d+ bytes, should be|does not match its checksum)/],
    ['a missing file', (file) => rm(file), /^is missing$/],
    ['a folder in its place', async (file) => { await rename(file, `${file}.moved`); await mkdir(file); }, /bytes|cannot be read|is missing/],
  ]; // prettier-ignore

  test.each(damages)('%s', async (_, damage, problem) => {
    const { id, paths } = await newDamageableDataset();
    for (const [i, path] of paths.entries()) {
      const file = server.data.datasetFile(id, path);
      const otherPaths = paths.filter((other) => other !== path);
      const originalBytes = await readFile(file);
      await damage(
        file,
        otherPaths.map((other) => server.data.datasetFile(id, other)),
      );
      const verification = await verifyDataset(id);
      const differences = [{ path, problem: expect.stringMatching(problem) }];
      expect([i, verification]).toEqual([i, { ...verification, is_whole: false, files: 3, records: 119, differences }]); // prettier-ignore
      await rm(file, { recursive: true, force: true });
      await writeFile(file, originalBytes);
      expect(await verifyDataset(id)).toMatchObject({ is_whole: true, differences: [] });
    }
  });

  async function flipBit(file: string): Promise<void> {
    const bytes = await readFile(file);
    bytes[bytes.length >> 1]! ^= 1;
    await writeFile(file, bytes);
  }

  test.each<[string, (text: string) => string, RegExp]>([
    ['a bound', (text) => text.replace(/(maxValues[^}]*n\\":)239/, '$1238'), /values of column n outside/],
    ['a bound of a string', (text) => text.replace(/(minValues[^}]*word\\":\\")w200/, '$1w201'), /values of column word outside/],
    ['a number of nulls', (text) => text.replace(/(nullCount[^}]*list\\":)0/, '$11'), /^has 0 nulls in column list, the log says 1$/],
  ])('statistics in the log: %s', async (_, change, problem) => {
    const { id, paths } = await newDamageableDataset();
    await forgeLogEntry(id, 2, change);
    const { differences } = await verifyDataset(id);
    expect(differences).toEqual([{ path: paths[2], problem: expect.stringMatching(problem) }]);
  }); // prettier-ignore

  test('a deletion vector with a row beyond the end', async () => {
    const { id, paths } = await newDamageableDataset();
    const { segments, version } = await server.store.snapshot(id);
    const { encoded, bytes } = segments[1]!.deletion!;
    const vectorBeyond = deletionVector(Int32Array.of(40));
    expect(vectorBeyond.bytes).toBe(bytes);
    await forgeLogEntry(id, version, (text) => text.replace(encoded, () => vectorBeyond.encoded));
    const problem = 'has 40 rows, and its deletion vector deletes row 40';
    expect((await verifyDataset(id)).differences).toEqual([{ path: paths[1], problem }]);
  });
});

test('a damaged file that only earlier versions need is named', async () => {
  const id = await newDataset();
  const firstCommitId = await addRecords(id, 0, 40);
  const path = (await server.store.snapshot(id)).segments[0]!.path;
  await addRecords(id, 100, 3);
  await rollBack(firstCommitId);
  expect((await server.store.snapshot(id)).segments.map((one) => one.path)).not.toContain(path);
  const file = server.data.datasetFile(id, path);
  const bytes = await readFile(file);
  expect(await verifyDataset(id)).toMatchObject({ is_whole: true, files: 1, records: 3, old_versions: { files: 1, bytes: bytes.length } }); // prettier-ignore
  await truncate(file, bytes.length - 1);
  const problem = `has ${bytes.length - 1} bytes, should be ${bytes.length}`;
  expect(await verifyDataset(id)).toMatchObject({ is_whole: false, records: 3, differences: [{ path, problem }] }); // prettier-ignore
  await writeFile(file, bytes);
  const asOfAnswer = await ann.post(`/v2/datasets/${id}/data`, { as_of: firstCommitId, limit: 0 });
  expect(asOfAnswer.json['total']).toBe(40);
});

test('of an archived dataset, the archive is verified', async () => {
  const id = await newDataset();
  await addRecords(id, 0, 40);
  await addRecords(id, 100, 3);
  expect((await ann.patch(`/v2/datasets/${id}`, { storage_class: 'Archive' })).status).toBe(200);
  const isArchived = async (): Promise<boolean> =>
    (await ann.get(`/v2/datasets/${id}`)).json['availability'] === 'archived';
  await pollUntil(isArchived);
  const archivePath = server.data.archive(id);
  const archiveBytes = await readFile(archivePath);
  const { task_id: _, ...verification } = await verifyDataset(id);
  const old_versions = { files: 0, bytes: 0 };
  expect(verification).toEqual({
    is_whole: true, version: 1, files: 1, records: 43, bytes: archiveBytes.length, old_versions, differences: [],
  }); // prettier-ignore
  expect((await ann.get(`/v2/datasets/${id}/disk_use`)).json).toMatchObject({ version: 1, total_bytes: archiveBytes.length, archive_bytes: archiveBytes.length }); // prettier-ignore
  const path = `archives/${id}.tar.zst`;
  const expectDamage = async (problem: RegExp): Promise<void> => {
    const { is_whole, files, differences } = await verifyDataset(id);
    expect([is_whole, files, differences]).toEqual([false, 0, [{ path, problem: expect.stringMatching(problem) }]]); // prettier-ignore
  };
  await writeFile(archivePath, archiveBytes.subarray(0, archiveBytes.length - 10));
  await expectDamage(/^has \d+ bytes, should be \d+$/);
  const flippedBytes = Buffer.from(archiveBytes);
  flippedBytes[archiveBytes.length >> 1]! ^= 1;
  await writeFile(archivePath, flippedBytes);
  await expectDamage(/is damaged|does not match its checksum/);
  await rm(archivePath);
  await expectDamage(/is missing/);
  await writeFile(archivePath, archiveBytes);
  expect(await verifyDataset(id)).toMatchObject({ is_whole: true });
});

describe('the log and the catalogue', () => {
  test('a log entry that does not match its checksum is named', async () => {
    const { id } = await newDamageableDataset();
    const file = server.data.logEntry(id, 1);
    await writeFile(file, (await readFile(file, 'utf8')).replace('"add"', '"add" '));
    expect(await verifyDataset(id)).toMatchObject({
      is_whole: false,
      version: 3,
      files: 0,
      differences: [{ path: '_delta_log', problem: expect.stringMatching(/00001\.json does not match its checksum/) }],
    }); // prettier-ignore
  });

  test.each([
    ['in the middle', 1, 0, /00001\.json is missing, but 0+2\.json exists/],
    ['at the end', 3, 3, /00003\.json is missing; the catalogue knows version 3/],
  ])('a missing log entry %s is named', async (_, version, files, problem) => {
    const { id } = await newDamageableDataset();
    await rm(server.data.logEntry(id, version));
    const { differences, ...verification } = await verifyDataset(id);
    expect([verification.is_whole, verification.version, verification.files]).toEqual([
      false,
      3,
      files,
    ]);
    expect(differences[0]).toEqual({ path: '_delta_log', problem: expect.stringMatching(problem) });
    expect(differences.every(({ path }) => path === '_delta_log')).toBe(true);
  });

  test('a dataset that is refused is verified as well, also when its task has to wait', async () => {
    const { id } = await newDamageableDataset();
    await rm(server.data.logEntry(id, 2));
    await server.catalog.datasets.update(id, { availability: 'unavailable' });
    const verifications = await Promise.all([1, 2, 3, 4].map(() => verifyDataset(id)));
    for (const { differences } of verifications)
      expect(differences).toEqual([{ path: '_delta_log', problem: expect.stringMatching(/00002\.json is missing/) }]); // prettier-ignore
    const verifyAnswer = await ann.post(`/v2/datasets/${id}/verify`, { wait: false });
    const task = await waitForJob(ann, `/v2/tasks/${idOf(verifyAnswer)}`);
    expect(task.json['task_object']).toMatchObject({
      result: { differences: verifications[0]!.differences },
    });
  });

  test('counts of the catalogue that differ are named', async () => {
    const { id } = await newDamageableDataset();
    // The forged log entry claims one record more than the segment has.
    await forgeLogEntry(id, 2, (text) => text.replace('numRecords\\":40', 'numRecords\\":41'));
    const { differences } = await verifyDataset(id);
    expect(differences.map(({ problem }) => problem)).toEqual([
      'its segments have 120 records, the catalogue says 119',
      expect.stringMatching(/^has 120 records after commit \d+, which says 119$/),
      'has 40 rows, the log says 41',
    ]);
  });
});

test('imports and verifications at the same time do not disturb each other', async () => {
  const id = await newDataset();
  await addRecords(id, 0, 3);
  const importRun = (async () => {
    for (let i = 1; i < 12; i++) await addRecords(id, 10 * i, 3);
  })();
  const verifications: VerificationAnswer[] = [];
  for (let i = 0; i < 6; i++) verifications.push(await verifyDataset(id));
  await importRun;
  verifications.push(await verifyDataset(id));
  for (const { differences, version, records } of verifications) {
    expect(differences).toEqual([]);
    expect(records % 3).toBe(0);
    expect(version).toBeGreaterThanOrEqual(0);
  }
  expect(verifications.at(-1)!.records).toBe(36);
});
