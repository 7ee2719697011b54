import { expect, test } from '@jest/globals';
import { startLab } from '../api/lab.js';
import { listOf } from '../api/server.js';
import { random } from '../random.js';
import { seed } from '../seed.js';

const { ann, newDataset, server } = await startLab({ scheduler: { quietMs: 30 } });

type Mode = 'append' | 'overwrite' | 'upsert' | 'delete';

/** A state of a record in the model. */
interface ModelRecordState {
  readonly n: number;
  readonly v: number;
  readonly place: number;
  readonly addedBy: number;
  deletedBy: number | undefined;
  isGone: boolean;
}

interface Change {
  readonly mode: Mode;
  readonly records: readonly { readonly n: number; readonly v: number }[];
}

interface Commit {
  readonly id: number;
  readonly mode: string;
  readonly parent_commit_id: number | null;
  readonly records_total: number;
}

/** A model of a dataset's records, to which commits are applied one after the other. */
class Model {
  #states: ModelRecordState[] = [];
  #places = 0;

  get live(): readonly ModelRecordState[] {
    return this.#states
      .filter((one) => one.deletedBy === undefined && !one.isGone)
      .sort((a, b) => a.place - b.place);
  }

  apply({ mode, records }: Change, commit: number): void {
    const before = this.live;
    for (const { n, v } of records) {
      const found = mode === 'append' ? [] : before.filter((one) => one.n === n);
      for (const one of found) {
        one.deletedBy = commit;
        if (mode !== 'delete') this.#add(n, v, commit, one.place);
      }
      if (found.length === 0 && mode !== 'delete') this.#add(n, v, commit, this.#places++);
    }
  }

  rollBack(commit: number): void {
    for (const one of this.#states) {
      if (one.addedBy === commit) one.isGone = true;
      if (one.deletedBy === commit) one.deletedBy = undefined;
    }
  }

  #add(n: number, v: number, addedBy: number, place: number): void {
    this.#states.push({ n, v, place, addedBy, deletedBy: undefined, isGone: false });
  }
}

test(`C5, C6: what many clients change at once is what the commits say, one after the other (STRANDLAKE_SEED=${seed})`, async () => {
  const next = random(seed);
  const belowMost = (most: number): number => Math.floor(next() * most);
  const datasetId = await newDataset();
  const changes = new Map<number, Change>();
  const knownNumbers: number[] = [];
  let madeCount = 0;
  const client = async (): Promise<void> => {
    for (let step = 0; step < 8; step++) {
      const changeDraw = next();
      if (changeDraw < 0.25 && knownNumbers.length > 0) {
        const commit = knownNumbers[belowMost(knownNumbers.length)]!;
        const { status } = await ann.post(`/v2/dataset_commits/${commit}/rollback`, {});
        expect([201, 400]).toContain(status);
        continue;
      }
      const mode = (['append', 'upsert', 'overwrite', 'delete'] as const)[belowMost(4)]!;
      const numbers = [...new Set(Array.from({ length: 1 + belowMost(6) }, () => belowMost(25)))];
      const records = numbers.map((n) => ({ n, v: madeCount++ }));
      const key = mode === 'append' ? {} : { commit_mode: mode, id_fields: ['n'] };
      const body = { dataset_id: datasetId, records, ...key };
      const { json } = await ann.post('/v2/dataset_imports', body);
      const [commit] = json['dataset_commits'] as { readonly id: number }[];
      // Before the first record, there is no field by which others could be found.
      if (json['status'] === 'failed')
        expect(json['error_message']).toMatch(/^id_fields: no record has a field/); // prettier-ignore
      else changes.set(commit!.id, { mode, records });
      if (commit !== undefined) knownNumbers.push(commit.id);
    }
  };
  await Promise.all(Array.from({ length: 8 }, client));
  const answer = await ann.get(`/v2/datasets/${datasetId}/commits?limit=1000`);
  const listedCommits = new Map(
    (listOf(answer) as unknown as Commit[]).map((one) => [one.id, one]),
  );
  const commits: Commit[] = [];
  // Commits have their ids from before they wait for each other.
  for await (const { info } of server.store.history(datasetId, 0)) {
    const id = (info['publication'] as { readonly commitId: number } | undefined)?.commitId;
    if (id !== undefined) commits.push(listedCommits.get(id)!);
  }
  expect(commits.length).toBe(listedCommits.size);
  expect(commits.filter(({ mode }) => mode !== 'rollback').length).toBe(changes.size);
  const model = new Model();
  for (const { id, mode, parent_commit_id: parent, records_total: total } of commits) {
    if (mode === 'rollback') model.rollBack(parent!);
    else model.apply(changes.get(id)!, id);
    expect([id, mode, total]).toEqual([id, mode, model.live.length]);
  }
  const expectedRows = model.live.map(({ n, v }) => [n, v]);
  const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, { limit: 10_000 });
  const found = (json['results'] as { n: number; v: number }[]).map(({ n, v }) => [n, v]);
  expect(found).toEqual(expectedRows);
  await server.scheduler.compacted();
  const verified = await ann.post(`/v2/datasets/${datasetId}/verify`);
  expect(verified.json['differences']).toEqual([]);
});
