import { describe, expect, test } from '@jest/globals';
import { readdir } from 'node:fs/promises';
import { armFault, faultHits } from '../../engine/core/faultpoint.js';
import { idOf, listOf, sendRequest, waitForJob, type Answer } from '../api/server.js';
import { diskFaults, expectRefusedOrFailed, faultMessagePattern, faultName, useFailingDisk } from './failing-disk.js'; // prettier-ignore

/*
 * Makes the disk fail at the n-th step of a migration that changes records, of an import that overwrites records, of dry runs, of a copy of
 * files and of the creation of a table of a file or of computed fields (threats R5, R6). After each failure, nothing has changed, and after
 * each success, a dry run has changed nothing and any other operation has made its whole change.
 */

const disk = useFailingDisk();
const { failAtEveryStep } = disk;

type Values = readonly [n: number, state: number];
type ChangeMode = 'overwrite' | 'upsert' | 'delete';

/** Number of groups of records that the tests of migrations change, one in each repetition. */
const groupCount = 250;
/** Returns the numbers of the records of a group that the target has. */
const numbersOf = (group: number): readonly number[] => [4 * group, 4 * group + 1, 4 * group + 2];
/** Returns the number of the one record of a group that the source has and the target does not have. */
const addedNumberOf = (group: number): number => 4 * groupCount + group;

async function newDatasetOf(name: string, records: readonly object[]): Promise<number> {
  const datasetId = idOf(await disk.ann.post('/v2/datasets', { vault_id: disk.vaultId, name }));
  const createdImport = await disk.ann.post('/v2/dataset_imports', { dataset_id: datasetId, records }); // prettier-ignore
  expect(createdImport.json['status']).toBe('completed');
  return datasetId;
}

/** Returns `n`, `state` and the commit of each record, in the order of the dataset. */
async function recordsOf(datasetId: number): Promise<readonly (readonly [...Values, string])[]> {
  const body = { limit: 10_000, fields: ['n', 'state', '_commit'] };
  const { json } = await disk.ann.post(`/v2/datasets/${datasetId}/data`, body);
  return (json['results'] as { n: number; state: number; _commit: string }[]).map(
    ({ n, state, _commit }) => [n, state, _commit],
  );
}

/** Returns the records of a dataset after a change of the records with some numbers, which `commit` has made. */
function changedRecords(
  recordsBefore: readonly (readonly [...Values, string])[],
  mode: ChangeMode,
  numbers: readonly number[],
  state: number,
  commit: string,
): readonly (readonly [...Values, string])[] {
  if (mode === 'delete') return recordsBefore.filter(([n]) => !numbers.includes(n));
  const knownNumbers = recordsBefore.map(([n]) => n);
  const addedNumbers = numbers.filter((n) => !knownNumbers.includes(n));
  return [
    ...recordsBefore.map((one) =>
      numbers.includes(one[0]) ? ([one[0], state, commit] as const) : one,
    ),
    ...addedNumbers.map((n) => [n, state, commit] as const),
  ];
}

/** Expects that a job that has ended without success names the fault as the cause. */
function expectFaultNamed(where: string, job: Answer['json']): 'failed' {
  expect([where, job['error_message']]).toEqual([where, expect.stringMatching(faultMessagePattern)]); // prettier-ignore
  return 'failed';
}

/** Returns the commit of a completed job, as records name it. */
function commitIdOf(job: Answer['json']): string {
  return String((job['dataset_commits'] as { readonly id: number }[])[0]!.id);
}

const faults = diskFaults.filter(({ code, operations }) => ['ENOSPC', 'EIO'].includes(code) && !operations); // prettier-ignore

describe.each(faults)('R5, R6: a disk with $code', (fault) => {
  test.each<[mode: ChangeMode, where: 'from another dataset' | 'in place']>([
    ['overwrite', 'from another dataset'],
    ['overwrite', 'in place'],
    ['upsert', 'from another dataset'],
    ['upsert', 'in place'],
    ['delete', 'from another dataset'],
    ['delete', 'in place'],
  ])(`${faultName(fault)} at any step of a migration with commit_mode %s %s`, async (mode, place) => {
    const groups = Array.from({ length: groupCount }, (_, group) => group);
    const storedRecords = groups.flatMap((group) => numbersOf(group).map((n) => ({ n, state: -1, group })));
    const target_id = await newDatasetOf('target', storedRecords);
    const isInPlace = place === 'in place';
    const numbersAddedBy = (group: number): readonly number[] => (isInPlace ? [] : [addedNumberOf(group)]);
    const source_id = isInPlace
      ? target_id
      : await newDatasetOf('source', groups.flatMap((group) =>
          [...numbersOf(group), ...numbersAddedBy(group)].map((n) => ({ n, state: group, group })),
        ));
    let expectedRecords = await recordsOf(target_id);
    let group = -1;
    const ends = await failAtEveryStep(fault, async (where) => {
      group += 1;
      const job = await disk.ann.post('/v2/dataset_migrations', {
        source_id,
        target_id,
        commit_mode: mode,
        source_params: { filters: [['group', group]] },
        ...(!isInPlace && { id_fields: ['n'] }),
        ...(isInPlace && mode !== 'delete' && {
          target_fields: [{ name: 'state', data_type: 'long', expression: 'record.group' }],
        }),
      });
      if (job.status !== 201) return expectRefusedOrFailed(where, job, fault);
      const { json } = await waitForJob(disk.ann, `/v2/dataset_migrations/${idOf(job)}`);
      armFault(undefined);
      const isDone = json['status'] === 'completed';
      const numbers = [...numbersOf(group), ...numbersAddedBy(group)];
      if (isDone) expectedRecords = changedRecords(expectedRecords, mode, numbers, group, commitIdOf(json));
      else expectFaultNamed(where, json);
      expect([where, await recordsOf(target_id)]).toEqual([where, expectedRecords]);
      return isDone ? 'done' : 'failed';
    });
    expect(ends.failed).toBeGreaterThan(2);
  }); // prettier-ignore

  test(`${faultName(fault)} at any step of an import from a file with commit_mode overwrite`, async () => {
    const storedRecords = Array.from({ length: 60 }, (_, n) => ({ n, state: 0 }));
    const datasetId = await newDatasetOf('overwritten', storedRecords);
    const numbers = [...storedRecords.slice(20, 40).map(({ n }) => n), 100];
    const objectId = await newFile('records.json', numbers.map((n) => `{"n":${n},"state":1}\n`).join('')); // prettier-ignore
    let expectedRecords = await recordsOf(datasetId);
    const ends = await failAtEveryStep(fault, async (where) => {
      const job = await disk.ann.post('/v2/dataset_imports', {
        dataset_id: datasetId,
        object_id: objectId,
        commit_mode: 'overwrite',
        id_fields: ['n'],
      });
      if (job.status !== 201) return expectRefusedOrFailed(where, job, fault);
      const { json } = await waitForJob(disk.ann, `/v2/dataset_imports/${idOf(job)}`);
      armFault(undefined);
      const isDone = json['status'] === 'completed';
      if (isDone)
        expectedRecords = changedRecords(
          expectedRecords,
          'overwrite',
          numbers,
          1,
          commitIdOf(json),
        );
      else expectFaultNamed(where, json);
      expect([where, await recordsOf(datasetId)]).toEqual([where, expectedRecords]);
      return isDone ? 'done' : 'failed';
    });
    expect(ends.failed).toBeGreaterThan(2);
  });

  const upsertByNumber = { commit_mode: 'upsert', id_fields: ['n'] };
  test.each<[what: string, kind: 'imports' | 'migrations', body: object, counts: object]>([
    ['an import', 'imports', {}, { records: 21 }],
    ['an import with commit_mode upsert', 'imports', upsertByNumber, { records_added: 1, records_changed: 20 }],
    ['a migration', 'migrations', {}, { records: 21 }],
    ['a migration with commit_mode upsert', 'migrations', upsertByNumber, { records_added: 1, records_changed: 20 }],
  ])(`${faultName(fault)} at any step of a dry run of %s`, async (_, kind, body, counts) => {
    const storedRecords = Array.from({ length: 60 }, (_, n) => ({ n, state: 0 }));
    const givenRecords = [...storedRecords.slice(20, 40).map(({ n }) => n), 100].map((n) => ({ n, state: 1 }));
    const datasetId = await newDatasetOf('stored', storedRecords);
    const source = kind === 'imports'
      ? { dataset_id: datasetId, object_id: await newFile('given.json', givenRecords.map((one) => `${JSON.stringify(one)}\n`).join('')) }
      : { target_id: datasetId, source_id: await newDatasetOf('given', givenRecords) };
    const readState = async (): Promise<unknown> => [await recordsOf(datasetId), await disk.server.store.version(datasetId)];
    const stateBefore = await readState();
    const ends = await failAtEveryStep(fault, async (where) => {
      const job = await disk.ann.post(`/v2/dataset_${kind}`, { ...source, ...body, dry_run: true });
      if (job.status !== 201) return expectRefusedOrFailed(where, job, fault);
      const { json } = await waitForJob(disk.ann, `/v2/dataset_${kind}/${idOf(job)}`);
      armFault(undefined);
      expect([where, json['dataset_commits'], await readState()]).toEqual([where, [], stateBefore]);
      if (json['status'] !== 'completed') return expectFaultNamed(where, json);
      expect([where, json['metadata']]).toMatchObject([where, { dry_run: counts }]);
      return 'done';
    });
    expect(ends.failed).toBeGreaterThan(2);
  }); // prettier-ignore

  test(`${faultName(fault)} at any step of a copy of files`, async () => {
    const { ann, vaultId } = disk;
    const folder = { vault_id: vaultId, object_type: 'folder', filename: 'source' };
    const sourceFolderId = idOf(await ann.post('/v2/objects', folder));
    const contents = { '/source/a.txt': 'ACGT', '/source/b.txt': 'TTTT' };
    for (const [path, text] of Object.entries(contents))
      await newFile(path.split('/')[2]!, text, sourceFolderId);
    let targetVaultId = 0;
    /** Returns the paths in the target, with the contents of the files. */
    const readTarget = async (): Promise<unknown> => {
      const objects = listOf(await ann.get(`/v2/objects?vault_id=${targetVaultId}`));
      const contentReads = objects.map(async ({ id, path, object_type }) => {
        if (object_type !== 'file') return [path, null];
        const { json } = await ann.get(`/v2/objects/${String(id)}/download`);
        return [path, (await sendRequest('', 'GET', String(json['download_url']))).text];
      });
      return Object.fromEntries(await Promise.all(contentReads));
    };
    const newTarget = async (): Promise<void> => {
      if (targetVaultId > 0) await ann.delete(`/v2/vaults/${targetVaultId}`);
      targetVaultId = idOf(await ann.post('/v2/vaults', { name: `Copy ${targetVaultId}` }));
    };
    const copyBody = { source_vault_id: vaultId, source_object_id: sourceFolderId };
    const ends = await failAtEveryStep(
      fault,
      async (where) => {
        const job = await ann.post('/v2/object_copy_tasks', { ...copyBody, target_vault_id: targetVaultId }); // prettier-ignore
        if (job.status !== 201) return expectRefusedOrFailed(where, job, fault);
        const { json } = await waitForJob(ann, `/v2/object_copy_tasks/${idOf(job)}`);
        armFault(undefined);
        const isDone = json['status'] === 'completed';
        if (!isDone) expectFaultNamed(where, json);
        const expectedTree = isDone ? { '/source': null, ...contents } : {};
        expect([where, await readTarget()]).toEqual([where, expectedTree]);
        return isDone ? 'done' : 'failed';
      },
      newTarget,
    );
    expect(ends.failed).toBeGreaterThan(2);
  });

  test(`${faultName(fault)} at any step of making a table of an uploaded file`, async () => {
    let objectId = 0;
    const ends = await failAtEveryStep(
      fault,
      async (where) => {
        const query = (): Promise<Answer> => disk.ann.post(`/v2/objects/${objectId}/data`, { limit: 10 }); // prettier-ignore
        const answer = await query();
        const hits = faultHits();
        armFault(undefined);
        if (answer.status !== 200) {
          expectRefusedOrFailed(where, answer, fault);
          // A table whose files could not be removed is removed by the next start.
          const tables = (await readdir(disk.server.data.fileTables)).filter((name) => name.startsWith(`${objectId}-`)); // prettier-ignore
          if (!hits.includes('remove') && !hits.includes('list'))
            expect([where, tables]).toEqual([where, []]);
        }
        const repeatedAnswer = await query();
        expect([where, repeatedAnswer.status, repeatedAnswer.json['results']]).toEqual([where, 200, expect.arrayContaining([expect.objectContaining({ gene: 'KRAS', n: '2' })])]); // prettier-ignore
        return answer.status === 200 ? 'done' : 'failed';
      },
      async () => {
        objectId = await newFile(`${objectId}.csv`, 'gene,n\nTP53,1\nKRAS,2\n');
      },
    );
    expect(ends.failed).toBeGreaterThan(2);
  });

  test(`${faultName(fault)} at any step of making a table of computed fields`, async () => {
    const records = Array.from({ length: 30 }, (_, n) => ({ n, state: 0 }));
    const datasetId = await newDatasetOf('computed', records);
    const listTables = async (): Promise<readonly string[]> =>
      (await readdir(disk.server.data.fileTables)).toSorted();
    let fieldCount = 0;
    const ends = await failAtEveryStep(fault, async (where) => {
      // The field has another name each time, so that no earlier table has it.
      const name = `third${++fieldCount}`;
      const target_fields = [{ name, expression: 'record.n % 3', data_type: 'long' }];
      const body = { target_fields, filters: [[name, 1]], limit: 0 };
      const query = (): Promise<Answer> => disk.ann.post(`/v2/datasets/${datasetId}/data`, body);
      const tablesBefore = await listTables();
      const answer = await query();
      const hits = faultHits();
      armFault(undefined);
      if (answer.status !== 200) {
        expectRefusedOrFailed(where, answer, fault);
        // A table whose files could not be removed is removed by the next start.
        if (!hits.includes('remove') && !hits.includes('list'))
          expect([where, await listTables()]).toEqual([where, tablesBefore]);
      }
      const repeatedAnswer = await query();
      expect([where, repeatedAnswer.status, repeatedAnswer.json['total']]).toEqual([
        where,
        200,
        10,
      ]);
      expect([where, await listTables()]).not.toEqual([where, tablesBefore]);
      return answer.status === 200 ? 'done' : 'failed';
    });
    expect(ends.failed).toBeGreaterThan(2);
  });
});

/** Creates a file with a content; returns its id. */
async function newFile(filename: string, content: string, parent?: number): Promise<number> {
  const file = { vault_id: disk.vaultId, object_type: 'file', filename, parent_object_id: parent ?? null }; // prettier-ignore
  const createdObject = await disk.ann.post('/v2/objects', file);
  const { status } = await sendRequest('', 'PUT', String(createdObject.json['upload_url']), content); // prettier-ignore
  expect([filename, status]).toEqual([filename, 200]);
  return idOf(createdObject);
}
