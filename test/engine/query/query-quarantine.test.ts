import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DataFolder } from '../../../engine/core/data-folder.js';
import { openDataFolder } from '../../../engine/core/files.js';
import { openQueryEngine } from '../../../engine/query/plan/query-engine.js';
import { QueryQuarantine } from '../../../engine/query/sql/query-quarantine.js';

let data: DataFolder;
beforeEach(async () => {
  data = await openDataFolder(
    await realpath(await mkdtemp(join(tmpdir(), 'strandlake-quarantine-'))),
  );
});
afterEach(() => rm(data.root, { recursive: true }));

/** Runs a process that begins some queries (SQL statements) and is killed before they end. */
async function dieDuringQueries(...queries: string[]): Promise<void> {
  const module = (name: string): string =>
    JSON.stringify(new URL(`../../../engine/${name}.js`, import.meta.url).href);
  const script = `
    const { QueryQuarantine } = await import(${module('query/sql/query-quarantine')});
    const { DataFolder } = await import(${module('core/data-folder')});
    const quarantine = await QueryQuarantine.open(new DataFolder(${JSON.stringify(data.root)}), 4);
    quarantine.recordRunningQuery('SELECT finished', [])();
    for (const sql of ${JSON.stringify(queries)}) quarantine.recordRunningQuery(sql, []);
    process.kill(process.pid, 'SIGKILL');`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script]);
  const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
  expect(signal).toBe('SIGKILL');
}

test('R2b: a query that killed the process twice is refused with its hash for an hour, others are not', async () => {
  const badStatement = "SELECT 'bad'";
  await dieDuringQueries(badStatement, 'SELECT 1');
  const firstQuarantine = await QueryQuarantine.open(data, 4);
  firstQuarantine.recordRunningQuery(badStatement, [])();
  firstQuarantine.close();
  await dieDuringQueries(badStatement);
  const quarantine = await QueryQuarantine.open(data, 4);
  const engine = openQueryEngine({
    dataFolder: data.root,
    memoryMb: 128,
    threads: 1,
    spillFolder: data.path('scratch', 'spill'),
    spillMb: 64,
    quarantine,
  });
  await expect(engine.sql.engine.run(badStatement, [])).rejects.toMatchObject({
    code: 'budget',
    message: expect.stringMatching(/\([0-9a-f]{32}\) ended the server 2 times .* 60 more minutes/),
  });
  expect(await engine.sql.engine.run('SELECT 1', [])).toEqual([[1]]);
  expect(await engine.sql.engine.run('SELECT 2', [])).toEqual([[2]]);
  await engine.close();
  quarantine.close();
  const laterQuarantine = await QueryQuarantine.open(data, 4, () => Date.now() + 3_600_000);
  laterQuarantine.recordRunningQuery(badStatement, [])();
  laterQuarantine.close();
});

test('R2b: what a damaged file of crashes says is ignored', async () => {
  await writeFile(data.path('queries.json'), '{"torn');
  const quarantine = await QueryQuarantine.open(data, 4);
  quarantine.recordRunningQuery('SELECT 1', [])();
  quarantine.close();
});

test('an engine with more connections than the quarantine has slots is refused', async () => {
  const quarantine = await QueryQuarantine.open(data, 4);
  try {
    const options = {
      quarantine,
      connections: 8,
      dataFolder: data.root,
      memoryMb: 256,
      threads: 1,
      spillFolder: data.path('scratch', 'spill-test'),
      spillMb: 16,
    };
    expect(() => openQueryEngine(options)).toThrow(
      'The query quarantine has 4 slots for 8 connections',
    );
  } finally {
    quarantine.close();
  }
});
