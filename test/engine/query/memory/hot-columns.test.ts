import { readFile, rm, writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { parquetMetadata } from 'hyparquet';
import {
  CooperativeScheduler,
  limitIdleThreads,
  newIdleTaskMemory,
} from '../../../../engine/query/memory/cooperative-tasks.js';
import { HotColumns } from '../../../../engine/query/memory/hot-columns.js';
import {
  openMemoryExecutor,
  type MemoryExecutor,
} from '../../../../engine/query/memory/memory-executor.js';
import { queryEngine } from '../../../../engine/query/plan/query-engine.js';
import { runQuery } from '../../../../engine/query/plan/run-query.js';
import { parseQuery } from '../../../../engine/query/request/query-request.js';
import { column, openEngineFixture, type EngineFixture, type TestDataset } from '../dataset.js';

describe('hot columns', () => {
  test('are listed by last use, and survive being written and read', () => {
    const hot = new HotColumns();
    expect(hot.takeChangedBytes()).toBeUndefined();
    hot.recordUse(1, ['a', 'b']);
    hot.recordUse(2, ['c']);
    hot.recordUse(1, ['a']);
    expect(hot.recentDatasets).toEqual([
      { dataset: 1, fields: ['b', 'a'] },
      { dataset: 2, fields: ['c'] },
    ]);
    const bytes = hot.takeChangedBytes()!;
    expect(hot.takeChangedBytes()).toBeUndefined();
    hot.recordUse(1, ['a']);
    expect(hot.takeChangedBytes()).toBeUndefined();
    const parsedColumns = HotColumns.parse(bytes);
    expect(parsedColumns.recentDatasets).toEqual([
      { dataset: 1, fields: ['b', 'a'] },
      { dataset: 2, fields: ['c'] },
    ]);
    expect(parsedColumns.takeChangedBytes()).toBeUndefined();
  });

  test('are saved again when the order of their last use has changed', () => {
    const hot = new HotColumns();
    hot.recordUse(1, ['a', 'b']);
    hot.recordUse(2, ['c']);
    const parsedColumns = HotColumns.parse(hot.takeChangedBytes()!);
    parsedColumns.recordUse(1, ['a']);
    expect(HotColumns.parse(parsedColumns.takeChangedBytes()!).recentDatasets).toEqual([
      { dataset: 1, fields: ['b', 'a'] },
      { dataset: 2, fields: ['c'] },
    ]);
    parsedColumns.recordUse(1, ['a']);
    expect(parsedColumns.takeChangedBytes()).toBeUndefined();
  });

  test('are few, however many fields are asked for', () => {
    const hot = new HotColumns();
    for (let dataset = 0; dataset < 100; dataset++)
      hot.recordUse(
        dataset,
        Array.from({ length: 1_000 }, (_, i) => `f${i}`),
      );
    expect(hot.recentDatasets).toHaveLength(32);
    expect(hot.recentDatasets[0]!.fields).toHaveLength(256);
    expect(hot.recentDatasets[0]!.fields.at(-1)).toBe('f999');
  });

  test.each(['', '{', 'null', '{}', '[1, null, {"dataset": "1", "fields": []}, {"dataset": 1}]'])(
    'a file with %j is one without hot columns',
    (text) => expect(HotColumns.parse(Buffer.from(text)).recentDatasets).toEqual([]),
  );
});

describe('warming', () => {
  let engineFixture: EngineFixture;
  let dataset: TestDataset;
  let memory: MemoryExecutor;
  const hot = new HotColumns();
  const gene = { name: 'gene', path: ['gene'], type: 'string' } as const;
  beforeEach(async () => {
    engineFixture = await openEngineFixture();
    const columns = [column('gene', 'string'), column('depth', 'integer')];
    const rows = Array.from({ length: 300 }, (_, i) => ({ gene: `G${i % 3}`, depth: i }));
    dataset = await engineFixture.newDataset(columns, [rows, rows]);
    memory = openMemoryExecutor({ threads: 0, cacheMb: 16 });
  });
  afterEach(async () => {
    await memory.close();
    await engineFixture.close();
  });

  const countMatches = async (filters: unknown): Promise<number> => {
    const { snapshot, fields } = dataset;
    const engine = { ...queryEngine(engineFixture.engine.sql.engine, { memory, hot }) };
    return (await runQuery(engine, snapshot, fields, parseQuery({ filters, limit: 0 }, fields))).total; // prettier-ignore
  };

  test('loads columns, so that a query reads no file', async () => {
    await memory.warm(dataset.snapshot, [gene], {});
    for (const file of dataset.snapshot.files.slice(1)) await rm(file);
    expect(await countMatches([['gene', 'G1']])).toBe(200);
    await expect(countMatches([['depth__gt', 3]])).rejects.toThrow();
    expect(hot.recentDatasets).toEqual([
      { dataset: dataset.snapshot.datasetId, fields: ['gene', 'depth'] },
    ]);
  });

  test('reads the footers of all files, so that a query does not', async () => {
    await memory.open(dataset.snapshot, [], {});
    for (const file of dataset.snapshot.files.slice(1)) {
      const bytes = await readFile(file);
      await writeFile(file, bytes.fill('x', bytes.length - 8));
    }
    expect(await countMatches([['gene', 'G1']])).toBe(200);
    const coldExecutor = openMemoryExecutor({ threads: 0, cacheMb: 16 });
    await expect(coldExecutor.open(dataset.snapshot, [], {})).rejects.toMatchObject({
      code: 'damaged',
    });
    await coldExecutor.close();
  });

  test('tells how many bytes of the files it reads for a field', async () => {
    const depth = { name: 'depth', path: ['depth'], type: 'integer' } as const;
    const other = { name: 'other', path: ['other'], type: 'string' } as const;
    const storedBytes = [0, 0];
    for (const path of dataset.snapshot.files.slice(1)) {
      const { row_groups } = parquetMetadata((await readFile(path)).buffer as ArrayBuffer);
      for (const { columns } of row_groups)
        for (const { meta_data } of columns)
          for (const [i, name] of ['gene', 'depth'].entries())
            if (meta_data!.path_in_schema[0] === name)
              storedBytes[i]! += Number(meta_data!.total_compressed_size);
    }
    expect(await memory.open(dataset.snapshot, [gene, depth, other], {})).toEqual([
      ...storedBytes,
      0,
    ]);
  });

  test('passes over fields that the segments do not store', async () => {
    const other = { name: 'other', path: ['other'], type: 'string' } as const;
    await memory.warm(dataset.snapshot, [other, gene], {});
    expect(await countMatches([['gene', 'G1']])).toBe(200);
  });

  test('stops with its signal', async () => {
    const signal = AbortSignal.abort();
    await expect(memory.warm(dataset.snapshot, [gene], { signal })).rejects.toMatchObject({ code: 'canceled' }); // prettier-ignore
  });
});

test('no more threads carry out idle tasks at the same time than may', async () => {
  const sharedMemory = newIdleTaskMemory(2);
  const [firstScheduler, secondScheduler] = [0, 1].map((index) => new CooperativeScheduler({ shared: sharedMemory, index })) as [CooperativeScheduler, CooperativeScheduler]; // prettier-ignore
  const steps: string[] = [];
  let id = 0;
  const add = (scheduler: CooperativeScheduler, name: string, isIdle: boolean): Promise<void> =>
    new Promise((done, failed) => {
      const work = (function* (): Generator<void, void> {
        for (let i = 0; i < 3; i++) {
          steps.push(name);
          const endTime = performance.now() + 5; // 5 ms, longer than a time slice
          while (performance.now() < endTime);
          yield;
        }
      })();
      scheduler.add(++id, { work, done, failed, isIdle });
    });
  const runIdleTasks = (): Promise<unknown> =>
    Promise.all([add(firstScheduler, 'first', true), add(secondScheduler, 'second', true)]);
  await runIdleTasks();
  expect(steps.join(' ')).toBe('first second first second first second');
  limitIdleThreads(sharedMemory, 1);
  steps.length = 0;
  const idleTasks = runIdleTasks();
  // While the second thread's idle work waits for the first thread, the second thread still answers queries at once.
  await add(secondScheduler, 'query', false);
  expect(steps).not.toContain('second');
  await idleTasks;
  expect(steps.filter((name) => name !== 'query').join(' ')).toBe('first first first second second second'); // prettier-ignore
});

test('an idle task runs while there is no other', async () => {
  const scheduler = new CooperativeScheduler();
  const finishedNames: string[] = [];
  const steps = (count: number) =>
    (function* () {
      for (let i = 0; i < count; i++) {
        const endTime = performance.now() + 5; // longer than a time slice
        while (performance.now() < endTime);
        yield;
      }
    })();
  const add = (id: number, name: string, count: number, isIdle = false): Promise<void> =>
    new Promise((resolve, reject) => {
      const finish = (): void => {
        finishedNames.push(name);
        resolve();
      };
      scheduler.add(id, { work: steps(count), done: finish, failed: reject, isIdle });
    });
  const idleTask = add(1, 'idle', 2, true);
  await Promise.all([add(2, 'long', 6), add(3, 'short', 3), idleTask]);
  expect(finishedNames).toEqual(['short', 'long', 'idle']);
});
