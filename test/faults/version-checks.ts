import { gunzipSync } from 'node:zlib';
import { expect } from '@jest/globals';
import { idOf, type Answer, type Client } from '../api/server.js';
import type { Random } from '../random.js';
import type { ChdbDeltaReader, DeltaObject, DeltaRow } from './delta-reader.js';
import type { InfoMembers, ModelRecord, RecordValues, VersionModel } from './version-model.js';

export const sampleWords = ['breast', 'cancer', 'ovarian', 'x_y', 'BRCA2'];

/** A server on which random histories run. */
export interface HistoryServer {
  readonly ann: Client;
  restart(): Promise<void>;
  /** Sends a change; returns undefined if the server was killed before it answered. */
  send(path: string, body: object): Promise<Answer | undefined>;
  waitForTask(taskId: number): Promise<unknown>;
  /** Resolves when the server is idle. */
  waitUntilIdle(): Promise<unknown>;
}

/** Compares the versions of a dataset, as a server shows them, with those of `VersionModel`. */
export class VersionChecks {
  readonly #server: HistoryServer;
  readonly #datasetId: number;
  readonly #model: VersionModel;
  readonly #next: Random;
  /** The text with which the messages of failed comparisons begin. */
  readonly #caseText: string;
  /** A cursor into an earlier version, and the ids that its next page must have. */
  #walk:
    | { readonly cursor: string; readonly left: readonly string[]; readonly aheadMs: number }
    | undefined;

  constructor(
    server: HistoryServer,
    datasetId: number,
    model: VersionModel,
    next: Random,
    caseText: string,
  ) {
    this.#server = server;
    this.#datasetId = datasetId;
    this.#model = model;
    this.#next = next;
    this.#caseText = caseText;
  }

  #below(count: number): number {
    return Math.floor(this.#next() * count);
  }

  /** Returns a random number between 0 and one more than the greatest `n`, so that usually some records are below it and some above. */
  #randomThreshold(): number {
    return this.#below(Math.max(0, ...this.#model.records.map(({ n }) => n)) + 2);
  }

  /** Compares the newest version with the model: ids in their order, contents, pages, filters, facets, words and counts. */
  async checkNewestVersion(step: number | string): Promise<void> {
    const caseText = `${this.#caseText}, step ${step}`;
    const liveRecords = this.#model.recordsAlive;
    await this.#continueWalk(caseText, liveRecords);
    const lastCommit = this.#model.commits.at(-1);
    if (lastCommit !== undefined) lastCommit.after = liveRecords;
    const pageRecords = await this.fetchPageRecords({ limit: 10_000 });
    expect([caseText, pageRecords.map(({ _id }) => _id)]).toEqual([
      caseText,
      liveRecords.map(({ id }) => id),
    ]);
    expect([caseText, pageRecords.map(recordValuesOf)]).toEqual([
      caseText,
      liveRecords.map(valuesOf),
    ]);
    const leastNumber = this.#randomThreshold();
    const word = sampleWords[this.#below(sampleWords.length)]!;
    const offset = this.#below(liveRecords.length + 1);
    const hasWord = ({ word: text }: ModelRecord): boolean => text.split(' ').includes(word);
    const matchingRecords = liveRecords.filter((one) => one.n >= leastNumber);
    const page = await this.#ask({ filters: [['n__gte', leastNumber]], facets: { n: { facet_type: 'count' }, word: { limit: 0 } }, limit: 7, offset }); // prettier-ignore
    expect([caseText, page.results.map(({ n }) => n), page.total]).toEqual([caseText, matchingRecords.slice(offset, offset + 7).map(({ n }) => n), matchingRecords.length]); // prettier-ignore
    const counts = Object.entries(Object.groupBy(matchingRecords, (one) => one.word)).map(([text, some]) => [text, some!.length]); // prettier-ignore
    if (this.#model.records.length > 0) expect([caseText, page.facets?.['n']]).toEqual([caseText, new Set(matchingRecords.map(({ n }) => n)).size]); // prettier-ignore
    if (this.#model.records.length > 0)
      expect([caseText, page.facets?.['word']?.toSorted()]).toEqual([caseText, counts.toSorted()]);
    const wordPage = await this.#ask({ query: word, limit: 0 });
    expect([caseText, wordPage.total]).toEqual([caseText, liveRecords.filter(hasWord).length]);
  }

  /**
   * Reads the remaining pages of a cursor into the previous version, which must be unchanged, and begins to read the current version with a
   * cursor.
   */
  async #continueWalk(caseText: string, live: readonly ModelRecord[]): Promise<void> {
    const { clock } = this.#model;
    if (this.#walk !== undefined) {
      const mayBeGone = clock !== undefined && clock.aheadMs > this.#walk.aheadMs;
      const page = await this.#askUnlessGone({ cursor: this.#walk.cursor, limit: 10_000 }, mayBeGone); // prettier-ignore
      const ids = page?.results.map(({ _id }) => _id);
      if (ids !== undefined) expect([caseText, ids]).toEqual([caseText, this.#walk.left]);
      this.#walk = undefined;
    }
    const first = this.#below(4) + 1;
    const { cursor } = await this.#ask({ cursor: true, limit: first });
    if (typeof cursor === 'string')
      this.#walk = { cursor, left: live.slice(first).map(({ id }) => id), aheadMs: clock?.aheadMs ?? 0 }; // prettier-ignore
  }

  /** Compares each earlier version, read as of its commit, with the model's state at that commit. */
  async checkEarlierVersions(): Promise<void> {
    for (const number of this.#model.commits.keys())
      await this.#checkEarlierVersion(number, this.#model.commits[number]!.id);
  }

  /** Compares the version that `asOf` names with the model's state at a commit. */
  async #checkEarlierVersion(number: number, asOf: number | string): Promise<void> {
    const { after } = this.#model.commits[number]!;
    const body = { limit: 10_000, as_of: asOf };
    const page = await this.#askUnlessGone(body, this.#model.hasLeftWindow(number));
    if (page === undefined) return;
    const shownRecords = page.results.map(({ _id, ...rest }) => [_id, recordValuesOf(rest)]);
    expect([this.#caseText, asOf, shownRecords]).toEqual([this.#caseText, asOf, after.map((one) => [one.id, valuesOf(one)])]); // prettier-ignore
  }

  /** Compares an export of all records, and one of some, with the model. */
  async checkExports(): Promise<void> {
    const leastNumber = this.#randomThreshold();
    const liveRecords = this.#model.recordsAlive;
    for (const [filters, expectedRecords] of [
      [[], liveRecords],
      [[['n__gte', leastNumber]], liveRecords.filter(({ n }) => n >= leastNumber)],
    ] as const) {
      const { ann } = this.#server;
      const body = { dataset_id: this.#datasetId, format: 'json', params: { filters } };
      const job = await ann.post('/v2/dataset_exports', body);
      // Before the first record is stored, the field of the filter does not exist.
      const isRefused = filters.length > 0 && this.#model.records.length === 0;
      expect([this.#caseText, job.status, job.text]).toEqual([this.#caseText, isRefused ? 400 : 201, job.text]); // prettier-ignore
      if (isRefused) continue;
      await this.#server.waitForTask(Number(job.json['task_id']));
      const { json } = await ann.get(`/v2/dataset_exports/${idOf(job)}/download?redirect=`);
      expect([this.#caseText, await downloadIds(json)]).toEqual([
        this.#caseText,
        expectedRecords.map(({ id }) => id),
      ]);
    }
  }

  /** Compares the files of `count` commits with the records in which the version of each commit differs from the version before it. */
  async checkCommitFiles(count: number): Promise<void> {
    const { commits } = this.#model;
    for (let i = 0; i < count; i++) {
      const number = this.#below(commits.length);
      const { id, mode, after } = commits[number]!;
      const before = commits[number - 1]?.after ?? [];
      const [removedIds, addedIds] = [idsWithout(before, after), idsWithout(after, before)];
      const bothStates = [...removedIds, ...addedIds];
      const expectedChanges = { append: addedIds, overwrite: addedIds, upsert: addedIds, delete: removedIds, rollback: bothStates }[mode]; // prettier-ignore
      const { status, json } = await this.#server.ann.get(`/v2/dataset_commits/${id}/download?redirect=false`); // prettier-ignore
      // Records that a commit removed are read from the version before it.
      const isBeforeRead = number > 0 && (mode === 'delete' || mode === 'rollback');
      const mayBeGone =
        this.#model.hasLeftWindow(number) ||
        (isBeforeRead && this.#model.hasLeftWindow(number - 1));
      if (mayBeGone && isVersionGone(json)) continue;
      expect([this.#caseText, id, status]).toEqual([this.#caseText, id, 200]);
      const foundIds = await downloadIds(json);
      expect([this.#caseText, id, mode, foundIds]).toEqual([
        this.#caseText,
        id,
        mode,
        expectedChanges,
      ]);
    }
  }

  /** Deletes the entries of the newest commit and of a random one; the records and the versions remain. */
  async checkDeletedEntries(): Promise<void> {
    const { commits } = this.#model;
    const { ann } = this.#server;
    const times = new Map<number, string>();
    for (const { id } of commits) {
      const { json } = await ann.get(`/v2/dataset_commits/${id}`);
      times.set(id, String(json['created_at']));
    }
    for (const number of new Set([commits.length - 1, this.#below(commits.length)])) {
      const path = `/v2/dataset_commits/${commits[number]!.id}`;
      expect((await ann.delete(path)).status).toBe(200);
      for (const deletedPath of [path, `${path}/rollback`])
        expect((await ann.get(deletedPath)).status).toBe(404);
    }
    await this.checkNewestVersion('deleted entries');
    for (const [number, { id }] of commits.entries()) {
      await this.#checkEarlierVersion(number, id);
      // Of the commits of one millisecond, a time names the last.
      if (times.get(id) !== times.get(commits[number + 1]?.id ?? 0))
        await this.#checkEarlierVersion(number, times.get(id)!);
    }
    const [commitBefore, lastCommit] = [commits.at(-2), commits.at(-1)!];
    const mayBeGone = commitBefore !== undefined && this.#model.hasLeftWindow(commits.length - 2);
    await this.#checkDifference('', commitBefore?.after ?? [], lastCommit.after, mayBeGone);
  }

  /** Makes the server verify the files of the dataset. */
  async checkVerification(): Promise<void> {
    const { json } = await this.#server.ann.post(`/v2/datasets/${this.#datasetId}/verify`);
    expect([this.#caseText, json['is_whole'], json['differences']]).toEqual([
      this.#caseText,
      true,
      [],
    ]);
  }

  /** Compares the differences between successive versions, and between random pairs of versions in either order, with the model. */
  async checkDifferences(pairs: number): Promise<void> {
    const { commits } = this.#model;
    const versions = [
      { id: '2001-01-01', after: [] as readonly ModelRecord[], mayBeGone: false },
      ...commits.map(({ id, after }, i) => ({
        id,
        after,
        mayBeGone: this.#model.hasLeftWindow(i),
      })),
    ];
    for (const [i, b] of versions.slice(1).entries()) {
      const a = versions[i]!;
      await this.#checkDifference(`to=${b.id}`, a.after, b.after, a.mayBeGone || b.mayBeGone);
      await this.#checkCommitCounts(Number(b.id), a.after, b.after);
    }
    for (let pair = 0; pair < pairs; pair++) {
      const [a, b] = [versions[this.#below(versions.length)]!, versions[this.#below(versions.length)]!]; // prettier-ignore
      await this.#checkDifference(
        `from=${a.id}&to=${b.id}`,
        a.after,
        b.after,
        a.mayBeGone || b.mayBeGone,
      );
    }
  }

  /**
   * Compares the difference between two versions with the model; it is usually read as one page, and every fourth time as pages of a random
   * size.
   */
  async #checkDifference(
    query: string,
    before: readonly ModelRecord[],
    after: readonly ModelRecord[],
    mayBeGone: boolean,
  ): Promise<void> {
    const caseText = `${this.#caseText}, ${query}`;
    const changes = changesBetween(before, after);
    const counts = countsOf(changes);
    const expectedChanges = Object.entries(changes).flatMap(([change, ids]) =>
      ids.map((id) => [change, id]),
    );
    const limit =
      this.#next() < 0.25 ? 1 + this.#below(Math.max(3, expectedChanges.length)) : 10_000;
    const foundChanges: string[][] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const path = `/v2/datasets/${this.#datasetId}/diff?${query}&limit=${limit}&cursor=${cursor}`;
      const { status, json } = await this.#server.ann.get(path);
      if (mayBeGone && isVersionGone(json)) return;
      expect([caseText, status, json['counts']]).toEqual([caseText, 200, counts]);
      const page = json['results'] as { change: string; record: { _id: string } }[];
      foundChanges.push(...page.map(({ change, record: { _id: id } }) => [change, id]));
      cursor = json['cursor'] as string | null;
      expect([caseText, cursor === null]).toEqual([
        caseText,
        foundChanges.length === expectedChanges.length,
      ]);
    }
    expect([caseText, foundChanges]).toEqual([caseText, expectedChanges]);
  }

  /** Compares the counts of a commit with the difference that it made. */
  async #checkCommitCounts(
    id: number,
    before: readonly ModelRecord[],
    after: readonly ModelRecord[],
  ): Promise<void> {
    const { json } = await this.#server.ann.get(`/v2/dataset_commits/${id}`);
    const { added, changed, removed } = countsOf(changesBetween(before, after));
    const shownCounts = [json['records_added'], json['records_changed'], json['records_removed'], json['records_modified']]; // prettier-ignore
    const expectedCounts = [added, changed, removed, added + changed + removed];
    expect([this.#caseText, json['mode'], id, shownCounts]).toEqual([this.#caseText, json['mode'], id, expectedCounts]); // prettier-ignore
  }

  /**
   * Compares what ClickHouse reads in the newest version and in a random older one with the model. Returns the number of versions compared,
   * and how many of them were not the newest.
   */
  async checkDeltaTable(
    reader: ChdbDeltaReader,
    folder: string,
    logVersions: ReadonlyMap<number, number>,
  ): Promise<{ readonly versions: number; readonly older: number }> {
    const { commits } = this.#model;
    const newest = commits.length - 1;
    const readableNumbers = [...commits.keys()].filter((number) => {
      // Before the first record is stored, the Delta table does not have the columns that are compared.
      const hasColumns = this.#model.records.some(({ addedBy }) => addedBy <= number);
      return hasColumns && !this.#model.hasLeftWindow(number);
    });
    const olderNumbers = readableNumbers.filter((number) => number !== newest);
    // A version with the same records as the newest one, such as one before a change that was rolled back, is read only if all others have
    // them too.
    const otherNumbers = olderNumbers.filter((number) => this.#hasOtherRecords(number, newest));
    const candidates = otherNumbers.length > 0 ? otherNumbers : olderNumbers;
    const olderNumbersToRead =
      candidates.length > 0 ? [candidates[this.#below(candidates.length)]!] : [];
    const chosenNumbers = [
      ...olderNumbersToRead,
      ...readableNumbers.filter((number) => number === newest),
    ];
    for (const number of chosenNumbers) {
      const { id, after } = commits[number]!;
      const rows = await reader.rows(folder, logVersions.get(id)!);
      const shownRecords = rows.map((row) => [row['_id'], row['_commit'], deltaValuesOf(row)]);
      const expectedRecords = after.map((one) => [one.id, String(commits[one.addedBy]!.id), valuesOf(one)] as const); // prettier-ignore
      const caseText = [this.#caseText, 'chdb', number];
      expect([caseText, shownRecords]).toEqual([
        caseText,
        expectedRecords.toSorted(([a], [b]) => (a < b ? -1 : 1)),
      ]);
    }
    return { versions: chosenNumbers.length, older: olderNumbersToRead.length };
  }

  /** Whether two versions have different records. */
  #hasOtherRecords(number: number, other: number): boolean {
    const [records, others] = [number, other].map((one) => this.#model.commits[one]!.after);
    return records!.length !== others!.length || records!.some((one, i) => one !== others![i]);
  }

  /** Returns the records of a page. */
  async fetchPageRecords(body: object): Promise<PageOfRecords['results']> {
    return (await this.#ask(body)).results;
  }

  /** Returns a page; undefined if its version can no longer be read, which is allowed only if `mayBeGone`. */
  async #askUnlessGone(body: object, mayBeGone: boolean): Promise<PageOfRecords | undefined> {
    const answer = await this.#query(body);
    if (!mayBeGone || !isVersionGone(answer.json)) return this.#pageOf(answer);
    this.#model.clock!.gone++;
    expect(answer.status).toBe(400);
    return undefined;
  }

  async #ask(body: object): Promise<PageOfRecords> {
    return this.#pageOf(await this.#query(body));
  }

  #query(body: object): Promise<Answer> {
    return this.#server.ann.post(`/v2/datasets/${this.#datasetId}/data`, body);
  }

  #pageOf({ status, json }: Answer): PageOfRecords {
    // Before the first record is stored, the fields of the query do not exist.
    if (this.#model.records.length === 0 && status === 400) return { results: [], total: 0 };
    expect([this.#caseText, status, json['detail']]).toEqual([this.#caseText, 200, undefined]);
    return json as unknown as PageOfRecords;
  }
}

function valuesOf({ n, word, info }: ModelRecord): RecordValues {
  return { n, word, info };
}

function recordValuesOf({ n, word, info }: Omit<AnsweredRecord, '_id'>): RecordValues {
  const { a, b } = info ?? {};
  return { n, word, info: { ...(a !== null && a !== undefined && { a }), ...(b && { b }) } };
}

/** Returns the values of a record that ClickHouse has read: where it shows no member, an empty list or null, the record has no value. */
function deltaValuesOf({ n, word, info }: DeltaRow): RecordValues {
  const { a, b = [] } = (typeof info === 'string' ? (JSON.parse(info) as DeltaObject) : info) ?? {};
  return { n: Number(n), word, info: { ...(a !== null && a !== undefined && { a: Number(a) }), ...(b.length > 0 && { b }) } }; // prettier-ignore
}

/** The ids of records that differ between two versions, by what happened to them. */
type ChangedIds = Readonly<Record<'removed' | 'changed' | 'added', readonly string[]>>;

function changesBetween(before: readonly ModelRecord[], after: readonly ModelRecord[]): ChangedIds {
  const [recordsBefore, recordsAfter] = [byId(before), byId(after)];
  const commonRecords = after.filter(({ id }) => recordsBefore.has(id));
  return {
    removed: before.filter(({ id }) => !recordsAfter.has(id)).map(({ id }) => id),
    changed: commonRecords.filter((one) => recordsBefore.get(one.id) !== one).map(({ id }) => id),
    added: after.filter(({ id }) => !recordsBefore.has(id)).map(({ id }) => id),
  };
}

function countsOf({
  added,
  changed,
  removed,
}: ChangedIds): Readonly<Record<keyof ChangedIds, number>> {
  return { added: added.length, changed: changed.length, removed: removed.length };
}

function byId(records: readonly ModelRecord[]): ReadonlyMap<string, ModelRecord> {
  return new Map(records.map((one) => [one.id, one]));
}

/** Returns the ids of the records in the file that a download names. */
async function downloadIds({ url }: Readonly<Record<string, unknown>>): Promise<readonly string[]> {
  const bytes = Buffer.from(await (await fetch(String(url))).arrayBuffer());
  const lines = gunzipSync(bytes).toString().split('\n').filter(Boolean);
  return lines.map((line) => {
    const { _id: id } = JSON.parse(line) as { readonly _id: string };
    return id;
  });
}

function isVersionGone(json: Readonly<Record<string, unknown>>): boolean {
  return String(json['detail']).includes('cannot be read any more');
}

/** Returns the ids of the record states in `states` that are not in `others`. */
function idsWithout(
  states: readonly ModelRecord[],
  others: readonly ModelRecord[],
): readonly string[] {
  const otherStates = new Set(others);
  return states.filter((one) => !otherStates.has(one)).map(({ id }) => id);
}

interface AnsweredRecord {
  readonly _id: string;
  readonly n: number;
  readonly word: string;
  readonly info?: InfoMembers | null;
}

interface PageOfRecords {
  readonly results: readonly AnsweredRecord[];
  readonly total: number;
  readonly cursor?: string | null;
  readonly facets?: Readonly<Record<string, readonly (readonly [string, number])[]>>;
}
