import { describe, expect, test } from '@jest/globals';
import { armFault } from '../../engine/core/faultpoint.js';
import { idOf } from '../api/server.js';
import { diskFaults, expectRefusedOrFailed, faultMessagePattern, faultName, useFailingDisk } from './failing-disk.js'; // prettier-ignore

/*
 * Makes the disk fail at the n-th step of a rollback, a checkpoint, a merge that sorts rows, and a verification (threats R5, R6). After each
 * failure, the records are those of one version, the files are consistent, and the next request works.
 */

const disk = useFailingDisk();
const { failAtEveryStep } = disk;

/** Creates a dataset of `count` records; returns its id. */
async function newDatasetOf(name: string, count: number): Promise<number> {
  const { ann, vaultId } = disk;
  const datasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name }));
  const records = Array.from({ length: count }, (_, n) => ({ n, state: 0 }));
  await ann.post('/v2/dataset_imports', { dataset_id: datasetId, records });
  return datasetId;
}

/** Returns `_id`, `n` and `state` of each record, in the order of the dataset. */
async function recordsOf(datasetId: number): Promise<readonly unknown[]> {
  const { json } = await disk.ann.post(`/v2/datasets/${datasetId}/data`, { limit: 1_000 });
  return (json['results'] as Record<string, unknown>[]).map(({ _id, n, state }) => [_id, n, state]);
}

/** Expects that the error of a task names the fault as its cause. */
function expectFaultNamed(where: string, { message }: Error): 'failed' {
  expect([where, message]).toEqual([where, expect.stringMatching(faultMessagePattern)]);
  return 'failed';
}

describe.each(diskFaults)('R5, R6: a disk with $code', (fault) => {
  test(`${faultName(fault)} at any step of a rollback`, async () => {
    const datasetId = await newDatasetOf('rolled back', 300);
    const original = await recordsOf(datasetId);
    /** Changes some records and adds one; returns the id of the commit. */
    const change = async (state: number): Promise<number> => {
      const records = [7, 70, 270, 1_000].map((n) => ({ n, state }));
      const upsert = { dataset_id: datasetId, commit_mode: 'upsert', id_fields: ['n'], records };
      const { json } = await disk.ann.post('/v2/dataset_imports', upsert);
      return (json['dataset_commits'] as { readonly id: number }[])[0]!.id;
    };
    let state = 1;
    let commitId = await change(state);
    let recordsChanged = await recordsOf(datasetId);
    const ends = await failAtEveryStep(fault, async (where) => {
      const rollbackAnswer = await disk.ann.post(`/v2/dataset_commits/${commitId}/rollback`, {});
      armFault(undefined);
      const isDone = rollbackAnswer.status === 201;
      if (!isDone) expectRefusedOrFailed(where, rollbackAnswer, fault);
      expect([where, await recordsOf(datasetId)]).toEqual([
        where,
        isDone ? original : recordsChanged,
      ]);
      if (!isDone) return 'failed';
      commitId = await change(++state);
      recordsChanged = await recordsOf(datasetId);
      return 'done';
    });
    if (fault.code === 'SHORT') expect(ends.failed).toBe(0);
    else expect(ends.failed).toBeGreaterThan(0);
  });

  test(`${faultName(fault)} at any step of a checkpoint`, async () => {
    const datasetId = await newDatasetOf('checkpoint', 30);
    const original = await recordsOf(datasetId);
    const checkpoint = () =>
      disk.server.scheduler.enqueueAndWait('checkpoint', { description: 'checkpoint', targetObjectId: datasetId, params: {} }); // prettier-ignore
    await failAtEveryStep(fault, async (where) => {
      const end = await checkpoint().then(
        () => 'done' as const,
        (error: Error) => expectFaultNamed(where, error),
      );
      armFault(undefined);
      expect([where, await recordsOf(datasetId)]).toEqual([where, original]);
      return end;
    });
    expect(await disk.server.store.isCheckpointDue(datasetId)).toBe(false);
  });

  test(`${faultName(fault)} at any step of a merge that sorts rows`, async () => {
    let datasetId: number | undefined;
    let original: readonly unknown[] = [];
    const isInterleaved = async (): Promise<boolean> =>
      (await disk.server.store.snapshot(datasetId!)).isInterleaved === true;
    const sort = () =>
      disk.server.scheduler.enqueueAndWait('merge', { description: 'merge', targetObjectId: datasetId!, params: { is_quiet: true } }); // prettier-ignore
    const ends = await failAtEveryStep(
      fault,
      async (where) => {
        const end = await sort().then(
          () => 'done' as const,
          (error: Error) => expectFaultNamed(where, error),
        );
        armFault(undefined);
        expect([where, await recordsOf(datasetId!)]).toEqual([where, original]);
        expect([where, await isInterleaved()]).toEqual([where, end === 'failed']);
        return end;
      },
      async () => {
        // Each repetition has a dataset of its own, so that the number of steps does not grow.
        if (datasetId !== undefined) await disk.ann.delete(`/v2/datasets/${datasetId}`);
        datasetId = await newDatasetOf('sorted', 30);
        const records = Array.from({ length: 15 }, (_, i) => ({ n: 2 * i, state: 1 }));
        const upsert = { dataset_id: datasetId, commit_mode: 'upsert', id_fields: ['n'], records };
        expect((await disk.ann.post('/v2/dataset_imports', upsert)).json['status']).toBe('completed'); // prettier-ignore
        await disk.server.scheduler.compacted();
        expect(await isInterleaved()).toBe(true);
        original = await recordsOf(datasetId);
      },
    );
    if (fault.code === 'SHORT') expect(ends.failed).toBe(0);
    else expect(ends.failed).toBeGreaterThan(0);
  });

  test(`${faultName(fault)} at any step of a verification`, async () => {
    const datasetId = await newDatasetOf('verified', 30);
    const original = await recordsOf(datasetId);
    const verify = () => disk.ann.post(`/v2/datasets/${datasetId}/verify`);
    await failAtEveryStep(fault, async (where) => {
      const answer = await verify();
      armFault(undefined);
      expect([where, await recordsOf(datasetId)]).toEqual([where, original]);
      if (answer.status !== 200) return expectRefusedOrFailed(where, answer, fault);
      // What the verification could not read is named as a difference. The next verification finds the dataset whole.
      const { is_whole, differences } = answer.json;
      if (is_whole === true) return 'done';
      for (const { problem } of differences as { readonly problem: string }[])
        expect([where, problem]).toEqual([where, expect.stringMatching(faultMessagePattern)]);
      expect((await verify()).json).toMatchObject({ is_whole: true, differences: [] });
      return 'failed';
    });
  });
});
