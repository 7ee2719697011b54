import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { armFault } from '../../../engine/core/faultpoint.js';
import { LogFile } from '../../../scheduler/worker/log-file.js';
import { pollUntil } from '../../until.js';

let folder: string;
let logPath: string;
let reportedMessages: string[];
const addReport = (text: string): void => void reportedMessages.push(text);

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'strandlake-log-'));
  logPath = join(folder, 'lake.log');
  reportedMessages = [];
});
afterEach(async () => {
  armFault(undefined);
  await rm(folder, { recursive: true, force: true });
});

const logLineOf = (n: number): string => JSON.stringify({ n, filler: 'é'.repeat(n % 40) });

/** Returns the numbers of the lines in some files; each line must be complete. */
async function readNumbersInFiles(...names: readonly string[]): Promise<readonly unknown[]> {
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  for (const text of texts) expect(text).toMatch(/^$|\n$/);
  const lines = texts.flatMap((text) => text.split('\n').filter((one) => one !== ''));
  return lines.map((one) => (JSON.parse(one) as { n: unknown }).n);
}

const numbersBelow = (count: number): readonly number[] =>
  Array.from({ length: count }, (_, n) => n);

test('rotates before the size is exceeded, keeps four earlier files and loses no line of them', async () => {
  const log = await LogFile.open(logPath, 4096, addReport);
  for (const n of numbersBelow(300)) log.write(logLineOf(n));
  await log.close();
  const names = ['lake.log.4', 'lake.log.3', 'lake.log.2', 'lake.log.1', 'lake.log'];
  expect((await readdir(folder)).sort()).toEqual(names.toSorted());
  expect(await readNumbersInFiles(...names)).toEqual(numbersBelow(300));
  for (const name of names) expect((await stat(join(folder, name))).size).toBeLessThanOrEqual(4096);

  const secondLog = await LogFile.open(logPath, 4096, addReport); // a restarted process continues the same file
  for (let n = 300; n < 2000; n++) secondLog.write(logLineOf(n));
  await secondLog.close();
  const keptNumbers = await readNumbersInFiles(...names);
  expect(keptNumbers).toEqual(numbersBelow(2000).slice(-keptNumbers.length));
  expect((await readdir(folder)).sort()).toEqual(names.toSorted());
  expect(reportedMessages).toEqual([]);
});

test('a line longer than a file gets one of its own', async () => {
  const log = await LogFile.open(logPath, 100, addReport);
  const longLine = JSON.stringify({ n: 1, text: 'x'.repeat(500) });
  for (const one of [logLineOf(0), longLine, logLineOf(2)]) log.write(one);
  await log.close();
  expect(await readNumbersInFiles('lake.log.2', 'lake.log.1', 'lake.log')).toEqual([0, 1, 2]);
});

test('what is no event becomes one, so that every line is JSON', async () => {
  const log = await LogFile.open(logPath, 0, addReport);
  for (const text of ['FATAL ERROR: out of memory', '', '{"torn":', '{"n":3}']) log.write(text);
  await log.close();
  const lines = (await readFile(logPath, 'utf8')).trimEnd().split('\n').map((one) => JSON.parse(one) as object); // prettier-ignore
  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT/);
  expect(lines).toEqual([
    { time, event: 'output', message: 'FATAL ERROR: out of memory' },
    { time, event: 'output', message: '{"torn":' },
    { n: 3 },
  ]);
});

test('opens the path anew when another program has renamed the file', async () => {
  const log = await LogFile.open(logPath, 0, addReport);
  for (const n of numbersBelow(10)) log.write(logLineOf(n));
  await pollUntil(async () => (await readNumbersInFiles('lake.log')).length === 10);
  await rename(logPath, `${logPath}.rotated`);
  for (const n of [10, 11]) log.write(logLineOf(n));
  log.reopen();
  await pollUntil(() => stat(logPath).catch(() => undefined));
  log.write(logLineOf(12));
  await log.close();
  expect(await readNumbersInFiles('lake.log.rotated', 'lake.log')).toEqual(numbersBelow(13));
  expect(await readNumbersInFiles('lake.log')).toContain(12);
});

describe('a path that cannot be written', () => {
  test.each([
    ['missing/lake.log', /the folder .*missing does not exist; create it/],
    ['file/lake.log', /file is not a folder; choose another path/],
    ['sub', /sub is a folder; name a file/],
    ...(process.getuid?.() === 0 ? [] : [['closed', /this user may not write .*closed/] as const]),
  ] as const)('%s is refused with the reason', async (name, reason) => {
    await writeFile(join(folder, 'file'), '');
    await mkdir(join(folder, 'sub'));
    await writeFile(join(folder, 'closed'), '');
    await chmod(join(folder, 'closed'), 0o400);
    const openedLog = LogFile.open(join(folder, name), 0, addReport);
    await expect(openedLog).rejects.toMatchObject({ code: 'invalid', message: expect.stringMatching(/^--log-file: /) }); // prettier-ignore
    await expect(openedLog).rejects.toThrow(reason);
  });
});

describe('a full disk', () => {
  test.each(['ENOSPC', 'EIO'] as const)(
    '(%s) loses nothing, is reported once, and ends',
    async (code) => {
      const log = await LogFile.open(logPath, 0, addReport);
      armFault({ code, nth: 2, isLasting: true, operations: ['write'] });
      log.write(logLineOf(0));
      await pollUntil(async () => (await readNumbersInFiles('lake.log')).length === 1);
      for (const n of [1, 2, 3]) log.write(logLineOf(n));
      await pollUntil(() => reportedMessages.length === 1);
      log.write(logLineOf(4));
      armFault(undefined);
      await pollUntil(async () => (await readNumbersInFiles('lake.log')).length === 5); // the log writes its waiting lines although no further line follows
      log.write(logLineOf(5));
      await log.close();
      expect(await readNumbersInFiles('lake.log')).toEqual(numbersBelow(6));
      expect(reportedMessages).toEqual([
        `strandlake: the log ${logPath} cannot be written (${code}); its lines wait`,
      ]);
    },
  );

  test('that lasts counts the lines that are too many, and says so', async () => {
    const log = await LogFile.open(logPath, 0, addReport);
    armFault({ code: 'ENOSPC', nth: 1, isLasting: true, operations: ['write'] });
    const longLine = (n: number): string => JSON.stringify({ n, text: 'x'.repeat(8_000) });
    for (const n of numbersBelow(1_100)) log.write(longLine(n));
    armFault(undefined);
    await log.close();
    const numbers = await readNumbersInFiles('lake.log');
    const keptNumbers = numbers.slice(0, -1);
    expect(keptNumbers).toEqual(numbersBelow(keptNumbers.length));
    const lastLine = (await readFile(logPath, 'utf8')).trimEnd().split('\n').at(-1)!;
    expect(JSON.parse(lastLine)).toMatchObject({ event: 'log', message: `${1_100 - keptNumbers.length} lines could not be written and were lost` }); // prettier-ignore
  });

  test('when a new file cannot be made, the full one is neither lost nor rotated again', async () => {
    const log = await LogFile.open(logPath, 200, addReport);
    log.write(logLineOf(20));
    await pollUntil(async () => (await readNumbersInFiles('lake.log')).length === 1);
    armFault({ code: 'ENOSPC', nth: 1, isLasting: true, operations: ['open'] });
    for (let n = 21; n < 30; n++) log.write(logLineOf(n));
    await pollUntil(() => reportedMessages.length === 1);
    for (let n = 30; n < 33; n++) log.write(logLineOf(n));
    armFault(undefined);
    await log.close();
    const names = (await readdir(folder)).sort().reverse();
    expect((await readNumbersInFiles(...names)).at(-1)).toBe(32);
    const numbers = await readNumbersInFiles(...names);
    expect(numbers).toEqual(numbersBelow(33).slice(-numbers.length));
    expect(numbers.length).toBeGreaterThan(5);
  });

  test('a file that cannot be renamed grows', async () => {
    const log = await LogFile.open(logPath, 200, addReport);
    armFault({ code: 'EIO', nth: 1, isLasting: true, operations: ['rename'] });
    for (const n of numbersBelow(50)) log.write(logLineOf(n));
    await log.close();
    expect(await readNumbersInFiles('lake.log')).toEqual(numbersBelow(50));
    expect(reportedMessages).toEqual([
      `strandlake: the log ${logPath} cannot be rotated (EIO) and grows`,
    ]);
  });

  test('in the middle of a line leaves no part of it behind', async () => {
    const script = fileURLToPath(new URL('../processes/limited-log.js', import.meta.url));
    const shell = 'ulimit -f 8; exec "$@"'; // files may have at most 4 kB
    const child = spawn('/bin/sh', ['-c', shell, 'sh', process.execPath, script, logPath], { stdio: ['pipe', 'pipe', 'inherit'] }); // prettier-ignore
    let printedText = '';
    child.stdout.on('data', (text: Buffer) => (printedText += text.toString()));
    const names: string[] = [];
    for (let moveCount = 0; ; moveCount++) {
      const sizes: number[] = [];
      const numbers = await pollUntil(async () => {
        const numbersRead = await readNumbersInFiles(...names, 'lake.log').catch(() => undefined);
        const { size = -1 } = (await stat(logPath).catch(() => undefined)) ?? {};
        sizes.push(size);
        const isStill = sizes.at(-2) === size && size > 0;
        return numbersRead !== undefined && isStill ? numbersRead : undefined;
      });
      expect(numbers).toEqual(numbersBelow(numbers.length));
      if (numbers.length === 100) break;
      names.push(`lake.log.${moveCount}`);
      await rename(logPath, join(folder, names.at(-1)!));
      child.stdin.write('moved\n');
    }
    child.stdin.end();
    await once(child, 'close');
    expect(names.length).toBeGreaterThan(2);
    expect(printedText).toContain('cannot be written (EFBIG); its lines wait');
  });
});
