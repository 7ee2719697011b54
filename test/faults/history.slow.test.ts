import { expect, test } from '@jest/globals';
import { startServerFixture } from '../api/server-fixture.js';
import { idOf, listOf, sendRequest } from '../api/server.js';
import { seededRandom } from '../random.js';
import { findFolderInconsistencies } from './differences.js';

/*
 * Several clients append, read, export and delete at once. Their answers are compared with a simple model: the commits are applied one
 * after another, in the order of their log versions (threats C5, C9).
 */

/** Number of operations of all clients together; set by STRANDLAKE_HISTORY_OPERATIONS. */
const operationCount = Number(process.env['STRANDLAKE_HISTORY_OPERATIONS'] ?? 1_000);
const seed = Number(process.env['STRANDLAKE_SEED'] ?? 1);
const clientCount = 8;

const { server, ann, vaultId } = await startServerFixture();

/** A dataset as the clients know it. */
interface KnownDataset {
  readonly id: number;
  /** For each acknowledged import, the words (the values of the only field) of the records that it added. */
  readonly appended: Map<number, readonly string[]>;
  /** The words of the records in each answer that a reading client received. */
  readonly reads: string[][];
  isDeleted: boolean;
}

async function newDataset(name: string): Promise<KnownDataset> {
  const id = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name }));
  return { id, appended: new Map(), reads: [], isDeleted: false };
}

let generatedWordCount = 0;
function freshWords(count: number): readonly string[] {
  return Array.from({ length: count }, () => `w${(generatedWordCount += 1)}`);
}

async function appendRecords(dataset: KnownDataset, count: number): Promise<void> {
  const addedWords = freshWords(count);
  const records = addedWords.map((word) => ({ word }));
  const job = await ann.post('/v2/dataset_imports', { dataset_id: dataset.id, records });
  if (job.json['status'] === 'completed') dataset.appended.set(idOf(job), addedWords);
  else if (!dataset.isDeleted) throw new Error(`append: ${job.status} ${job.text}`);
}

async function appendUploadedFile(dataset: KnownDataset, count: number): Promise<void> {
  const addedWords = freshWords(count);
  const file = { vault_id: vaultId, object_type: 'file', filename: `${addedWords[0]}.json` };
  const createdObject = await ann.post('/v2/objects', file);
  const lines = addedWords.map((word) => `{"word":"${word}"}\n`).join('');
  await sendRequest('', 'PUT', String(createdObject.json['upload_url']), lines);
  const body = { dataset_id: dataset.id, object_id: idOf(createdObject) };
  const job = await ann.post('/v2/dataset_imports', body);
  if (job.status === 201) dataset.appended.set(idOf(job), addedWords);
  else if (!dataset.isDeleted) throw new Error(`append a file: ${job.status} ${job.text}`);
}

async function readDataset(dataset: KnownDataset): Promise<void> {
  const answer = await ann.post(`/v2/datasets/${dataset.id}/data`, { limit: 10_000 });
  const { results, total } = answer.json as { results?: { word: string }[]; total?: number };
  if (answer.status === 200) {
    // An answer is from a single version, so its total equals the number of its records.
    expect(results?.length).toBe(total);
    dataset.reads.push(results?.map(({ word }) => word) ?? []);
  } else if (!dataset.isDeleted || ![404, 400].includes(answer.status)) {
    const cause = server.logs.findLast((line) => line.includes('"error"')) ?? '';
    throw new Error(`read: ${answer.status} ${answer.text} ${cause}`);
  }
}

async function exportDataset(dataset: KnownDataset): Promise<void> {
  const body = { dataset_id: dataset.id, format: 'json' };
  const job = await ann.post('/v2/dataset_exports', body);
  if (job.status !== 201 && !dataset.isDeleted) throw new Error(`export: ${job.text}`);
}

test('C5, C9: what many clients do at once is what they did one after another, in the order of the commits', async () => {
  const next = seededRandom(seed);
  const goneDatasets: KnownDataset[] = [];
  const liveDatasets = [await newDataset('a'), await newDataset('b'), await newDataset('c')];
  let operationsLeft = operationCount;
  const work = async (): Promise<void> => {
    while (operationsLeft-- > 0) {
      const index = Math.floor(next() * liveDatasets.length);
      const dataset = liveDatasets[index]!;
      const operationDraw = next();
      if (operationDraw < 0.35) await appendRecords(dataset, 1 + Math.floor(next() * 5));
      else if (operationDraw < 0.45)
        await appendUploadedFile(dataset, 1 + Math.floor(next() * 200));
      else if (operationDraw < 0.92) await readDataset(dataset);
      else if (operationDraw < 0.97) await exportDataset(dataset);
      else if (!dataset.isDeleted) {
        dataset.isDeleted = true;
        liveDatasets[index] = await newDataset(`again ${generatedWordCount}`);
        expect((await ann.delete(`/v2/datasets/${dataset.id}`)).status).toBe(200);
        goneDatasets.push(dataset);
      }
    }
  };
  await Promise.all(Array.from({ length: clientCount }, work));
  await waitUntilIdle();
  const counts = { commits: 0, reads: 0, deleted: goneDatasets.length };
  for (const dataset of liveDatasets) {
    const versions = await replayVersions(dataset);
    counts.commits += versions.length - 1;
    counts.reads += dataset.reads.length;
    await readDataset(dataset);
    const caseText = `seed ${seed}, dataset ${dataset.id}`;
    for (const words of dataset.reads) {
      // The size identifies the version, because each version adds records.
      const version = versions.find(({ size }) => size === words.length);
      expect([caseText, words.filter((word) => !version?.has(word))]).toEqual([caseText, []]);
    }
    expect([caseText, dataset.reads.at(-1)?.length]).toEqual([caseText, versions.at(-1)?.size]);
  }
  for (const { id } of goneDatasets) expect((await ann.get(`/v2/datasets/${id}`)).status).toBe(404);
  expect(await findFolderInconsistencies(server)).toEqual([]);
  expect(Object.keys(Object.prototype)).toEqual([]);
  console.log(`history, seed ${seed}: ${JSON.stringify(counts)}`);
});

/** Resolves when no task is left that could change anything. */
async function waitUntilIdle(): Promise<void> {
  const { tasks } = server.catalog;
  const filter = { viewer: null, statuses: ['queued', 'running'] as const };
  for (;;) {
    const { rows } = await tasks.list(filter, { limit: 1, offset: 0 });
    if (rows[0] === undefined) return;
    await server.scheduler.wait(rows[0].id).catch(() => undefined); // a deleted task counts as ended
  }
}

/**
 * Returns the words of a dataset before its first commit and after each commit, found by applying the commits in order. Expects that the
 * commits are exactly those of the acknowledged imports.
 */
async function replayVersions(dataset: KnownDataset): Promise<readonly ReadonlySet<string>[]> {
  const commits = listOf(await ann.get(`/v2/datasets/${dataset.id}/commits?limit=10000`));
  const rows = await server.catalog.commits.list(
    { viewer: null, datasetIds: [dataset.id] },
    { limit: 10_000, offset: 0 },
  );
  expect(commits).toHaveLength(rows.total);
  const orderedCommits = rows.rows.toSorted((a, b) => a.logVersion - b.logVersion);
  // Each version must belong to a commit or to a merge of small segments.
  const commitVersions: number[] = [];
  for await (const { version, info } of server.store.history(dataset.id, 0))
    if (info['compaction'] === undefined) commitVersions.push(version);
  expect(orderedCommits.map(({ logVersion }) => logVersion)).toEqual(commitVersions);
  const versions: Set<string>[] = [new Set()];
  for (const commit of orderedCommits) {
    const addedWords = dataset.appended.get(commit.parentJobId as number);
    expect([commit.id, addedWords?.length]).toEqual([commit.id, commit.recordsModified]);
    const version = new Set([...versions.at(-1)!, ...(addedWords ?? [])]);
    expect(version.size).toBe(commit.recordsTotal);
    versions.push(version);
  }
  expect(new Set(orderedCommits.map(({ parentJobId }) => parentJobId))).toEqual(
    new Set(dataset.appended.keys()),
  );
  return versions;
}
