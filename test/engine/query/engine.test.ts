import { existsSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openQueryEngine } from '../../../engine/query/plan/query-engine.js';
import { parseQuery } from '../../../engine/query/request/query-request.js';
import { runQuery } from '../../../engine/query/plan/run-query.js';
import { column, openEngineFixture, type EngineFixture } from './dataset.js';
import { createSixRecordDataset } from './six-records.js';

let engineFixture: EngineFixture;
beforeAll(async () => {
  engineFixture = await openEngineFixture();
});
afterAll(() => engineFixture.close());

const slowStatement = 'SELECT sum(hash(a.range) % 7) FROM range(100000000) a, range(1000) b';

describe('the engine (Q1b)', () => {
  test.each([
    `SELECT * FROM read_csv('/etc/passwd')`,
    `SELECT * FROM read_text('/etc/passwd')`,
    `SELECT * FROM read_blob('/proc/self/environ')`,
    `SELECT * FROM read_parquet('/tmp/x.parquet')`,
    `SELECT * FROM read_json('/etc/hostname')`,
    `SELECT * FROM glob('/etc/*')`,
    `SELECT * FROM '/etc/passwd'`,
    `SELECT * FROM 'https://example.org/x.parquet'`,
    `SELECT * FROM read_csv('https://example.org/x.csv')`,
    `SELECT * FROM sniff_csv('/etc/passwd')`,
    `SELECT getenv('HOME')`,
    `COPY (SELECT 1) TO '/tmp/strandlake-planted'`,
    `COPY (SELECT 1) TO '/tmp/strandlake-planted.parquet' (FORMAT parquet)`,
    `ATTACH '/tmp/strandlake-planted.db'`,
    `ATTACH ':memory:' AS other`,
    `INSTALL httpfs`,
    `LOAD httpfs`,
    `PRAGMA database_list`,
    `PRAGMA memory_limit='1TB'`,
    `FROM read_text('/etc/passwd')`,
    `WITH x AS (SELECT 1) SELECT * FROM x`,
    `SET lock_configuration = false`,
    `SET enable_external_access = true`,
    `SET memory_limit = '100GB'`,
    `RESET allowed_directories`,
    `CREATE TABLE x (a INTEGER)`,
    `CREATE MACRO f() AS 1`,
    `EXPORT DATABASE '/tmp/strandlake-planted'`,
    `IMPORT DATABASE '/tmp/strandlake-planted'`,
    `CREATE SECRET s (TYPE s3)`,
    `CALL enable_logging()`,
    `CHECKPOINT`,
    `SELECT 1; SELECT 2`,
    `SELECT 1; COPY (SELECT 1) TO '/tmp/strandlake-planted'`,
  ])('refuses %s', async (sql) => {
    await expect(engineFixture.engine.sql.engine.run(sql, [])).rejects.toThrow();
  });

  test('opens nothing beside the datasets, not even in its own data folder', async () => {
    writeFileSync(join(engineFixture.folder, 'catalog.sqlite'), 'secret');
    mkdirSync(join(engineFixture.folder, 'datasets-not'), { recursive: true });
    writeFileSync(join(engineFixture.folder, 'datasets-not', 'x.txt'), 'secret');
    for (const path of ['catalog.sqlite', 'datasets/../catalog.sqlite', 'datasets-not/x.txt']) {
      const fileParam = {
        type: 'string',
        value: join(engineFixture.folder, 'datasets') + `/../${path}`,
      } as const;
      await expect(
        engineFixture.engine.sql.engine.run('SELECT * FROM read_text($1)', [fileParam]),
      ).rejects.toThrow(/[Pp]ermission/);
      const plainPathParam = { type: 'string', value: join(engineFixture.folder, path) } as const;
      await expect(
        engineFixture.engine.sql.engine.run('SELECT * FROM read_text($1)', [plainPathParam]),
      ).rejects.toThrow(/[Pp]ermission/);
    }
  });

  test('ends a statement when its time is up, and names the budget (Q9, T0: queryMs)', async () => {
    await expect(
      engineFixture.engine.sql.engine.run(slowStatement, [], { timeoutMs: 200 }),
    ).rejects.toMatchObject({
      code: 'budget',
      message: expect.stringMatching(/^The query took longer than 0.2 s, .*: narrow it/),
    });
  });

  test('ends a statement when its client leaves, waiting ones too (Q9)', async () => {
    const controller = new AbortController();
    const runningStatements = Array.from({ length: 12 }, () =>
      engineFixture.engine.sql.engine.run(slowStatement, [], { signal: controller.signal }),
    );
    const allEnded = Promise.allSettled(runningStatements);
    controller.abort();
    for (const outcome of await allEnded) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'canceled' } });
    }
    expect(await engineFixture.engine.sql.engine.run('SELECT 1', [])).toEqual([[1]]);
  });

  test('does not start what was given up before', async () => {
    const signal = AbortSignal.abort();
    await expect(
      engineFixture.engine.sql.engine.run(slowStatement, [], { signal }),
    ).rejects.toMatchObject({
      code: 'canceled',
    });
  });

  test('answers more requests at once than it has connections', async () => {
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        engineFixture.engine.sql.engine.run('SELECT $1', [{ type: 'long', value: BigInt(index) }]),
      ),
    );
    expect(answers.map(([row]) => Number(row![0]))).toEqual(
      Array.from({ length: 40 }, (_, index) => index),
    );
  });

  test('answers light statements while heavy ones are queued (Q9)', async () => {
    const controller = new AbortController();
    const heavyStatements = Array.from({ length: 20 }, () =>
      engineFixture.engine.sql.engine.run(slowStatement, [], {
        isHeavy: true,
        signal: controller.signal,
      }),
    );
    const allEnded = Promise.allSettled(heavyStatements);
    // If all queries shared one queue, these light queries would wait for the heavy ones, which take minutes.
    for (let round = 0; round < 20; round += 1)
      expect(await engineFixture.engine.sql.engine.run('SELECT 1', [])).toEqual([[1]]);
    controller.abort();
    expect((await allEnded).every(({ status }) => status === 'rejected')).toBe(true);
  });

  test('gives its connection back when a stream is left early', async () => {
    for (let round = 0; round < 10; round += 1) {
      for await (const rows of engineFixture.engine.sql.engine.stream(
        'SELECT * FROM range(1000000)',
        [],
      )) {
        expect(rows.length).toBeGreaterThan(0);
        break;
      }
    }
    expect(await engineFixture.engine.sql.engine.run('SELECT 1', [])).toEqual([[1]]);
  });

  test('answers a query that needs too much memory with the budget (Q9, T0)', async () => {
    const folder = join(engineFixture.folder, 'small');
    const engine = openQueryEngine({
      dataFolder: folder,
      memoryMb: 64,
      threads: 1,
      spillFolder: join(folder, 'spill'),
      spillMb: 8,
    });
    const greedyStatement = 'SELECT list(range) FROM range(50000000)';
    await expect(engine.sql.engine.run(greedyStatement, [])).rejects.toMatchObject({
      code: 'budget',
      message: expect.stringMatching(
        /more than 64 MB of memory, with 8 MB on disk .* --api-memory-mb/,
      ),
    });
    expect(await engine.sql.engine.run('SELECT 1', [])).toEqual([[1]]);
    await engine.close();
  });

  // Whenever it opens DuckDB, the engine makes the folder for spilled data.
  test('opens DuckDB at the first statement, and again when no statement has run for a while', async () => {
    const spillFolder = join(engineFixture.folder, 'spill-idle');
    const engine = openQueryEngine({
      dataFolder: engineFixture.folder,
      memoryMb: 64,
      threads: 1,
      spillFolder,
      spillMb: 8,
      idleMs: 5,
    });
    const { sql } = engine;
    expect(existsSync(spillFolder)).toBe(false);
    for await (const batch of sql.engine.stream('SELECT 1', [])) {
      expect(batch).toEqual([[1]]);
      rmSync(spillFolder, { recursive: true });
      await pause(20); // longer than `idleMs`, but a statement is running
      expect(await sql.engine.run('SELECT 2', [])).toEqual([[2]]);
    }
    expect(existsSync(spillFolder)).toBe(false);
    await pause(20); // a timer set earlier for less time has fired before this one does
    expect(await sql.engine.run('SELECT 3', [])).toEqual([[3]]);
    expect(existsSync(spillFolder)).toBe(true);
    await engine.close();
  });

  test('tries again to open DuckDB after a failure', async () => {
    const spillFolder = join(engineFixture.folder, 'spill-blocked');
    writeFileSync(spillFolder, '');
    const options = { dataFolder: engineFixture.folder, memoryMb: 64, threads: 1, spillFolder };
    const engine = openQueryEngine({ ...options, spillMb: 8 });
    await expect(engine.sql.engine.run('SELECT 1', [])).rejects.toThrow();
    rmSync(spillFolder);
    expect(await engine.sql.engine.run('SELECT 1', [])).toEqual([[1]]);
    await engine.close();
  });

  test('interrupts what runs when it is closed', async () => {
    const engine = openQueryEngine({
      dataFolder: engineFixture.folder,
      memoryMb: 64,
      threads: 1,
      spillFolder: join(engineFixture.folder, 'spill-2'),
      spillMb: 8,
    });
    const runningQuery = expect(engine.sql.engine.run(slowStatement, [])).rejects.toThrow();
    await engine.close();
    await runningQuery;
    await expect(engine.sql.engine.run('SELECT 1', [])).rejects.toThrow('closed');
  });
});

describe('a damaged dataset (R7)', () => {
  const damages: readonly (readonly [string, (file: string) => void])[] = [
    ['is missing', (file) => rmSync(file)],
    ['is empty', (file) => truncateSync(file, 0)],
    ['is cut off', (file) => truncateSync(file, Math.floor(readFileSync(file).length / 2))],
    ['is other bytes', (file) => writeFileSync(file, 'PAR1'.repeat(100))],
    ['has flipped bytes', (file) => writeFileSync(file, readFileSync(file).map((byte, i) => (i > 3 && i < 900 ? byte ^ 0x5a : byte)))],
  ]; // prettier-ignore

  test.each(damages)('whose file %s is named in the error', async (_, damage) => {
    const { snapshot, fields } = await createSixRecordDataset(engineFixture);
    damage(snapshot.files[1]!);
    const pendingQuery = runQuery(engineFixture.engine, snapshot, fields, parseQuery({}, fields));
    await expect(pendingQuery).rejects.toMatchObject({
      code: 'damaged',
      message: expect.stringContaining(`dataset ${snapshot.datasetId}`),
    });
  });

  test('leaves the others alone', async () => {
    const { snapshot, fields } = await engineFixture.newDataset(
      [column('a', 'long')],
      [[{ a: 1 }]],
    );
    const answer = await runQuery(engineFixture.engine, snapshot, fields, parseQuery({}, fields));
    expect(answer.total).toBe(1);
  });
});
