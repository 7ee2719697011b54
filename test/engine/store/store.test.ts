import {
  appendFile,
  link,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  truncate,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { DataFolder } from '../../../engine/core/data-folder.js';
import { listFolder, makeFolder, openDataFolder } from '../../../engine/core/files.js';
import { SegmentIntegrity, VerifiedFiles } from '../../../engine/store/integrity.js';
import { deletionVector, type DeletionVector } from '../../../engine/store/deletion-vector.js';
import { openStore } from '../../../engine/store/open-store.js';
import { writeSegment } from './write-segment.js';
import type { Segment, Store } from '../../../engine/store/store.js';
import type { Column, Columns, Value } from '../../../engine/core/types.js';
import { readWithDuckdb } from './duckdb.js';
import { batchOf } from './random.js';

const datasetId = 123456789012341;
/** The version that the catalogue knows; -1 means none, so that the log alone counts. */
const committedVersion = async (): Promise<number> => -1;
let root: string;
let folder: DataFolder;
let store: Store;
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'strandlake-store-')));
  folder = await openDataFolder(root);
  store = openStore(folder, { dropAfterMs: 0, checkEveryMs: 0 });
});
afterEach(() => rm(root, { recursive: true }));

const columnOf = (name: string, type: Column['type'] = 'long'): Column => ({
  name,
  physical: name,
  type,
  isList: false,
});
const numberColumns: Columns = [columnOf('n')];

let taskCount = 0;
/** Writes a segment for each chunk, whose values are given column by column, to a scratch folder of their own. */
async function stageSegments(
  columns: Columns,
  ...chunks: readonly (readonly (readonly Value[])[])[]
) {
  taskCount += 1;
  const scratch = folder.taskScratch(taskCount, 1);
  await makeFolder(scratch);
  const add: Segment[] = [];
  for (const [i, values] of chunks.entries()) {
    const rows = values[0]!.length;
    const data = batchOf(columns, values, rows, BigInt(taskCount), i);
    add.push(await writeSegment({ columns, data, rows }, join(scratch, `${i}.parquet`)));
  }
  return { scratch, add };
}

async function commitAppend(
  columns: Columns,
  ...chunks: readonly (readonly (readonly Value[])[])[]
) {
  const { scratch, add } = await stageSegments(columns, ...chunks);
  return store.commit(datasetId, { columns, add, remove: [], info: { task: taskCount } }, scratch);
}

function asReplacedFiles(paths: readonly string[]): readonly { readonly path: string }[] {
  return paths.map((path) => ({ path }));
}

const readColumnByDuckdb = async (select = 'n') =>
  (await readWithDuckdb((await store.snapshot(datasetId)).files, select)).columns[0];

describe('a dataset', () => {
  test('has no rows, and a schema file, before its first commit', async () => {
    const snapshot = await store.snapshot(datasetId);
    expect(snapshot).toMatchObject({ version: -1, columns: [], segments: [], rows: 0, bytes: 0 });
    expect((await readWithDuckdb(snapshot.files)).names).toEqual(['_id', '_commit']);
    expect(await readdir(folder.datasets)).toEqual(['_empty.parquet']);
  });

  test('has the committed records in order, also after a restart', async () => {
    const firstSnapshot = await commitAppend(numberColumns, [[1n, 2n]], [[3n]]);
    expect(firstSnapshot).toMatchObject({ version: 0, rows: 3, columns: numberColumns });
    await commitAppend(numberColumns, [[4n]]);
    expect(await readColumnByDuckdb()).toEqual([1n, 2n, 3n, 4n]);
    expect(await readdir(folder.taskScratch(taskCount, 1))).toEqual([]);
    const reopenedStore = openStore(folder);
    expect(await reopenedStore.snapshot(datasetId)).toEqual(await store.snapshot(datasetId));
    expect(await reopenedStore.snapshot(datasetId, 0)).toEqual(firstSnapshot);
    expect(await reopenedStore.datasets()).toEqual([datasetId]);
    expect(await reopenedStore.verify(datasetId)).toEqual([]);
  });

  test('has its newer columns in older segments', async () => {
    await commitAppend(numberColumns, [[1n]]);
    const widerColumns = [...numberColumns, columnOf('t', 'string')];
    await commitAppend(widerColumns, [[2n], ['x']]);
    expect(await readColumnByDuckdb("coalesce(t, '-') || n")).toEqual(['-1', 'x2']);
    const { segments, columns } = await openStore(folder).snapshot(datasetId);
    expect(columns).toEqual(widerColumns);
    expect(segments.map((segment) => segment.columns)).toEqual([numberColumns, widerColumns]);
  });

  test('removes segments and keeps them for earlier versions', async () => {
    const { segments } = await commitAppend(numberColumns, [[1n]], [[2n]]);
    const remove = [segments[0]!.path];
    await store.commit(
      datasetId,
      { columns: numberColumns, add: [], remove, info: {} },
      folder.scratch,
    );
    expect(await readColumnByDuckdb()).toEqual([2n]);
    const earlierSnapshot = await store.snapshot(datasetId, 0);
    expect((await readWithDuckdb(earlierSnapshot.files, 'n')).columns[0]).toEqual([1n, 2n]);
    expect(await store.sweep(committedVersion)).toEqual({
      removed: [],
      quarantined: [],
      failures: [],
    });
    expect(await store.verify(datasetId)).toEqual([]);
  });

  test('has all rows of a segment again after an update that names no deleted rows of it', async () => {
    const [segment] = (await commitAppend(numberColumns, [[1n, 2n]])).segments;
    for (const deletion of [deletionVector(Int32Array.of(0)), undefined]) {
      const { version } = await store.snapshot(datasetId);
      const update = [{ ...segment!, ...(deletion && { deletion }) }];
      const change = {
        base: version,
        columns: numberColumns,
        add: [],
        remove: [],
        update,
        info: {},
      };
      const { rows } = await store.commit(datasetId, change, '');
      expect(rows).toBe(deletion ? 1 : 2);
      expect((await openStore(folder).snapshot(datasetId)).rows).toBe(rows);
    }
  });

  test('returns its history, for a catalogue that fell behind', async () => {
    for (const value of [1n, 2n, 3n]) await commitAppend(numberColumns, [[value]]);
    const seenEntries = [];
    for await (const entry of openStore(folder).history(datasetId, 1)) seenEntries.push(entry);
    const columns = { columns: numberColumns, segmentColumns: [numberColumns] };
    expect(seenEntries).toEqual([
      { ...columns, version: 1, info: { task: taskCount - 1 } },
      { ...columns, version: 2, info: { task: taskCount } },
    ]);
  });

  test('keeps its statistics through the log', async () => {
    const columns: Columns = [
      { ...columnOf('o', 'object'), children: [columnOf('a.b'), columnOf('__proto__', 'double')] },
      { ...columnOf('l', 'string'), isList: true },
    ];
    const record = JSON.parse('{"a.b": null, "__proto__": 0.5}') as Value;
    const { scratch, add } = await stageSegments(columns, [
      [record, null],
      [['x'], null],
    ]);
    await store.commit(datasetId, { columns, add, remove: [], info: {} }, scratch);
    const [segment] = (await openStore(folder).snapshot(datasetId)).segments;
    expect(segment!.stats).toEqual({ ...add[0]!.stats });
    expect(segment!.stats['o.a\\.b']).toEqual({ nulls: 2 });
    expect(segment!.stats['l']).toEqual({ nulls: 1 });
  });

  test('does not exist after it was dropped, and refuses later commits', async () => {
    const slowStore = openStore(folder); // keeps removed files for a while, for running queries
    await commitAppend(numberColumns, [[1n]]);
    const { files } = await slowStore.snapshot(datasetId);
    await slowStore.drop(datasetId);
    expect(await slowStore.snapshot(datasetId)).toMatchObject({ version: -1 });
    expect((await readWithDuckdb(files, 'n')).columns[0]).toEqual([1n]);
    await expect(commitAppend(numberColumns, [[2n]])).rejects.toThrow('was deleted meanwhile');
    await store.sweep(async () => undefined);
    await store.sweep(committedVersion);
    expect(await readdir(folder.dataset(datasetId))).toContain('_dropped'); // the catalogue that still has the dataset is an older backup
    await store.sweep(async () => 'deleted');
    expect(await readdir(folder.datasets)).toEqual(['_empty.parquet']);
    store = openStore(folder, { dropAfterMs: 0 });
    await commitAppend(numberColumns, [[1n]]);
    await store.drop(datasetId);
    expect(await readdir(folder.datasets)).toEqual(['_empty.parquet']);
    expect(await store.datasets()).toEqual([]);
  });
});

describe('commits', () => {
  test('that are simultaneous all become versions (C5)', async () => {
    const otherStore = openStore(folder); // stands for another process
    const work = Array.from({ length: 12 }, async (_, i) => {
      const { scratch, add } = await stageSegments(numberColumns, [[BigInt(i)]]);
      const change = { columns: numberColumns, add, remove: [], info: { i } };
      await (i % 2 === 0 ? store : otherStore).commit(datasetId, change, scratch);
    });
    await Promise.all(work);
    const { version, rows } = await store.snapshot(datasetId);
    expect({ version, rows }).toEqual({ version: 11, rows: 12 });
    expect(new Set(await readColumnByDuckdb()).size).toBe(12);
    expect(await openStore(folder).snapshot(datasetId)).toEqual(
      await otherStore.snapshot(datasetId),
    );
    expect(await store.verify(datasetId)).toEqual([]);
  });

  test('based on a version that is no longer the last are refused and keep their files', async () => {
    const { scratch, add } = await stageSegments(numberColumns, [[1n]]);
    const change = { columns: numberColumns, add, remove: [], info: {}, base: -1 };
    await commitAppend(numberColumns, [[2n]]);
    const lateCommit = store.commit(datasetId, change, scratch);
    await expect(lateCommit).rejects.toMatchObject({ code: 'conflict' });
    expect(await readdir(scratch)).toEqual(['0.parquet']);
    await store.commit(datasetId, { ...change, base: 0 }, scratch);
    expect(await readColumnByDuckdb()).toEqual([2n, 1n]);
  });

  test('that would change a field of another commit are refused', async () => {
    await commitAppend([...numberColumns, columnOf('x')], [[1n], [1n]]);
    const narrowerStage = await stageSegments(numberColumns, [[2n]]);
    const change = { columns: numberColumns, add: narrowerStage.add, remove: [], info: {} };
    await expect(store.commit(datasetId, change, narrowerStage.scratch)).rejects.toThrow(
      'field x was changed',
    );
    const retypedColumns = [...numberColumns, columnOf('x', 'string')];
    const otherStage = await stageSegments(retypedColumns, [[2n], ['a']]);
    const retypingChange = { columns: retypedColumns, add: otherStage.add, remove: [], info: {} };
    await expect(store.commit(datasetId, retypingChange, otherStage.scratch)).rejects.toThrow(
      'field x was changed',
    );
    const staleChange = {
      columns: [...numberColumns, columnOf('x')],
      add: [],
      remove: ['x.parquet'],
      info: {},
    };
    await expect(store.commit(datasetId, staleChange, folder.scratch)).rejects.toMatchObject({
      code: 'conflict',
    });
    expect(await openStore(folder).verify(datasetId)).toEqual([]);
    expect((await store.snapshot(datasetId)).version).toBe(0);
  });

  test('whose segment is missing change nothing and leave the others where they were', async () => {
    const { scratch, add } = await stageSegments(numberColumns, [[1n]], [[2n]]);
    await unlink(join(scratch, '1.parquet'));
    const commit = store.commit(
      datasetId,
      { columns: numberColumns, add, remove: [], info: {} },
      scratch,
    );
    await expect(commit).rejects.toThrow('1.parquet is missing');
    expect((await openStore(folder).snapshot(datasetId)).version).toBe(-1);
    expect(await readdir(scratch)).toEqual(['0.parquet']);
    await store.sweep(committedVersion);
    expect((await listFolder(folder.datasets)).filter((entry) => entry.kind === 'folder')).toEqual(
      [],
    );
  });

  test('are refused when the last log entry has disappeared: its number is not given again', async () => {
    await commitAppend(numberColumns, [[1n]]);
    await commitAppend(numberColumns, [[2n]]);
    const entry = folder.logEntry(datasetId, 1);
    const wholeEntry = await readFile(entry);
    await unlink(entry);
    const { scratch, add } = await stageSegments(numberColumns, [[3n]]);
    const change = { columns: numberColumns, add, remove: [], info: {} };
    await expect(store.commit(datasetId, change, scratch)).rejects.toThrow(
      `${basename(entry)} is missing`,
    );
    expect(await readdir(folder.deltaLog(datasetId))).toHaveLength(1);
    await writeFile(entry, wholeEntry);
    await store.commit(datasetId, change, scratch);
    expect(await readColumnByDuckdb()).toEqual([1n, 2n, 3n]);
  });

  test('from outside the data folder are refused', async () => {
    const { add } = await stageSegments(numberColumns, [[1n]]);
    const change = { columns: numberColumns, add, remove: [], info: {} };
    await expect(store.commit(datasetId, change, tmpdir())).rejects.toThrow(
      'not in the data folder',
    );
    const climbingChange = { ...change, add: [{ ...add[0]!, path: '../../keys/signing.key' }] };
    await expect(store.commit(datasetId, climbingChange, folder.scratch)).rejects.toThrow();
  });
});

describe('a rewrite', () => {
  /** Makes commits of one record each; returns the paths of the segments. */
  async function commitMany(count: number): Promise<readonly string[]> {
    for (let i = 0; i < count; i++) await commitAppend(numberColumns, [[BigInt(i)]]);
    return (await store.snapshot(datasetId)).segments.map(({ path }) => path);
  }

  test('replaces segments, and leaves earlier versions unchanged', async () => {
    const paths = await commitMany(5);
    const { scratch, add } = await stageSegments(numberColumns, [[1n, 2n, 3n]]);
    const rewrite = { replace: asReplacedFiles(paths.slice(1, 4)), add, info: { x: 1 } };
    const snapshotAfter = await store.rewrite(datasetId, rewrite, scratch);
    expect(snapshotAfter).toMatchObject({ version: 5, rows: 5, columns: numberColumns });
    expect(snapshotAfter.segments).toHaveLength(3);
    expect(await readColumnByDuckdb()).toEqual([0n, 1n, 2n, 3n, 4n]);
    const reopenedStore = openStore(folder);
    expect(await reopenedStore.snapshot(datasetId)).toEqual(snapshotAfter);
    expect(await reopenedStore.verify(datasetId)).toEqual([]);
    expect(await reopenedStore.sweep(committedVersion)).toEqual({
      removed: [],
      quarantined: [],
      failures: [],
    });
    for (const one of [store, reopenedStore]) {
      const earlierSnapshot = await one.snapshot(datasetId, 4);
      expect(earlierSnapshot.segments.map(({ path }) => path)).toEqual(paths);
      expect((await readWithDuckdb(earlierSnapshot.files, 'n')).columns[0]).toHaveLength(5);
    }
    const text = await readFile(folder.logEntry(datasetId, 5), 'utf8');
    expect(text.match(/"dataChange":false/g)).toHaveLength(4);
    expect(text).not.toContain('"dataChange":true');
    await commitAppend(numberColumns, [[5n]]);
    expect(await readColumnByDuckdb()).toEqual([0n, 1n, 2n, 3n, 4n, 5n]);
  });

  test('can follow commits that came meanwhile, also those with new columns', async () => {
    const paths = await commitMany(3);
    const { scratch, add } = await stageSegments(numberColumns, [[0n, 1n, 2n]]);
    await commitAppend([...numberColumns, columnOf('t', 'string')], [[3n], ['x']]);
    await store.rewrite(datasetId, { replace: asReplacedFiles(paths), add, info: {} }, scratch);
    expect(await readColumnByDuckdb("coalesce(t, '-') || n")).toEqual(['-0', '-1', '-2', 'x3']);
    expect((await openStore(folder).snapshot(datasetId)).columns).toHaveLength(2);
  });

  test('is refused when a segment no longer exists, and moves its own segments back', async () => {
    const paths = await commitMany(3);
    const firstStage = await stageSegments(numberColumns, [[0n, 1n]]);
    const secondStage = await stageSegments(numberColumns, [[1n, 2n]]);
    const rewrite = { replace: asReplacedFiles(paths.slice(0, 2)), add: firstStage.add, info: {} };
    await store.rewrite(datasetId, rewrite, firstStage.scratch);
    const lateMerge = { replace: asReplacedFiles(paths.slice(1)), add: secondStage.add, info: {} };
    await expect(store.rewrite(datasetId, lateMerge, secondStage.scratch)).rejects.toMatchObject({
      code: 'conflict',
    });
    expect(await readdir(secondStage.scratch)).toEqual(['0.parquet']);
    await store.drop(datasetId);
    const staleMerge = { replace: asReplacedFiles(paths.slice(2)), add: secondStage.add, info: {} };
    await expect(store.rewrite(datasetId, staleMerge, secondStage.scratch)).rejects.toMatchObject({
      code: 'conflict',
    });
  });

  test('passes over a segment without records, until its rows are restored', async () => {
    const paths = await commitMany(3);
    const { scratch, add } = await stageSegments(numberColumns, [[0n, 2n]]);
    const commitBetween = async (deletion: DeletionVector | undefined): Promise<void> => {
      const { version, segments } = await store.snapshot(datasetId);
      const update = [{ ...segments[1]!, deletion }];
      await store.commit(
        datasetId,
        { base: version, columns: numberColumns, add: [], remove: [], update, info: {} },
        '',
      );
    };
    const rewrite = { replace: asReplacedFiles([paths[0]!, paths[2]!]), add, info: {} };
    const deletion = deletionVector(Int32Array.of(0));
    await commitBetween(deletion);
    await commitBetween(undefined);
    await expect(store.rewrite(datasetId, rewrite, scratch)).rejects.toMatchObject({
      code: 'conflict',
    });
    await commitBetween(deletion);
    const { segments } = await store.rewrite(datasetId, rewrite, scratch);
    expect(segments.map(({ rows }) => rows)).toEqual([2, 1]);
    expect(await openStore(folder).verify(datasetId)).toEqual([]);
  });

  test('of segments that are not neighbours, or with other records, is refused', async () => {
    const paths = await commitMany(4);
    const { scratch, add } = await stageSegments(numberColumns, [[0n, 2n]]);
    const apartMerge = { replace: asReplacedFiles([paths[0]!, paths[2]!]), add, info: {} };
    await expect(store.rewrite(datasetId, apartMerge, scratch)).rejects.toMatchObject({
      code: 'conflict',
    });
    const swappedMerge = { replace: asReplacedFiles([paths[1]!, paths[0]!]), add, info: {} };
    await expect(store.rewrite(datasetId, swappedMerge, scratch)).rejects.toThrow(
      'are not neighbours',
    );
    const fewerMerge = { replace: asReplacedFiles(paths.slice(0, 3)), add, info: {} };
    await expect(store.rewrite(datasetId, fewerMerge, scratch)).rejects.toThrow(
      'replaces 3 records by 2',
    );
    expect(await openStore(folder).verify(datasetId)).toEqual([]);
    expect(await readColumnByDuckdb()).toEqual([0n, 1n, 2n, 3n]);
    expect(await readdir(scratch)).toEqual(['0.parquet']);
  });

  test('and simultaneous commits of two processes all become versions', async () => {
    const paths = await commitMany(6);
    const otherStore = openStore(folder);
    const work = [0, 2, 4].map(async (at) => {
      const { scratch, add } = await stageSegments(numberColumns, [[BigInt(at), BigInt(at + 1)]]);
      await store.rewrite(
        datasetId,
        { replace: asReplacedFiles(paths.slice(at, at + 2)), add, info: {} },
        scratch,
      );
    });
    const commits = [6n, 7n, 8n].map(async (value) => {
      const { scratch, add } = await stageSegments(numberColumns, [[value]]);
      await otherStore.commit(
        datasetId,
        { columns: numberColumns, add, remove: [], info: {} },
        scratch,
      );
    });
    await Promise.all([...work, ...commits]);
    const numbers = await readColumnByDuckdb();
    expect(numbers?.slice(0, 6)).toEqual([0n, 1n, 2n, 3n, 4n, 5n]);
    expect(new Set(numbers?.slice(6))).toEqual(new Set([6n, 7n, 8n]));
    expect(await openStore(folder).snapshot(datasetId)).toEqual(
      await otherStore.snapshot(datasetId),
    );
    expect(await store.verify(datasetId)).toEqual([]);
  });
});

describe('damage in the log (C2b)', () => {
  const entryPath = (version: number) => folder.logEntry(datasetId, version);
  const expectDamage = async (message: RegExp) => {
    const openedSnapshot = openStore(folder).snapshot(datasetId);
    await expect(openedSnapshot).rejects.toMatchObject({ code: 'damaged' });
    await expect(openedSnapshot).rejects.toThrow(message);
    await expect(openedSnapshot).rejects.toThrow(`dataset ${datasetId}`);
    expect(await store.verify(datasetId)).toMatchObject([{ path: '_delta_log' }]);
    const namesBefore = await readdir(folder.dataset(datasetId));
    await openStore(folder).sweep(committedVersion);
    expect(await readdir(folder.dataset(datasetId))).toEqual(namesBefore);
  };
  beforeEach(async () => {
    for (const value of [1n, 2n, 3n]) await commitAppend(numberColumns, [[value]]);
  });

  test('an empty entry', async () => {
    await truncate(entryPath(2));
    await expectDamage(/00000000000000000002\.json is empty/);
  });

  test('an entry truncated at any position', async () => {
    const wholeEntry = await readFile(entryPath(1));
    const ends = [1, wholeEntry.length >> 1, wholeEntry.length - 1, wholeEntry.indexOf('\n') + 1];
    for (const end of ends) {
      await writeFile(entryPath(1), wholeEntry.subarray(0, end));
      await expectDamage(/00000000000000000001\.json/);
    }
  });

  test('a missing middle version', async () => {
    await unlink(entryPath(1));
    await expectDamage(/00000000000000000001\.json is missing/);
  });

  test('a duplicate', async () => {
    await writeFile(entryPath(3), await readFile(entryPath(2)));
    await expectDamage(/is a copy of version 2/);
  });

  test('an edited line, and an unknown one', async () => {
    const wholeEntry = await readFile(entryPath(1), 'utf8');
    await writeFile(entryPath(1), wholeEntry.replace('"numRecords\\":1', '"numRecords\\":2'));
    await expectDamage(/does not match its checksum/);
    await writeFile(entryPath(1), `{"txn":{"appId":"x","version":1}}\n${wholeEntry}`);
    await expectDamage(/does not match its checksum/);
    await writeFile(entryPath(1), wholeEntry);
    await appendFile(entryPath(1), '{"txn":{"appId":"x","version":1}}\n');
    await expectDamage(/an unknown action: txn/);
  });

  test('an entry of another writer, or for a newer reader', async () => {
    const foreignEntry = { commitInfo: { timestamp: 1, operation: 'OPTIMIZE' } };
    await writeFile(entryPath(3), `${JSON.stringify(foreignEntry)}\n`);
    await expectDamage(/was not written by this server/);
  });
});

describe('damage in a segment (R7)', () => {
  test('is found before a wrong row is returned, and named', async () => {
    await commitAppend(numberColumns, [Array.from({ length: 3000 }, (_, i) => BigInt(i * i))]);
    const snapshot = await store.snapshot(datasetId);
    const path = snapshot.files[1]!;
    const fileBytes = await readFile(path);
    for (let at = 100; at < fileBytes.length; at += 4096) {
      const flippedBytes = Buffer.from(fileBytes);
      flippedBytes[at]! ^= 1;
      await writeFile(path, flippedBytes);
      await expect(store.snapshot(datasetId)).rejects.toMatchObject({ code: 'damaged' });
      const freshSnapshot = await openStore(folder).snapshot(datasetId);
      // A reader of the damaged file notices the damage; a file of an earlier format is read in full at its first use.
      await expect(new VerifiedFiles().check(freshSnapshot)).rejects.toThrow('match its checksum');
      const segments = freshSnapshot.segments.map((one) => ({ ...one, blockChecksums: undefined }));
      const earlierCheck = new SegmentIntegrity(folder, 0).check({ ...freshSnapshot, segments });
      await expect(earlierCheck).rejects.toThrow('match its checksum');
      await expect(store.verify(datasetId)).resolves.toHaveLength(1);
    }
    await truncate(path, 10);
    await expect(store.snapshot(datasetId)).rejects.toThrow(
      `has 10 bytes, should be ${fileBytes.length}`,
    );
    await unlink(path);
    await expect(store.snapshot(datasetId)).rejects.toThrow(
      `dataset ${datasetId}: segment ${basename(path)}`,
    );
    expect(await store.verify(datasetId)).toEqual([
      { path: basename(path), problem: 'is missing' },
    ]);
    await writeFile(path, fileBytes);
    expect((await store.snapshot(datasetId)).rows).toBe(3000);
  });

  test('is looked for at intervals, and at once when a file was added or removed', async () => {
    await commitAppend(numberColumns, [[1n, 2n]]);
    const seldomCheckingStore = openStore(folder, { checkEveryMs: Infinity });
    const path = (await seldomCheckingStore.snapshot(datasetId)).files[1]!;
    const fileBytes = await readFile(path);
    await truncate(path, 10);
    expect((await seldomCheckingStore.snapshot(datasetId)).rows).toBe(2); // files changed in place are not noticed yet
    await expect(store.snapshot(datasetId)).rejects.toMatchObject({ code: 'damaged' });
    await unlink(path);
    await expect(seldomCheckingStore.snapshot(datasetId)).rejects.toMatchObject({
      code: 'damaged',
    });
    await writeFile(path, fileBytes);
    expect((await seldomCheckingStore.snapshot(datasetId)).rows).toBe(2);
  });

  test('and unreferenced files are listed; scratch is removed, other segments are kept aside, files of others stay', async () => {
    await commitAppend(numberColumns, [[1n]]);
    const [lostName, unknownName] = [
      'abc-0123456789ab-00000.parquet',
      'abc-0123456789ab-00001.parquet',
    ];
    await writeFile(join(folder.scratch, 'x.parquet'), 'x');
    await link(join(folder.scratch, 'x.parquet'), folder.datasetFile(datasetId, lostName));
    await writeFile(folder.datasetFile(datasetId, unknownName), 'all that is left of a version');
    await writeFile(join(folder.dataset(datasetId), 'notes of the owner.txt'), 'x');
    await writeFile(join(folder.deltaLog(datasetId), '_aside-1-1-x.json'), 'x');
    expect(await store.verify(datasetId)).toHaveLength(4);
    expect(await store.sweep(committedVersion)).toEqual({
      removed: [`${datasetId}/${lostName}`, `${datasetId}/_delta_log/_aside-1-1-x.json`],
      quarantined: [`${datasetId}/${unknownName}`],
      failures: [],
    });
    const keptFile = join(folder.quarantine, 'datasets', String(datasetId), unknownName);
    expect(await readFile(keptFile, 'utf8')).toBe('all that is left of a version');
    expect(await store.verify(datasetId)).toHaveLength(1);
  });
});
