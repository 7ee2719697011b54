import { gunzipSync } from 'node:zlib';
import { expect } from '@jest/globals';
import type { Lab } from '../api/lab.js';
import { idOf } from '../api/server.js';
import { random, type Random } from '../random.js';

/** A state of a record in the model. */
interface ModelRecord {
  readonly id: string;
  /** The position among all records, which all states of a record share. */
  readonly place: number;
  readonly word: string;
  readonly n: number;
  readonly info: Info;
  /** Number of the commit that added it, and of the one that deleted or replaced it. */
  readonly addedBy: number;
  deletedBy: number | undefined;
  /** The commit that added it was rolled back. */
  isGone: boolean;
}

/** An object of which an upsert replaces single members. */
interface Info {
  readonly a?: number;
  readonly b?: readonly string[];
}

type Mode = 'append' | 'overwrite' | 'upsert' | 'delete';

interface ModelCommit {
  readonly id: number;
  readonly mode: Mode | 'rollback';
  isRolledBack: boolean;
  /** The time of its creation, by the clock of the store. */
  readonly madeAt: number;
  /** The records after it. */
  readonly after: ModelRecord[];
}

/** The number of times that each kind of event has happened, so that a test can tell whether all did. */
export interface EventCounts {
  appends: number;
  deletes: number;
  overwrites: number;
  upserts: number;
  byFields: number;
  rollbacks: number;
  blocked: number;
  refused: number;
  merges: number;
  restarts: number;
  /** The number of merges that sorted rows. */
  sorts: number;
}

/** A clock of the store that runs fast, so that versions leave the window, and counts of the events that follow. */
export interface FastClock {
  aheadMs: number;
  readonly keepVersionsMs: number;
  vacuums: number;
  /** Number of versions that could not be read any more, and of deletions that could not be taken back. */
  gone: number;
  lost: number;
}

/** Number of commits and rollbacks of each history; STRANDLAKE_STEPS overrides it. */
const steps = Number(process.env['STRANDLAKE_STEPS'] ?? 60);

/** Event counts of zero. */
export function newCounts(): EventCounts {
  return {
    appends: 0,
    deletes: 0,
    overwrites: 0,
    upserts: 0,
    byFields: 0,
    rollbacks: 0,
    blocked: 0,
    refused: 0,
    merges: 0,
    restarts: 0,
    sorts: 0,
  };
}

const sampleWords = ['breast', 'cancer', 'ovarian', 'x_y', 'BRCA2'];

/**
 * Makes random commits to a new dataset, and rolls random ones back, and compares each version with a plain list of records: ids in their
 * order, pages, filters, facets, words and counts.
 */
export async function randomVersions(
  lab: Lab,
  seed: number,
  happened: EventCounts,
  clock?: FastClock,
): Promise<void> {
  const next = random(seed);
  const datasetId = await lab.newDataset();
  const history = new History(lab, datasetId, next, happened, clock);
  for (let step = 0; step < steps; step++) {
    const changeDraw = next();
    if (changeDraw < 0.25) await history.append();
    else if (changeDraw < 0.4) await history.delete();
    else if (changeDraw < 0.75) await history.change(changeDraw < 0.55 ? 'overwrite' : 'upsert');
    else await history.rollBack();
    if (next() < 0.1) await lab.server.scheduler.compacted();
    if (next() < 0.03) {
      await lab.restart();
      happened.restarts++;
    }
    if (clock !== undefined && next() < 0.2)
      clock.aheadMs += Math.floor(next() * clock.keepVersionsMs);
    await history.compare(`STRANDLAKE_SEED=${seed}, step ${step}`);
  }
  await history.compareEarlier(`STRANDLAKE_SEED=${seed}`);
  const verified = await lab.ann.post(`/v2/datasets/${datasetId}/verify`);
  expect([seed, verified.json['is_whole'], verified.json['differences']]).toEqual([seed, true, []]);
  await history.compareDifferences(`STRANDLAKE_SEED=${seed}`);
  await history.compareExport(`STRANDLAKE_SEED=${seed}`);
  await history.compareFiles(`STRANDLAKE_SEED=${seed}`);
  await history.deleteEntry();
  for await (const { info } of lab.server.store.history(datasetId, 0))
    if (info['compaction'] !== undefined) {
      happened.merges++;
      if ((info['compaction'] as { isSorted: boolean }).isSorted) happened.sorts++;
    } else if (clock !== undefined && info['vacuum'] !== undefined) clock.vacuums++;
}

class History {
  readonly #lab: Lab;
  readonly #datasetId: number;
  readonly #next: Random;
  readonly #happened: EventCounts;
  readonly #clock: FastClock | undefined;
  readonly #records: ModelRecord[] = [];
  readonly #commits: ModelCommit[] = [];
  #made = 0;
  #places = 0;
  /** A cursor, and the ids that its next page must have. */
  #walk:
    | { readonly cursor: string; readonly left: readonly string[]; readonly aheadMs: number }
    | undefined;

  constructor(
    lab: Lab,
    datasetId: number,
    next: Random,
    happened: EventCounts,
    clock: FastClock | undefined,
  ) {
    this.#clock = clock;
    this.#lab = lab;
    this.#datasetId = datasetId;
    this.#next = next;
    this.#happened = happened;
  }

  get #now(): number {
    return Date.now() + (this.#clock?.aheadMs ?? 0);
  }

  #isBeforeWindow({ madeAt }: ModelCommit): boolean {
    return this.#clock !== undefined && madeAt <= this.#now - this.#clock.keepVersionsMs;
  }

  /** Whether the version of a commit, by its number, has left the window: another commit followed too long ago. */
  #isOld(number: number): boolean {
    const next = this.#commits[number + 1];
    return next !== undefined && this.#isBeforeWindow(next);
  }

  get #live(): readonly ModelRecord[] {
    const liveRecords = this.#records.filter((one) => one.deletedBy === undefined && !one.isGone);
    return liveRecords.sort((a, b) => a.place - b.place);
  }

  #below(count: number): number {
    return Math.floor(this.#next() * count);
  }

  async append(): Promise<void> {
    const newRecords = Array.from({ length: 1 + this.#below(30) }, () => this.#newValues());
    const number = await this.#import({ records: newRecords }, 'append');
    await this.#add(newRecords, number);
    this.#happened.appends++;
  }

  #newValues(): Pick<ModelRecord, 'n' | 'word' | 'info'> {
    const word = Array.from({ length: 1 + this.#below(3) }, () => sampleWords[this.#below(sampleWords.length)]); // prettier-ignore
    return { n: this.#made++, word: word.join(' '), info: this.#newInfo() };
  }

  #newInfo(): Info {
    const b = Array.from({ length: 1 + this.#below(3) }, () => ['p', 'q', 'r'][this.#below(3)]!);
    return { ...(this.#next() < 0.8 && { a: this.#below(9) }), ...(this.#next() < 0.8 && { b }) };
  }

  /** Adds records whose `_id`s the dataset has chosen. */
  async #add(
    made: readonly Pick<ModelRecord, 'n' | 'word' | 'info'>[],
    addedBy: number,
  ): Promise<void> {
    if (made.length === 0) return;
    const all = await this.#results({ limit: 10_000, ordering: 'n' });
    const ids = new Map(all.map(({ _id, n }) => [n, _id]));
    for (const one of made) this.#put({ ...one, id: ids.get(one.n)!, place: this.#places++, addedBy }); // prettier-ignore
  }

  #put(record: Omit<ModelRecord, 'deletedBy' | 'isGone'>): void {
    this.#records.push({ ...record, deletedBy: undefined, isGone: false });
  }

  /** Overwrites or updates random records, found by their `_id` or by their number, and adds others. */
  async change(mode: 'overwrite' | 'upsert'): Promise<void> {
    const share = this.#next() ** 2;
    const liveRecords = this.#live;
    const chosenRecords = liveRecords.filter(() => this.#next() < share);
    const isByFields = this.#next() < 0.3;
    const liveIds = new Set(liveRecords.map(({ id }) => id));
    const goneRecords = this.#records.filter(({ id }) => !liveIds.has(id)).slice(0, 1);
    const otherRecords = isByFields
      ? []
      : [...new Set([`own-${this.#below(20)}`, ...goneRecords.map(({ id }) => id)])].filter((id) => !liveIds.has(id)); // prettier-ignore
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
      return {
        old,
        given: givenKeys,
        after: { ...pick(old), ...givenKeys, info: { ...old.info, ...givenKeys.info } },
      };
    });
    const added = Array.from({ length: this.#below(3) }, () => this.#newValues());
    const inserted = otherRecords.map((id) => ({ id, values: this.#newValues() }));
    const records = [
      ...changes.map(({ old, given }) => (isByFields ? given : { _id: old.id, ...given })),
      ...inserted.map(({ id, values }) => ({ _id: id, ...values })),
      // An overwrite needs a key in each record.
      ...(isByFields || mode === 'upsert' ? added : []),
    ];
    // Given records that replace others may be in any order.
    const from = this.#below(changes.length + 1);
    records.unshift(...records.splice(0, changes.length).map((_, i, all) => all[(i + from) % all.length]!)); // prettier-ignore
    if (records.length === 0) return;
    const idFields = isByFields ? { id_fields: ['n'] } : {};
    const number = await this.#import({ records, commit_mode: mode, ...idFields }, mode);
    for (const { old, after } of changes) {
      old.deletedBy = number;
      this.#put({ ...after, id: old.id, place: old.place, addedBy: number });
    }
    for (const { id, values } of inserted)
      this.#put({ ...values, id, place: this.#places++, addedBy: number });
    if (isByFields || mode === 'upsert') await this.#add(added, number);
    this.#happened[mode === 'overwrite' ? 'overwrites' : 'upserts']++;
    if (isByFields) this.#happened.byFields++;
  }

  async delete(): Promise<void> {
    const share = this.#next() ** 2;
    const chosenRecords = this.#live.filter(() => this.#next() < share);
    const liveIds = new Set(this.#live.map(({ id }) => id));
    const otherRecords = this.#records.filter(({ id }) => !liveIds.has(id)).slice(0, 2);
    const records = [...chosenRecords, ...otherRecords, { id: 'nobody' }].map(({ id }) => ({
      _id: id,
      n: 'x',
    }));
    const number = await this.#import({ records, commit_mode: 'delete' }, 'delete');
    for (const one of chosenRecords) one.deletedBy = number;
    this.#happened.deletes++;
  }

  async rollBack(): Promise<void> {
    if (this.#commits.length === 0) return;
    // The last commits are rarely in the way of each other.
    const { length } = this.#commits;
    const number = this.#next() < 0.5 ? length - 1 - this.#below(Math.min(3, length)) : this.#below(length); // prettier-ignore
    const commit = this.#commits[number]!;
    const path = `/v2/dataset_commits/${commit.id}/rollback`;
    const check = await this.#lab.ann.get(path);
    const added = this.#records.filter((one) => one.addedBy === number && !one.isGone);
    const inTheWay = new Set(added.flatMap(({ deletedBy }) => deletedBy ?? []));
    // A restored record must not have been added again in the meantime.
    const restoredIds = new Set(this.#records.filter(({ deletedBy }) => deletedBy === number).map(({ id }) => id)); // prettier-ignore
    if (inTheWay.size === 0)
      for (const one of this.#live)
        if (one.addedBy !== number && restoredIds.has(one.id)) inTheWay.add(one.addedBy);
    const isRefused = commit.mode === 'rollback' || commit.isRolledBack;
    // A merge may have dropped records that were deleted before the window; they do not block a rollback.
    const commitsBeforeWindow = [...inTheWay].filter((one) =>
      this.#isBeforeWindow(this.#commits[one]!),
    );
    const mayBeFree =
      !isRefused && inTheWay.size > 0 && commitsBeforeWindow.length === inTheWay.size;
    const isBlocked = isRefused || (mayBeFree ? check.json['is_blocked'] : inTheWay.size > 0);
    const isLost = ({ json }: typeof check): boolean =>
      !isRefused && String(json['detail']).includes('deleted so long ago');
    if (!isLost(check))
      expect([number, check.status, check.json['is_blocked']]).toEqual([number, 200, isBlocked]);
    const done = await this.#lab.ann.post(path, {});
    // A merge since the check may have left out records that would come back.
    if (isLost(check) || isLost(done)) {
      expect([commit.mode === 'append', this.#isBeforeWindow(commit)]).toEqual([false, true]);
      expect([done.status, isLost(done)]).toEqual([400, true]);
      this.#clock!.lost++;
      return;
    }
    // A merge since the check may have left out what was in the way, or have put another record first, which then is the example.
    const isFreed = mayBeFree && done.status === 201;
    expect(done.status).toBe(isBlocked && !isFreed ? 400 : 201);
    if (isBlocked && !isFreed) {
      const repeatedAnswer = await this.#lab.ann.get(path);
      expect([check.json, repeatedAnswer.json]).toContainEqual(done.json);
      const blocking = (done.json['blocking_commits'] as { id: number }[]).map(({ id }) => id);
      if (!isRefused && commitsBeforeWindow.length === 0)
        expect(blocking).toEqual([...inTheWay].sort((a, b) => a - b).map((one) => this.#commits[one]!.id)); // prettier-ignore
      this.#happened[isRefused ? 'refused' : 'blocked']++;
      return;
    }
    let changedCount = 0;
    for (const one of this.#records) {
      if (one.addedBy === number && !one.isGone) [one.isGone, changedCount] = [true, changedCount + (one.deletedBy === undefined ? 1 : 0)]; // prettier-ignore
      if (one.deletedBy === number) [one.deletedBy, changedCount] = [undefined, changedCount + 1];
    }
    expect(done.json).toMatchObject({ mode: 'rollback', records_modified: changedCount, records_total: this.#live.length, parent_commit_id: commit.id }); // prettier-ignore
    commit.isRolledBack = true;
    this.#commits.push({ id: idOf(done), mode: 'rollback', isRolledBack: false, madeAt: this.#now, after: [] }); // prettier-ignore
    this.#happened.rollbacks++;
  }

  /** Compares the newest version with the model. */
  async compare(where: string): Promise<void> {
    const liveRecords = this.#live;
    await this.#goOn(where, liveRecords);
    this.#commits.at(-1)?.after.splice(0, Infinity, ...liveRecords);
    const all = await this.#results({ limit: 10_000 });
    expect([where, all.map(({ _id }) => _id)]).toEqual([where, liveRecords.map(({ id }) => id)]);
    expect([where, all.map(contents)]).toEqual([where, liveRecords.map(pick)]);
    const leastNumber = this.#below(this.#made + 1);
    const word = sampleWords[this.#below(sampleWords.length)]!;
    const offset = this.#below(liveRecords.length + 1);
    const hasWord = ({ word: text }: ModelRecord): boolean => text.split(' ').includes(word);
    const matchingRecords = liveRecords.filter((one) => one.n >= leastNumber);
    const page = await this.#ask({ filters: [['n__gte', leastNumber]], facets: { n: { facet_type: 'count' }, word: { limit: 0 } }, limit: 7, offset }); // prettier-ignore
    expect([where, page.results.map(({ n }) => n), page.total]).toEqual([where, matchingRecords.slice(offset, offset + 7).map(({ n }) => n), matchingRecords.length]); // prettier-ignore
    const counts = Object.entries(Object.groupBy(matchingRecords, (one) => one.word)).map(([text, some]) => [text, some!.length]); // prettier-ignore
    if (this.#made > 0)
      expect([where, page.facets?.['word']?.toSorted()]).toEqual([where, counts.toSorted()]);
    const found = await this.#ask({ query: word, limit: 0 });
    expect([where, found.total]).toEqual([where, liveRecords.filter(hasWord).length]);
  }

  /** Ends the walk that began in the version before, which must not have changed, and begins another one. */
  async #goOn(where: string, live: readonly ModelRecord[]): Promise<void> {
    if (this.#walk !== undefined) {
      const mayBeGone = this.#clock !== undefined && this.#clock.aheadMs > this.#walk.aheadMs;
      const page = await this.#askUnlessGone({ cursor: this.#walk.cursor, limit: 10_000 }, mayBeGone); // prettier-ignore
      const ids = page?.results.map(({ _id }) => _id);
      if (ids !== undefined) expect([where, ids]).toEqual([where, this.#walk.left]);
      this.#walk = undefined;
    }
    const first = this.#below(4) + 1;
    const { cursor } = await this.#ask({ cursor: true, limit: first });
    if (typeof cursor === 'string')
      this.#walk = { cursor, left: live.slice(first).map(({ id }) => id), aheadMs: this.#clock?.aheadMs ?? 0 }; // prettier-ignore
  }

  /** Compares an export of all records, and one of some, with the model. */
  async compareExport(where: string): Promise<void> {
    const leastNumber = this.#below(this.#made + 1);
    for (const [filters, wanted] of [
      [[], this.#live],
      [[['n__gte', leastNumber]], this.#live.filter(({ n }) => n >= leastNumber)],
    ] as const) {
      const { ann, server } = this.#lab;
      const body = { dataset_id: this.#datasetId, format: 'json', params: { filters } };
      const job = await ann.post('/v2/dataset_exports', body);
      await server.scheduler.wait(Number(job.json['task_id']));
      const { json } = await ann.get(`/v2/dataset_exports/${idOf(job)}/download?redirect=`);
      expect([where, await idsIn(json)]).toEqual([where, wanted.map(({ id }) => id)]);
    }
  }

  /** Compares the files of some commits with the records in which its version and the one before differ. */
  async compareFiles(where: string): Promise<void> {
    for (let i = 0; i < 12; i++) {
      const number = this.#below(this.#commits.length);
      const { id, mode, after } = this.#commits[number]!;
      const before = this.#commits[number - 1]?.after ?? [];
      const [removed, added] = [idsWithout(before, after), idsWithout(after, before)];
      const bothStates = [...removed, ...added];
      const expectedChanges = { append: added, overwrite: added, upsert: added, delete: removed, rollback: bothStates }[mode]; // prettier-ignore
      const { status, json } = await this.#lab.ann.get(`/v2/dataset_commits/${id}/download?redirect=false`); // prettier-ignore
      const mayBeGone = this.#isOld(number) || (number > 0 && this.#isOld(number - 1));
      if (mayBeGone && isGone(json)) continue;
      expect([where, id, status]).toEqual([where, id, 200]);
      // Replaced records follow each other in the order in which they were written.
      const found = [...(await idsIn(json))].sort();
      expect([where, id, mode, found]).toEqual([where, id, mode, expectedChanges.toSorted()]);
    }
  }

  /** Deletes the entry of a commit; the records stay. */
  async deleteEntry(): Promise<void> {
    const path = `/v2/dataset_commits/${this.#commits[this.#below(this.#commits.length)]!.id}`;
    expect((await this.#lab.ann.delete(path)).status).toBe(200);
    for (const gone of [path, `${path}/rollback`]) expect((await this.#lab.ann.get(gone)).status).toBe(404); // prettier-ignore
    await this.compare(path);
  }

  /** Compares each earlier version, as of its commit, with what the model had then. */
  async compareEarlier(where: string): Promise<void> {
    for (const [number, { id, after }] of this.#commits.entries()) {
      const body = { limit: 10_000, as_of: id };
      const found = await this.#askUnlessGone(body, this.#isOld(number));
      const ids = found?.results.map(({ _id }) => _id);
      if (ids !== undefined)
        expect([where, id, ids]).toEqual([where, id, after.map((one) => one.id)]);
    }
  }

  /** Compares what differs between pairs of versions, in both directions and on small pages, with what the model had in each. */
  async compareDifferences(where: string): Promise<void> {
    const commits = this.#commits.map(({ id, after }, i) => ({ id, after, isOld: this.#isOld(i) }));
    const versions = [{ id: '2001-01-01', after: [] as ModelRecord[], isOld: false }, ...commits];
    for (const [i, b] of commits.entries()) {
      const a = versions[i]!;
      await this.#compareDifference(where, `to=${b.id}`, a.after, b.after, a.isOld || b.isOld);
    }
    for (let pair = 0; pair < 20; pair++) {
      const [a, b] = [versions[this.#below(versions.length)]!, versions[this.#below(versions.length)]!]; // prettier-ignore
      const mayBeGone = a.isOld || b.isOld;
      await this.#compareDifference(where, `from=${a.id}&to=${b.id}`, a.after, b.after, mayBeGone);
      await this.#compareDifference(where, `from=${b.id}&to=${a.id}`, b.after, a.after, mayBeGone);
    }
  }

  async #compareDifference(
    where: string,
    query: string,
    before: readonly ModelRecord[],
    after: readonly ModelRecord[],
    mayBeGone: boolean,
  ): Promise<void> {
    const [old, now] = [byId(before), byId(after)];
    const removedIds = before.filter(({ id }) => !now.has(id)).map(({ id }) => ['removed', id]);
    const added = after.filter(({ id }) => !old.has(id)).map(({ id }) => ['added', id]);
    const changedIds = after
      .filter((one) => old.has(one.id) && old.get(one.id) !== one)
      .map(({ id }) => ['changed', id]);
    const all = [...removedIds, ...changedIds, ...added];
    const counts = { added: added.length, changed: changedIds.length, removed: removedIds.length };
    const limit = 1 + this.#below(Math.max(3, all.length));
    const found: string[][] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const path = `/v2/datasets/${this.#datasetId}/diff?${query}&limit=${limit}&cursor=${cursor}`;
      const { status, json } = await this.#lab.ann.get(path);
      if (mayBeGone && isGone(json)) return;
      expect([where, query, status, json['counts']]).toEqual([where, query, 200, counts]);
      const page = json['results'] as { change: string; record: { _id: string } }[];
      found.push(...page.map(({ change, record: { _id: id } }) => [change, id]));
      cursor = json['cursor'] as string | null;
      const isFull = found.length === all.length;
      expect([where, query, cursor === null]).toEqual([where, query, isFull]);
    }
    // Replaced records follow each other in the order in which they were written.
    expect([where, query, found.map(String).sort()]).toEqual([
      where,
      query,
      all.map(String).sort(),
    ]);
  }

  async #import(body: object, mode: Mode): Promise<number> {
    const answer = await this.#lab.ann.post('/v2/dataset_imports', { dataset_id: this.#datasetId, ...body }); // prettier-ignore
    const commits = answer.json['dataset_commits'] as { id: number }[];
    expect([answer.status, answer.json['status'], answer.json['error_message'], commits.length]).toEqual([201, 'completed', null, 1]); // prettier-ignore
    return this.#commits.push({ id: commits[0]!.id, mode, isRolledBack: false, madeAt: this.#now, after: [] }) - 1; // prettier-ignore
  }

  async #results(body: object): Promise<Page['results']> {
    return (await this.#ask(body)).results;
  }

  /** A page; undefined if its version cannot be read any more, which `mayBeGone` allows. */
  async #askUnlessGone(body: object, mayBeGone: boolean): Promise<Page | undefined> {
    if (!mayBeGone) return this.#ask(body);
    const answer = await this.#lab.ann.post(`/v2/datasets/${this.#datasetId}/data`, body);
    if (isGone(answer.json)) this.#clock!.gone++;
    else return this.#ask(body);
    expect(answer.status).toBe(400);
    return undefined;
  }

  async #ask(body: object): Promise<Page> {
    const answer = await this.#lab.ann.post(`/v2/datasets/${this.#datasetId}/data`, body);
    // the dataset has no field yet
    if (this.#made === 0 && answer.status === 400) return { results: [], total: 0 };
    expect([answer.status, answer.json['detail']]).toEqual([200, undefined]);
    return answer.json as unknown as Page;
  }
}

function pick({ n, word, info }: ModelRecord): Pick<ModelRecord, 'n' | 'word' | 'info'> {
  return { n, word, info };
}

function contents({
  n,
  word,
  info,
}: Page['results'][number]): Pick<ModelRecord, 'n' | 'word' | 'info'> {
  const { a, b } = info ?? {};
  return { n, word, info: { ...(a !== null && a !== undefined && { a }), ...(b && { b }) } };
}

function byId(records: readonly ModelRecord[]): ReadonlyMap<string, ModelRecord> {
  return new Map(records.map((one) => [one.id, one]));
}

/** The ids of the records in the file that a download names. */
async function idsIn({ url }: Readonly<Record<string, unknown>>): Promise<readonly string[]> {
  const bytes = Buffer.from(await (await fetch(String(url))).arrayBuffer());
  const lines = gunzipSync(bytes).toString().split('\n').filter(Boolean);
  return lines.map((line) => {
    const { _id: id } = JSON.parse(line) as { readonly _id: string };
    return id;
  });
}

function isGone(json: Readonly<Record<string, unknown>>): boolean {
  return String(json['detail']).includes('cannot be read any more');
}

/** The ids in some states that are not in the others. */
function idsWithout(
  states: readonly ModelRecord[],
  others: readonly ModelRecord[],
): readonly string[] {
  const otherStates = new Set(others);
  return states.filter((one) => !otherStates.has(one)).map(({ id }) => id);
}

interface Page {
  readonly results: readonly {
    readonly _id: string;
    readonly n: number;
    readonly word: string;
    readonly info?: Info | null;
  }[];
  readonly total: number;
  readonly cursor?: string | null;
  readonly facets?: Readonly<Record<string, readonly (readonly [string, number])[]>>;
}
