import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { cp, mkdtemp, readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { main } from '../../cli/main.js';
import { Lake } from '../scheduler/lake.js';
import { startServer, makeVaultFixture, type VaultFixture } from '../api/server.js';
import { startWorkerInProcess } from '../faults/in-process.js';
import { collectingTerminal } from './collect.js';

let dataFolderPath: string;
let fixture: VaultFixture;
beforeEach(async () => {
  const server = await startServer({ scheduler: { startWorker: startWorkerInProcess } });
  fixture = await makeVaultFixture(await server.user('ann'));
  dataFolderPath = await mkdtemp(join(tmpdir(), 'strandlake-verify-'));
  await server.catalog.transaction(async () => undefined); // waits until everything written is in the database file or its write-ahead log
  await cp(server.data.root, dataFolderPath, { recursive: true });
  await server.close();
  for (const name of await readdir(join(dataFolderPath, 'scratch')))
    await rm(join(dataFolderPath, 'scratch', name), { recursive: true });
});
afterEach(() => rm(dataFolderPath, { recursive: true, force: true }));

async function runVerify(): Promise<{ code: number; lines: readonly string[]; notes: string }> {
  const terminal = collectingTerminal();
  const code = await main(['verify', dataFolderPath], {}, terminal);
  return { code, lines: terminal.outs, notes: terminal.notes.join() };
}

/** Returns the path of the only segment of the only dataset. */
async function findSegmentPath(): Promise<string> {
  const folder = join(dataFolderPath, 'datasets', String(fixture.datasetId));
  const names = await readdir(folder);
  return join(folder, names.find((name) => name.endsWith('.parquet')) as string);
}

function executeSql(statement: string): void {
  const db = new DatabaseSync(join(dataFolderPath, 'catalog.sqlite'));
  db.exec(statement);
  db.close();
}

async function setOldTimes(path: string): Promise<void> {
  await utimes(path, 1, 1);
}

test('R7: an intact data folder has no differences and is left unchanged', async () => {
  const namesBefore = await readdir(dataFolderPath, { recursive: true });
  expect(await runVerify()).toMatchObject({
    code: 0,
    lines: [],
    notes: expect.stringContaining('all is well'),
  });
  const namesAfter = await readdir(dataFolderPath, { recursive: true });
  const isLock = (name: string): boolean => /catalog\.sqlite-|\.lock/.test(name);
  expect(namesAfter.filter((name) => !isLock(name))).toEqual(
    namesBefore.filter((name) => !isLock(name)),
  );
});

const damageCases: readonly (readonly [string, () => Promise<void> | void, RegExp])[] = [
  [
    'a flipped bit in a segment',
    () => flipBit(findSegmentPath),
    /^datasets\/\d+\/\S+\.parquet: does not match its checksum$/,
  ],
  [
    'a missing segment',
    async () => rm(await findSegmentPath()),
    /^datasets\/\d+\/\S+\.parquet: is missing$/,
  ],
  [
    'a torn log entry',
    () => truncateTo50Bytes(() => getLogEntryPath()),
    /^datasets\/\d+\/_delta_log: .*00000000000000000000\.json/,
  ],
  [
    'a segment that no version names',
    async () => addStrayFile('datasets', `${fixture.datasetId}`, 'abc-0123456789ab-00000.parquet'),
    /abc-0123456789ab-00000\.parquet: is named by no version$/,
  ],
  [
    'a dataset that is not in the catalogue',
    async () => {
      await rename(
        join(dataFolderPath, 'datasets', String(fixture.datasetId)),
        join(dataFolderPath, 'datasets', '7'),
      );
      await setOldTimes(join(dataFolderPath, 'datasets', '7'));
    },
    /^datasets\/7: is not in the catalogue$/m,
  ],
  [
    'an uploaded file with other bytes',
    () => flipBit(() => join(dataFolderPath, 'objects', `${fixture.fileId}-1`)),
    /^objects\/\d+-1: does not match its md5$/,
  ],
  [
    'a missing export',
    () => rm(join(dataFolderPath, 'exports', `${fixture.exportId}.json.gz`)),
    /^export \d+: its file is missing$/,
  ],
  [
    'an old file in exports',
    () => addStrayFile('exports', '7.csv'),
    /^exports\/7\.csv: is not referenced$/,
  ],
  [
    'an old file in objects',
    () => addStrayFile('objects', '7-1'),
    /^objects\/7-1: is not referenced$/,
  ],
  [
    'an old scratch file',
    () => addStrayFile('scratch', 'upload-7'),
    /^scratch\/upload-7: is not referenced$/,
  ],
  [
    'a wrong count',
    () => executeSql('UPDATE datasets SET documents_count = 3'),
    /^dataset \d+: its segments have 2 records, the catalogue says 3$/,
  ],
  [
    'a catalogue that is ahead',
    () => executeSql('UPDATE datasets SET log_version = 1'),
    /^dataset \d+: the log is at version 0, the catalogue at 1$/,
  ],
  [
    'a lost commit',
    () => executeSql('DELETE FROM commits'),
    /^dataset \d+: commit \d+ is in the log but not in the catalogue\nimport \d+: is completed and has no commit$/,
  ],
];

test.each(damageCases)('R7: %s is the difference that is printed', async (_, damage, expected) => {
  await damage();
  const { code, lines } = await runVerify();
  expect(lines.join('\n')).toMatch(expected);
  expect(code).toBe(1);
});

test('recent unreferenced files are not differences', async () => {
  await writeFile(join(dataFolderPath, 'objects', '7-1'), 'x');
  expect(await runVerify()).toMatchObject({ code: 0, lines: [] });
});

test('R8: a damaged catalogue is reported, and a running server has to be stopped first', async () => {
  const lake = await Lake.open(dataFolderPath);
  expect(await runVerify()).toMatchObject({ code: 1, notes: expect.stringContaining('stop it') });
  await lake.close();
  await writeFile(join(dataFolderPath, 'catalog.sqlite'), 'not a database'.repeat(1_000));
  expect(await runVerify()).toMatchObject({ code: 1, notes: expect.stringContaining('damaged') });
});

async function flipBit(findPath: () => Promise<string> | string): Promise<void> {
  const file = await findPath();
  const bytes = await readFile(file);
  bytes[bytes.length >> 1]! ^= 1;
  await writeFile(file, bytes);
}

async function truncateTo50Bytes(path: () => string): Promise<void> {
  await writeFile(path(), (await readFile(path())).subarray(0, 50));
}

function getLogEntryPath(): string {
  return join(
    dataFolderPath,
    'datasets',
    String(fixture.datasetId),
    '_delta_log',
    '00000000000000000000.json',
  );
}

async function addStrayFile(...pathSegments: string[]): Promise<void> {
  const path = join(dataFolderPath, ...pathSegments);
  await writeFile(path, 'x');
  await setOldTimes(path);
}
