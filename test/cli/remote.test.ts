import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { main } from '../../cli/main.js';
import { startServer, type Client, type TestServer } from '../api/server.js';
import { hostInProcess } from '../faults/in-process.js';
import { collect } from './collect.js';

let server: TestServer;
let ann: Client;
let folder: string;
let env: Record<string, string>;
beforeAll(async () => {
  server = await startServer({ scheduler: { startHost: hostInProcess } });
  ann = await server.user('ann');
  folder = await mkdtemp(join(tmpdir(), 'strandlake-remote-'));
  env = { HOME: folder };
  await ann.post('/v2/vaults', { name: 'Lab' });
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

interface Ran {
  readonly code: number;
  readonly lines: readonly Record<string, unknown>[];
  readonly notes: string;
}

/** Runs a command line; each line that it prints is JSON. */
async function run(...argv: readonly string[]): Promise<Ran> {
  const terminal = collect();
  const code = await main(argv, env, terminal);
  const lines = terminal.outs.map((line) => JSON.parse(line) as Record<string, unknown>);
  return { code, lines, notes: terminal.notes.join('\n') };
}

const local = (name: string): string => join(folder, name);

describe('login', () => {
  test('is asked for by every other command, and refuses a wrong token', async () => {
    expect(await run('ls')).toMatchObject({
      code: 1,
      notes: 'strandlake ls: no server is known; log in first: strandlake login <url>',
    });
    const wrong = await run('login', server.url, '--token', 'x'.repeat(30));
    expect(wrong.code).toBe(1);
    expect(wrong.notes).toContain('the token is unknown, revoked or expired');
    expect((await run('ls')).code).toBe(1);
  });

  test('saves address and token for their owner alone', async () => {
    const done = await run('login', server.url.replace('http://', ''), '--token', ann.token);
    expect(done).toMatchObject({ code: 0, notes: expect.stringContaining('ann@acme.org') });
    const saved = await stat(join(folder, '.config', 'strandlake', 'login.json'));
    expect(saved.mode & 0o777).toBe(0o600);
    expect((await run('ls')).code).toBe(0);
  });

  test('a server that is not there is one line', async () => {
    const none = await run('ls', '--url', 'http://127.0.0.1:1', '--token', ann.token);
    expect([none.code, none.notes]).toEqual([
      1,
      expect.stringMatching(/^strandlake ls: no server answers at http:\/\/127\.0\.0\.1:1 \(.*\)$/),
    ]);
  });
});

describe('files', () => {
  test('go up into folders that are created, come down unchanged, and are listed', async () => {
    const bytes = Buffer.from('ACGT\n'.repeat(1_000));
    await writeFile(local('a.txt'), bytes);
    const up = await run('cp', local('a.txt'), 'Lab:/runs/one/');
    expect(up.lines).toMatchObject([
      { type: 'file', size: 5_000, path: 'acme:Lab:/runs/one/a.txt' },
    ]);
    expect((await run('cp', local('a.txt'), 'Lab:/runs/b.txt')).lines).toMatchObject([
      { path: 'acme:Lab:/runs/b.txt' },
    ]);
    expect((await run('cp', local('a.txt'), '~/mine.txt')).lines).toMatchObject([{ size: 5_000 }]);
    expect((await run('ls', 'Lab:/runs')).lines).toMatchObject([
      { type: 'file', path: 'acme:Lab:/runs/b.txt', size: 5_000 },
      { type: 'folder', path: 'acme:Lab:/runs/one' },
    ]);
    expect((await run('ls')).lines).toContainEqual(
      expect.objectContaining({ path: 'acme:Lab:/', type: 'general' }),
    );
    expect((await run('cp', 'Lab:/runs/one/a.txt', local('down.txt'))).code).toBe(0);
    expect(await readFile(local('down.txt'))).toEqual(bytes);
    expect((await run('cp', '~/mine.txt', folder)).code).toBe(0);
    expect(await readFile(local('mine.txt'))).toEqual(bytes);
  });

  test.each([
    [['cp', 'a.txt', 'b.txt'], 2, 'one of the two must be a path on the server'],
    [['cp', 'Lab:/none.txt', '/tmp'], 1, 'Lab:/none.txt is not there'],
    [['ls', 'None:/'], 1, 'there is no vault for None:/'],
    [['ls', 'Lab:/none'], 1, 'there is nothing at Lab:/none'],
    [['query', 'Lab:/runs'], 1, 'Lab:/runs is not a dataset'],
    [['query', 'Lab:/runs', '--filters', '[['], 2, '--filters is not JSON'],
    [['import', 'a.vcf'], 2, '--into is missing'],
  ] as const)('%j is refused with the reason', async (argv, code, reason) => {
    const ran = await run(...argv);
    expect([ran.code, ran.notes]).toEqual([code, expect.stringContaining(reason)]);
  });
});

describe('datasets', () => {
  const csv = (from: number): string =>
    `gene,n\n${Array.from({ length: 300 }, (_, i) => `G${i % 3},${from + i}`).join('\n')}\n`;

  test('are imported, queried and exported', async () => {
    await writeFile(local('one.csv'), csv(0));
    await writeFile(local('two.csv'), csv(300));
    const files = [local('one.csv'), local('two.csv')];
    const imported = await run('import', ...files, '--into', 'Lab:/cohort/all');
    expect(imported.lines).toMatchObject([
      { dataset: 'acme:Lab:/cohort/all', records: 300 },
      { dataset: 'acme:Lab:/cohort/all', records: 300 },
    ]);
    const each = await run('import', ...files, '--into', 'Lab:/each/');
    expect(each.lines.map(({ dataset }) => dataset)).toEqual([
      'acme:Lab:/each/one',
      'acme:Lab:/each/two',
    ]);
    const [{ dataset_id: id } = {}] = imported.lines;
    const all = await run('query', 'Lab:/cohort/all', '--fields', 'n', '--limit', '100000');
    expect(all.lines.map(({ n }) => n)).toEqual(Array.from({ length: 600 }, (_, i) => i));
    const conditions = ['--filters', '[["n__gte",10]]', '--query', 'gene:G1', '--limit', '2'];
    expect((await run('query', String(id), ...conditions)).lines).toMatchObject([
      { gene: 'G1', n: 10 },
      { gene: 'G1', n: 13 },
    ]);
    const out = local('out.csv');
    const some = ['--filters', '[["n__lt",2]]', '--fields', 'gene,n', '--out', out];
    expect(await run('export', 'Lab:/cohort/all', ...some)).toMatchObject({
      notes: '',
      lines: [{ file: out, records: 2 }],
    });
    expect(await readFile(out, 'utf8')).toBe('gene,n\r\nG0,0\r\nG1,1\r\n');
    const { lines } = await run('tasks', '--status', 'completed', '--limit', '3');
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatchObject({ status: 'completed', type: 'Dataset Export' });
  });

  test('a file that cannot be imported is named, and the others are imported', async () => {
    await writeFile(local('bad.vcf'), 'no header\n');
    await writeFile(local('good.csv'), csv(0));
    const ran = await run('import', local('bad.vcf'), local('good.csv'), '--into', 'Lab:/mixed/');
    expect(ran.code).toBe(1);
    expect(ran.notes).toMatch(/bad\.vcf was not imported: /);
    expect(ran.lines).toMatchObject([{ dataset: 'acme:Lab:/mixed/good', records: 300 }]);
  });
});

test('users are listed and removed in the data folder, the last owner excepted', async () => {
  const data = ['--data', server.data.root];
  const ben = await server.user('ben');
  const before = await run('user', 'list', ...data);
  expect(before.lines).toContainEqual(
    expect.objectContaining({ email: 'ben@acme.org', role: 'member', state: 'active' }),
  );
  expect((await run('user', 'remove', 'ben@acme.org', ...data)).code).toBe(0);
  expect((await ben.get('/v1/user')).status).toBe(401);
  expect((await run('user', 'list', ...data)).lines).toContainEqual(
    expect.objectContaining({ email: 'ben@acme.org', state: 'removed' }),
  );
  expect(await run('user', 'remove', 'owner@acme.org', ...data)).toMatchObject({
    code: 1,
    notes: expect.stringContaining('is the last owner'),
  });
});
