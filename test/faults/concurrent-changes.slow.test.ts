import { expect, test } from '@jest/globals';
import { startServerFixture } from '../api/server-fixture.js';
import { listOf } from '../api/server.js';
import { seededRandom } from '../random.js';
import { seed } from '../seed.js';

const { ann, newDataset, server } = await startServerFixture({ scheduler: { quietMs: 30 } });

type ChangeMode = 'append' | 'overwrite' | 'upsert' | 'delete';

/** A state of a record in the model of a dataset. */
interface ModelRecordState {
  readonly n: number;
  readonly v: number;
  readonly place: number;
  readonly addedBy: number;
  deletedBy: number | undefined;
  isGone: boolean;
}

interface RandomChange {
  readonly mode: ChangeMode;
  readonly records: readonly { readonly n: number; readonly v: number }[];
}

interface CommitAnswer {
  readonly id: number;
  readonly mode: string;
  readonly parent_commit_id: number | null;
  readonly records_total: number;
}

/** A model of a dataset's records, to which commits are applied one after another. */
class RecordModel {
  #states: ModelRecordState[] = [];
  #placeCount = 0;

  get liveRecords(): readonly ModelRecordState[] {
    return this.#states
      .filter((one) => one.deletedBy === undefined && !one.isGone)
      .sort((a, b) => a.place - b.place);
  }

  applyChange({ mode, records }: RandomChange, commitId: number): void {
    const recordsBefore = this.liveRecords;
    for (const { n, v } of records) {
      const matchingRecords = mode === 'append' ? [] : recordsBefore.filter((one) => one.n === n);
      for (const one of matchingRecords) {
        one.deletedBy = commitId;
        if (mode !== 'delete') this.#add(n, v, commitId, one.place);
      }
      if (matchingRecords.length === 0 && mode !== 'delete')
        this.#add(n, v, commitId, this.#placeCount++);
    }
  }

  rollBack(commitId: number): void {
    for (const one of this.#states) {
      if (one.addedBy === commitId) one.isGone = true;
      if (one.deletedBy === commitId) one.deletedBy = undefined;
    }
  }

  #add(n: number, v: number, addedBy: number, place: number): void {
    this.#states.push({ n, v, place, addedBy, deletedBy: undefined, isGone: false });
  }
}

test(`C5, C6: what many clients change at once is what the commits say, one after the other (STRANDLAKE_SEED=${seed})`, async () => {
  const next = seededRandom(seed);
  const randomBelow = (limit: number): number => Math.floor(next() * limit);
  const datasetId = await newDataset();
  const changes = new Map<number, RandomChange>();
  const knownCommitIds: number[] = [];
  let nextValue = 0;
  const client = async (): Promise<void> => {
    for (let step = 0; step < 8; step++) {
      const changeDraw = next();
      if (changeDraw < 0.25 && knownCommitIds.length > 0) {
        const commitId = knownCommitIds[randomBelow(knownCommitIds.length)]!;
        const { status } = await ann.post(`/v2/dataset_commits/${commitId}/rollback`, {});
        expect([201, 400]).toContain(status);
        continue;
      }
      const mode = (['append', 'upsert', 'overwrite', 'delete'] as const)[randomBelow(4)]!;
      const numbers = [
        ...new Set(Array.from({ length: 1 + randomBelow(6) }, () => randomBelow(25))),
      ];
      const records = numbers.map((n) => ({ n, v: nextValue++ }));
      const key = mode === 'append' ? {} : { commit_mode: mode, id_fields: ['n'] };
      const body = { dataset_id: datasetId, records, ...key };
      const { json } = await ann.post('/v2/dataset_imports', body);
      const [commit] = json['dataset_commits'] as { readonly id: number }[];
      // Before the first record is stored, the field by which records are found does not exist.
      if (json['status'] === 'failed')
        expect(json['error_message']).toMatch(/^id_fields: no record has a field/); // prettier-ignore
      else changes.set(commit!.id, { mode, records });
      if (commit !== undefined) knownCommitIds.push(commit.id);
    }
  };
  await Promise.all(Array.from({ length: 8 }, client));
  const answer = await ann.get(`/v2/datasets/${datasetId}/commits?limit=1000`);
  const listedCommits = new Map(
    (listOf(answer) as unknown as CommitAnswer[]).map((one) => [one.id, one]),
  );
  const commits: CommitAnswer[] = [];
  // Ids of commits do not give their order, because a commit gets its id before it waits for its turn; the log gives the order.
  for await (const { info } of server.store.history(datasetId, 0)) {
    const id = (info['publication'] as { readonly commitId: number } | undefined)?.commitId;
    if (id !== undefined) commits.push(listedCommits.get(id)!);
  }
  expect(commits.length).toBe(listedCommits.size);
  expect(commits.filter(({ mode }) => mode !== 'rollback').length).toBe(changes.size);
  const model = new RecordModel();
  for (const { id, mode, parent_commit_id: parent, records_total: total } of commits) {
    if (mode === 'rollback') model.rollBack(parent!);
    else model.applyChange(changes.get(id)!, id);
    expect([id, mode, total]).toEqual([id, mode, model.liveRecords.length]);
  }
  const expectedRows = model.liveRecords.map(({ n, v }) => [n, v]);
  const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, { limit: 10_000 });
  const foundRows = (json['results'] as { n: number; v: number }[]).map(({ n, v }) => [n, v]);
  expect(foundRows).toEqual(expectedRows);
  await server.scheduler.compacted();
  const verification = await ann.post(`/v2/datasets/${datasetId}/verify`);
  expect(verification.json['differences']).toEqual([]);
});
