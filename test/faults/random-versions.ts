import { expect } from '@jest/globals';
import { idOf, type Answer } from '../api/server.js';
import { seededRandom, type Random } from '../random.js';
import { sampleWords, VersionChecks, type HistoryServer } from './version-checks.js';
import {
  VersionModel,
  type ChangeMode,
  type FastClock,
  type InfoMembers,
  type ModelRecord,
  type RecordValues,
} from './version-model.js';

/** The number of events of each kind, so that a test can check that all kinds have occurred. */
export interface EventCounts {
  appends: number;
  deletes: number;
  overwrites: number;
  upserts: number;
  /** The number of overwrites, upserts and deletions that found their records by a field. */
  byFields: number;
  migrations: number;
  /** The number of migrations that overwrote or updated records of their own source. */
  inPlace: number;
  rollbacks: number;
  blocked: number;
  refused: number;
  restarts: number;
}

/** Returns counts that are all zero. */
export function newEventCounts(): EventCounts {
  return {
    appends: 0,
    deletes: 0,
    overwrites: 0,
    upserts: 0,
    byFields: 0,
    migrations: 0,
    inPlace: 0,
    rollbacks: 0,
    blocked: 0,
    refused: 0,
    restarts: 0,
  };
}

/**
 * Returns the number of changes in a history: few, except in every tenth history, whose segments are merged several times. STRANDLAKE_STEPS
 * overrides it.
 */
function stepCountOf(seed: number): number {
  return Number(process.env['STRANDLAKE_STEPS'] ?? (seed % 10 === 0 ? 60 : 15));
}

/** A dataset whose history is compared with a model, and how. */
export interface HistoryOptions {
  readonly server: HistoryServer;
  readonly seed: number;
  /** The id of the dataset, which is empty at first, and that of the vault for the source datasets of migrations. */
  readonly datasetId: number;
  readonly vaultId: number;
  readonly eventCounts: EventCounts;
  readonly clock?: FastClock;
  /** Additional checks at the end of the history. */
  readonly checkAtEnd?: (checks: VersionChecks) => Promise<void>;
}

/**
 * Makes random commits to a dataset, rolls random commits back, and compares each version with a simple list of records: ids in their
 * order, contents, pages, filters, facets, words and counts. At the end, also compares the earlier versions, their differences, the files
 * of commits, and exports of the newest version, and deletes entries of commits.
 */
export async function runRandomHistory(options: HistoryOptions): Promise<void> {
  const { server, seed, datasetId, eventCounts, clock } = options;
  const next = seededRandom(seed);
  const model = new VersionModel(clock);
  const where = `STRANDLAKE_SEED=${seed}`;
  const checks = new VersionChecks(server, datasetId, model, next, where);
  const history = new RandomHistory(options, next, model, checks);
  const steps = stepCountOf(seed);
  for (let step = 0; step < steps; step++) {
    const changeDraw = next();
    if (changeDraw < 0.25) await history.appendRandomRecords();
    else if (changeDraw < 0.4) await history.deleteRandomRecords();
    else if (changeDraw < 0.75) {
      const mode = changeDraw < 0.55 ? 'overwrite' : 'upsert';
      if (next() < 0.3) await history.rewriteRandomRecords(mode);
      else await history.changeRandomRecords(mode);
    } else await history.rollBackRandomCommit();
    if (next() < 0.1) await server.waitUntilIdle();
    if (next() < 0.05) {
      await server.restart();
      eventCounts.restarts++;
    }
    if (clock !== undefined && next() < 0.2)
      clock.aheadMs += Math.floor(next() * clock.keepVersionsMs);
    await checks.checkNewestVersion(step);
  }
  if (model.commits.length === 0) return;
  await checks.checkEarlierVersions();
  await checks.checkVerification();
  await checks.checkDifferences(Math.ceil(steps / 3));
  await checks.checkExports();
  await checks.checkCommitFiles(Math.ceil(steps / 5));
  await options.checkAtEnd?.(checks);
  await checks.checkDeletedEntries();
}

class RandomHistory {
  readonly #options: HistoryOptions;
  readonly #next: Random;
  readonly #model: VersionModel;
  readonly #checks: VersionChecks;
  /** The number of the next record. */
  #nextNumber = 0;

  constructor(options: HistoryOptions, next: Random, model: VersionModel, checks: VersionChecks) {
    this.#options = options;
    this.#next = next;
    this.#model = model;
    this.#checks = checks;
  }

  #below(count: number): number {
    return Math.floor(this.#next() * count);
  }

  async appendRandomRecords(): Promise<void> {
    const newRecords = Array.from({ length: 1 + this.#below(30) }, () => this.#newValues());
    const commitNumber = await this.#commit({ records: newRecords }, 'append');
    if (commitNumber !== undefined) await this.#addToModel(newRecords, commitNumber);
  }

  #newValues(): RecordValues {
    const word = Array.from({ length: 1 + this.#below(3) }, () => sampleWords[this.#below(sampleWords.length)]); // prettier-ignore
    return { n: this.#nextNumber++, word: word.join(' '), info: this.#newInfo() };
  }

  #newInfo(): InfoMembers {
    const b = Array.from({ length: 1 + this.#below(3) }, () => ['p', 'q', 'r'][this.#below(3)]!);
    return { ...(this.#next() < 0.8 && { a: this.#below(9) }), ...(this.#next() < 0.8 && { b }) };
  }

  /** Adds records to the model; the dataset has chosen their `_id`s. */
  async #addToModel(newRecords: readonly RecordValues[], addedBy: number): Promise<void> {
    if (newRecords.length === 0) return;
    const allRecords = await this.#checks.fetchPageRecords({ limit: 10_000, ordering: 'n' });
    const ids = new Map(allRecords.map(({ _id, n }) => [n, _id]));
    for (const one of newRecords) this.#model.addRecord(one, ids.get(one.n)!, addedBy);
  }

  /** Returns ids of records that no longer exist. */
  #goneIds(live: readonly ModelRecord[]): readonly string[] {
    const liveIds = new Set(live.map(({ id }) => id));
    return this.#model.records.map(({ id }) => id).filter((id) => !liveIds.has(id));
  }

  /** Overwrites or updates random records, found by `_id` or by `n`, and adds others. */
  async changeRandomRecords(mode: 'overwrite' | 'upsert'): Promise<void> {
    const share = this.#next() ** 2;
    const liveRecords = this.#model.recordsAlive;
    const chosenRecords = liveRecords.filter(() => this.#next() < share);
    const isByFields = this.#next() < 0.3;
    const liveIds = new Set(liveRecords.map(({ id }) => id));
    const otherIds = [`own-${this.#below(20)}`, ...this.#goneIds(liveRecords).slice(0, 1)];
    const insertedIds = isByFields ? [] : [...new Set(otherIds)].filter((id) => !liveIds.has(id));
    const changes = chosenRecords.map((old) => {
      const values = this.#newValues();
      if (isByFields) Object.assign(values, { n: old.n });
      if (mode === 'overwrite') return { old, given: values, after: values };
      const { n, word, info } = values;
      const givenKeys = {
        ...((isByFields || this.#next() < 0.5) && { n }),
        ...(this.#next() < 0.5 && { word }),
        ...(this.#next() < 0.5 && { info }),
      };
      const recordAfter = { n: old.n, word: old.word, ...givenKeys, info: { ...old.info, ...givenKeys.info } }; // prettier-ignore
      return { old, given: givenKeys, after: recordAfter };
    });
    const addedValues = Array.from({ length: this.#below(3) }, () => this.#newValues());
    const insertedRecords = insertedIds.map((id) => ({ id, values: this.#newValues() }));
    const takesNew = isByFields || mode === 'upsert'; // an overwrite by `_id` requires an `_id` in each record
    const records = [
      ...changes.map(({ old, given }) => (isByFields ? given : { _id: old.id, ...given })),
      ...insertedRecords.map(({ id, values }) => ({ _id: id, ...values })),
      ...(takesNew ? addedValues : []),
    ];
    // Rotates the given records: their order must not affect the order of the records that they replace.
    const rotation = this.#below(changes.length + 1);
    records.unshift(...records.splice(0, changes.length).map((_, i, all) => all[(i + rotation) % all.length]!)); // prettier-ignore
    if (records.length === 0) return;
    const commitNumber = await this.#commit(
      { records, ...(isByFields && { id_fields: ['n'] }) },
      mode,
    );
    if (commitNumber === undefined) return;
    for (const { old, after } of changes) {
      old.deletedBy = commitNumber;
      this.#model.addRecord(after, old.id, commitNumber, old.place);
    }
    for (const { id, values } of insertedRecords) this.#model.addRecord(values, id, commitNumber);
    if (takesNew) await this.#addToModel(addedValues, commitNumber);
  }

  /** Overwrites or updates random records with their own values but those of `info`, by a migration of the dataset to itself. */
  async rewriteRandomRecords(mode: 'overwrite' | 'upsert'): Promise<void> {
    const { datasetId, eventCounts } = this.#options;
    // Before the first value of `info`, the dataset has no such field, which the request names.
    if (this.#model.records.every(({ info }) => Object.keys(info).length === 0)) return;
    const share = this.#next() ** 2;
    const chosenRecords = this.#model.recordsAlive.filter(() => this.#next() < share);
    const numbers = [...chosenRecords.map(({ n }) => n), this.#nextNumber++];
    const source_params = { filters: [['n__in', numbers]], exclude_fields: ['info'] };
    const id_fields = this.#next() < 0.3 ? ['n'] : undefined;
    const commitNumber = await this.#migrate(datasetId, { source_params, id_fields }, mode);
    if (commitNumber === undefined) return;
    eventCounts.inPlace++;
    for (const old of chosenRecords) {
      old.deletedBy = commitNumber;
      const info = mode === 'overwrite' ? {} : old.info;
      this.#model.addRecord({ ...old, info }, old.id, commitNumber, old.place);
    }
  }

  /** Deletes random records, named by `_id` or by `n`, or found by a query of the dataset itself. */
  async deleteRandomRecords(): Promise<void> {
    const share = this.#next() ** 2;
    const liveRecords = this.#model.recordsAlive;
    const chosenRecords = liveRecords.filter(() => this.#next() < share);
    const keyDraw = this.#next();
    let commitNumber: number | undefined;
    if (keyDraw < 0.3 && this.#model.records.length > 0) {
      const records = [...chosenRecords, { n: this.#nextNumber++ }].map(({ n }) => ({ n }));
      commitNumber = await this.#commit({ records, id_fields: ['n'] }, 'delete');
    } else if (keyDraw < 0.5 && this.#model.records.length > 0) {
      const numbers = chosenRecords.map(({ n }) => n);
      const source_params = { filters: [['n__in', [...numbers, this.#nextNumber++]]] };
      commitNumber = await this.#migrate(this.#options.datasetId, { source_params }, 'delete');
    } else {
      const ids = [...chosenRecords.map(({ id }) => id), ...this.#goneIds(liveRecords).slice(0, 2), 'nobody']; // prettier-ignore
      const records = [...new Set(ids)].map((_id) => ({ _id, n: 'x' }));
      commitNumber = await this.#commit({ records }, 'delete');
    }
    if (commitNumber === undefined) return;
    for (const one of chosenRecords) one.deletedBy = commitNumber;
  }

  async rollBackRandomCommit(): Promise<void> {
    const { commits } = this.#model;
    const { clock } = this.#options;
    if (commits.length === 0) return;
    // The last commits are chosen often, because few later commits prevent their rollback.
    const { length } = commits;
    const number = this.#next() < 0.5 ? length - 1 - this.#below(Math.min(3, length)) : this.#below(length); // prettier-ignore
    const commit = commits[number]!;
    const { server, eventCounts } = this.#options;
    const path = `/v2/dataset_commits/${commit.id}/rollback`;
    const rollbackCheck = await server.ann.get(path);
    const blockingNumbers = this.#model.blockingCommits(number);
    const isRefused = commit.mode === 'rollback' || commit.isRolledBack;
    const isBlocked = isRefused || blockingNumbers.size > 0;
    const isLost = ({ json }: Answer): boolean =>
      !isRefused && String(json['detail']).includes('deleted so long ago');
    if (!isLost(rollbackCheck))
      expect([number, rollbackCheck.status, rollbackCheck.json['is_blocked']]).toEqual([
        number,
        200,
        isBlocked,
      ]);
    const rollbackAnswer = await server.send(path, {});
    if (rollbackAnswer === undefined) {
      const id = await this.#fetchLatestCommitId();
      if (id !== undefined) this.#applyRollback(number, id);
      return;
    }
    // A merge between the check of the rollback and the rollback may have dropped records that the rollback would restore.
    if (isLost(rollbackCheck) || isLost(rollbackAnswer)) {
      expect([commit.mode === 'append', this.#model.isBeforeWindow(commit)]).toEqual([false, true]);
      expect([rollbackAnswer.status, isLost(rollbackAnswer)]).toEqual([400, true]);
      clock!.lost++;
      return;
    }
    expect(rollbackAnswer.status).toBe(isBlocked ? 400 : 201);
    if (isBlocked) {
      // A merge between the check of the rollback and the rollback may have dropped the records that prevent it, or may have changed their
      // order and thus the example in the answer.
      const repeatedAnswer = await server.ann.get(path);
      expect([rollbackCheck.json, repeatedAnswer.json]).toContainEqual(rollbackAnswer.json);
      const blockingIds = (rollbackAnswer.json['blocking_commits'] as { id: number }[]).map(
        ({ id }) => id,
      );
      if (!isRefused)
        expect(blockingIds).toEqual([...blockingNumbers].sort((a, b) => a - b).map((one) => commits[one]!.id)); // prettier-ignore
      eventCounts[isRefused ? 'refused' : 'blocked']++;
      return;
    }
    const changedCount = this.#applyRollback(number, idOf(rollbackAnswer));
    expect(rollbackAnswer.json).toMatchObject({ mode: 'rollback', records_modified: changedCount, records_total: this.#model.recordsAlive.length, parent_commit_id: commit.id }); // prettier-ignore
  }

  #applyRollback(number: number, id: number): number {
    const changedCount = this.#model.rollBack(number);
    this.#model.addCommit(id, 'rollback');
    this.#options.eventCounts.rollbacks++;
    return changedCount;
  }

  /**
   * Changes the dataset with some records, by an import or by the migration of another dataset that contains them. Returns the number of
   * the commit; undefined if the server was killed before it accepted the change.
   */
  async #commit(
    body: { readonly records: readonly object[]; readonly id_fields?: readonly string[] },
    mode: ChangeMode,
  ): Promise<number | undefined> {
    const { server, datasetId, vaultId, eventCounts } = this.#options;
    if (body.id_fields !== undefined) eventCounts.byFields++;
    const change = { dataset_id: datasetId, ...body, commit_mode: mode };
    if (this.#next() >= 0.2)
      return this.#addCommitOf(await server.send('/v2/dataset_imports', change), mode);
    const name = `source ${datasetId} ${this.#nextNumber} ${this.#next()}`;
    const sourceId = idOf(await server.ann.post('/v2/datasets', { vault_id: vaultId, name }));
    const { records, id_fields } = body;
    // An upsert into an empty dataset keeps the given `_id`s, and generates the others.
    const source = { dataset_id: sourceId, records, commit_mode: 'upsert' };
    const { json } = await server.ann.post('/v2/dataset_imports', source);
    expect([json['status'], json['error_message']]).toEqual(['completed', null]);
    return this.#migrate(sourceId, { id_fields }, mode);
  }

  async #migrate(
    source_id: number,
    body: { readonly source_params?: object; readonly id_fields?: readonly string[] | undefined },
    mode: ChangeMode,
  ): Promise<number | undefined> {
    const { server, datasetId, eventCounts } = this.#options;
    const migration = { source_id, target_id: datasetId, ...body, commit_mode: mode };
    const answer = await server.send('/v2/dataset_migrations', migration);
    eventCounts.migrations++;
    if (answer === undefined) return this.#addCommitOf(undefined, mode);
    expect([answer.status, answer.json['error_message']]).toEqual([201, null]);
    await server.waitForTask(Number(answer.json['task_id']));
    return this.#addCommitOf(await server.ann.get(`/v2/dataset_migrations/${idOf(answer)}`), mode);
  }

  /** Adds the commit of an import or a migration to the model; returns its number, or undefined if a kill has prevented the commit. */
  async #addCommitOf(answer: Answer | undefined, mode: ChangeMode): Promise<number | undefined> {
    const { eventCounts, seed } = this.#options;
    let id: number | undefined;
    if (answer === undefined) id = await this.#fetchLatestCommitId();
    else {
      const commits = answer.json['dataset_commits'] as { readonly id: number }[];
      expect([seed, answer.json['status'], answer.json['error_message'], commits?.length]).toEqual([seed, 'completed', null, 1]); // prettier-ignore
      id = commits[0]!.id;
    }
    if (id === undefined) return undefined;
    eventCounts[`${mode}s`]++;
    return this.#model.addCommit(id, mode);
  }

  /** Returns the id of the commit of a change whose answer a kill prevented; undefined if the change made no commit. */
  async #fetchLatestCommitId(): Promise<number | undefined> {
    const path = `/v2/datasets/${this.#options.datasetId}/commits?limit=1`;
    const { json } = await this.#options.server.ann.get(path);
    const [latest] = json['data'] as { readonly id: number }[];
    return latest?.id === this.#model.commits.at(-1)?.id ? undefined : latest?.id;
  }
}
