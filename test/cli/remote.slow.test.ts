import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { main } from '../../cli/main.js';
import { openTerminal } from '../../cli/terminal.js';
import type { WorkerSupervisor } from '../../scheduler/worker/worker-supervisor.js';
import { startServer, type Client, type TestServer } from '../api/server.js';
import { startWorkerInProcess } from '../faults/in-process.js';
import { pollUntil } from '../until.js';
import { collectingTerminal } from './collect.js';

let server: TestServer;
let ann: Client;
let folder: string;
let env: Record<string, string>;
/** Returns a promise; the end of a task is not reported before it resolves. */
let beforeTaskEnd: () => Promise<unknown> = async () => undefined;
beforeAll(async () => {
  const startWorker = (
    ...[config, entry, events]: Parameters<typeof startWorkerInProcess>
  ): WorkerSupervisor =>
    startWorkerInProcess(config, entry, {
      ...events,
      message: (message) => {
        if (message.type !== 'done') events.message(message);
        else void beforeTaskEnd().then(() => events.message(message));
      },
    });
  const limits = { multipartBytes: 100_000, partBytes: 40_000 };
  server = await startServer({ scheduler: { startWorker }, limits });
  ann = await server.user('ann');
  folder = await mkdtemp(join(tmpdir(), 'strandlake-remote-'));
  env = { HOME: folder };
  await ann.post('/v2/vaults', { name: 'Lab' });
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

interface CommandOutcome {
  readonly code: number;
  readonly lines: readonly Record<string, unknown>[];
  readonly notes: string;
}

/** Runs a command line whose output must be lines of JSON. */
async function runCommand(...argv: readonly string[]): Promise<CommandOutcome> {
  const terminal = collectingTerminal();
  const code = await main(argv, env, terminal);
  const lines = terminal.outs.map((line) => JSON.parse(line) as Record<string, unknown>);
  return { code, lines, notes: terminal.notes.join('\n') };
}

const localPath = (name: string): string => join(folder, name);

describe('login', () => {
  test('is asked for by every other command, and refuses a wrong token', async () => {
    expect(await runCommand('ls')).toMatchObject({
      code: 1,
      notes: 'strandlake ls: no server is known; log in first: strandlake login <url>',
    });
    const wrongTokenRun = await runCommand('login', server.url, '--token', 'x'.repeat(30));
    expect(wrongTokenRun.code).toBe(1);
    expect(wrongTokenRun.notes).toContain('the token is unknown, revoked or expired');
    expect((await runCommand('ls')).code).toBe(1);
  });

  test('exchanges a password for a token', async () => {
    await ann.put('/v1/user/password', { password: 'correct horse battery' });
    const login = async (password: string): Promise<Pick<CommandOutcome, 'code' | 'notes'>> => {
      const terminal = collectingTerminal();
      terminal.secrets.push(password);
      const argv = ['login', server.url, '--email', 'ann@acme.org'];
      const code = await main(argv, { HOME: join(folder, 'other') }, terminal);
      return { code, notes: terminal.notes.join('\n') };
    };
    expect(await login('wrong')).toEqual({ code: 1, notes: expect.stringContaining('No user has this email address and password') }); // prettier-ignore
    expect(await login('correct horse battery')).toEqual({ code: 0, notes: expect.stringContaining('as ann@acme.org') }); // prettier-ignore
    const savedLogin = await readFile(join(folder, 'other/.config/strandlake/login.json'), 'utf8');
    expect(savedLogin).toMatch(/"token":"[A-Za-z0-9]{30}"/);
  });

  test('saves address and token for their owner alone', async () => {
    const loginRun = await runCommand(
      'login',
      server.url.replace('http://', ''),
      '--token',
      ann.token,
    );
    expect(loginRun).toMatchObject({ code: 0, notes: expect.stringContaining('ann@acme.org') });
    const savedStat = await stat(join(folder, '.config', 'strandlake', 'login.json'));
    expect(savedStat.mode & 0o777).toBe(0o600);
    expect((await runCommand('ls')).code).toBe(0);
  });

  test('a server that is not there is one line', async () => {
    const failedRun = await runCommand('ls', '--url', 'http://127.0.0.1:1', '--token', ann.token);
    expect([failedRun.code, failedRun.notes]).toEqual([
      1,
      expect.stringMatching(/^strandlake ls: no server answers at http:\/\/127\.0\.0\.1:1 \(.*\)$/),
    ]);
  });
});

describe('files', () => {
  test('go up into folders that are created, come down unchanged, and are listed', async () => {
    const bytes = Buffer.from('ACGT\n'.repeat(1_000));
    await writeFile(localPath('a.txt'), bytes);
    const uploadRun = await runCommand('cp', localPath('a.txt'), 'Lab:/runs/one/');
    expect(uploadRun.lines).toMatchObject([
      { type: 'file', size: 5_000, path: 'acme:Lab:/runs/one/a.txt' },
    ]);
    expect((await runCommand('cp', localPath('a.txt'), 'Lab:/runs/b.txt')).lines).toMatchObject([
      { path: 'acme:Lab:/runs/b.txt' },
    ]);
    expect((await runCommand('cp', localPath('a.txt'), '~/mine.txt')).lines).toMatchObject([
      { size: 5_000 },
    ]);
    expect((await runCommand('ls', 'Lab:/runs')).lines).toMatchObject([
      { type: 'file', path: 'acme:Lab:/runs/b.txt', size: 5_000 },
      { type: 'folder', path: 'acme:Lab:/runs/one' },
    ]);
    expect((await runCommand('ls')).lines).toContainEqual(
      expect.objectContaining({ path: 'acme:Lab:/', type: 'general' }),
    );
    expect((await runCommand('cp', 'Lab:/runs/one/a.txt', localPath('down.txt'))).code).toBe(0);
    expect(await readFile(localPath('down.txt'))).toEqual(bytes);
    expect((await runCommand('cp', '~/mine.txt', folder)).code).toBe(0);
    expect(await readFile(localPath('mine.txt'))).toEqual(bytes);
  });

  test('that are large go up in parts, and come down unchanged', async () => {
    const bytes = Buffer.from(Array.from({ length: 20_000 }, (_, i) => `${i}\n`).join(''));
    expect(bytes.length).toBeGreaterThan(100_000);
    await writeFile(localPath('large.txt'), bytes);
    expect(await runCommand('cp', localPath('large.txt'), 'Lab:/large/')).toMatchObject({
      code: 0,
      lines: [{ type: 'file', size: bytes.length, path: 'acme:Lab:/large/large.txt' }],
    });
    expect((await runCommand('cp', 'Lab:/large/large.txt', localPath('back.txt'))).code).toBe(0);
    expect(await readFile(localPath('back.txt'))).toEqual(bytes);
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
    const failedRun = await runCommand(...argv);
    expect([failedRun.code, failedRun.notes]).toEqual([code, expect.stringContaining(reason)]);
  });
});

describe('datasets', () => {
  const makeCsv = (from: number): string =>
    `gene,n\n${Array.from({ length: 300 }, (_, i) => `G${i % 3},${from + i}`).join('\n')}\n`;

  test('are imported, queried and exported', async () => {
    await writeFile(localPath('one.csv'), makeCsv(0));
    await writeFile(localPath('two.csv'), makeCsv(300));
    const files = [localPath('one.csv'), localPath('two.csv')];
    const importRun = await runCommand('import', ...files, '--into', 'Lab:/cohort/all');
    expect(importRun.lines).toMatchObject([
      { dataset: 'acme:Lab:/cohort/all', records: 300 },
      { dataset: 'acme:Lab:/cohort/all', records: 300 },
    ]);
    const eachImportRun = await runCommand('import', ...files, '--into', 'Lab:/each/');
    expect(eachImportRun.lines.map(({ dataset }) => dataset)).toEqual([
      'acme:Lab:/each/one',
      'acme:Lab:/each/two',
    ]);
    const [{ dataset_id: id } = {}] = importRun.lines;
    const queryRun = await runCommand(
      'query',
      'Lab:/cohort/all',
      '--fields',
      'n',
      '--limit',
      '100000',
    );
    expect(queryRun.lines.map(({ n }) => n)).toEqual(Array.from({ length: 600 }, (_, i) => i));
    const conditions = ['--filters', '[["n__gte",10]]', '--query', 'gene:G1', '--limit', '2'];
    expect((await runCommand('query', String(id), ...conditions)).lines).toMatchObject([
      { gene: 'G1', n: 10 },
      { gene: 'G1', n: 13 },
    ]);
    const out = localPath('out.csv');
    const exportOptions = ['--filters', '[["n__lt",2]]', '--fields', 'gene,n', '--out', out];
    expect(await runCommand('export', 'Lab:/cohort/all', ...exportOptions)).toMatchObject({
      notes: '',
      lines: [{ file: out, records: 2 }],
    });
    expect(await readFile(out, 'utf8')).toBe('gene,n\r\nG0,0\r\nG1,1\r\n');
    const { lines } = await runCommand('tasks', '--status', 'completed', '--limit', '3');
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatchObject({ status: 'completed', type: 'Dataset Export' });
    const commits = (await ann.get(`/v2/datasets/${String(id)}/commits`)).json['data'] as { id: number }[]; // prettier-ignore
    const asOfOptions = ['--as-of', String(commits.at(-1)?.id)];
    const asOfRun = await runCommand(
      'query',
      String(id),
      '--fields',
      'n',
      '--limit',
      '100000',
      ...asOfOptions,
    );
    expect(asOfRun.lines.map(({ n }) => n)).toEqual(Array.from({ length: 300 }, (_, i) => i));
    expect(await runCommand('export', String(id), '--out', out, ...asOfOptions)).toMatchObject({
      lines: [{ file: out, records: 300 }],
    });
  });

  test('a file is not imported again, however many imports there were since', async () => {
    await writeFile(localPath('first.csv'), makeCsv(0));
    const argv = ['import', localPath('first.csv'), '--into', 'Lab:/often'];
    const [{ dataset_id: id } = {}] = (await runCommand(...argv)).lines;
    const path = `/v2/datasets/${String(id)}/imports`;
    const [{ id: importId }] = (await ann.get(path)).json['data'] as [{ id: number }];
    const { datasetId, objectId } = (await server.catalog.imports.get(importId))!;
    const { id: userId, accountId } = ann.user;
    for (let i = 0; i < 101; i++) {
      const importRow = { datasetId, objectId, userId, accountId, source: 'object' } as const;
      const { task } = await server.catalog.imports.create(importRow);
      await server.catalog.tasks.cancel(task.id);
    }
    expect((await runCommand(...argv)).lines).toMatchObject([{ dataset_id: id, records: 300 }]);
    expect((await ann.get(path)).json['total']).toBe(102);
  });

  test('a file that cannot be imported is named, and the others are imported', async () => {
    await writeFile(localPath('bad.vcf'), 'no header\n');
    await writeFile(localPath('good.csv'), makeCsv(0));
    const failedRun = await runCommand(
      'import',
      localPath('bad.vcf'),
      localPath('good.csv'),
      '--into',
      'Lab:/mixed/',
    );
    expect(failedRun.code).toBe(1);
    expect(failedRun.notes).toMatch(/bad\.vcf was not imported: /);
    expect(failedRun.lines).toMatchObject([{ dataset: 'acme:Lab:/mixed/good', records: 300 }]);
  });
});

describe('what is shown', () => {
  /** A stream that stores the text written to it. */
  class Sink {
    text = '';
    readonly columns = 200;
    constructor(readonly isTTY: boolean) {}
    write(text: string): void {
      this.text += text;
    }
  }

  /** Runs a command with separate streams for results and messages. Progress is printed without waiting for its interval. */
  async function runOn(out: Sink, notes: Sink, ...argv: readonly string[]): Promise<void> {
    let now = 0;
    const code = await main(
      argv,
      env,
      openTerminal(out, notes, () => (now += 10_000)),
    );
    expect([code, notes.text]).toEqual([0, notes.text]);
  }

  /** Returns the JSON object in each line of a stream. */
  const linesOf = ({ text }: Sink): readonly Record<string, unknown>[] =>
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  const showFolder = 'Lab:/shown/';

  test.each([
    ['a program', false, false],
    ['a program, while a person sees the progress', false, true],
    ['a person', true, true],
    ['a person, while a program reads the progress', true, false],
  ])('to %s', async (audience, resultsAreSeen, progressIsSeen) => {
    const name = `${resultsAreSeen}-${progressIsSeen}`;
    const file = localPath(`${name}.csv`);
    await writeFile(file, `n\n${Array.from({ length: 2_000 }, (_, i) => i).join('\n')}\n`);
    const makeStreams = (): [Sink, Sink] => [new Sink(resultsAreSeen), new Sink(progressIsSeen)];
    const eventNamesOf = (notes: Sink): readonly unknown[] => [
      ...new Set(linesOf(notes).map(({ event }) => event)),
    ];

    const [importOut, importNotes] = makeStreams();
    // The import may end only after its progress has been shown.
    const isShown = (): boolean => /\[#+\] +100 %  2,000 records|"percent":100,"records":2000/.test(importNotes.text); // prettier-ignore
    beforeTaskEnd = () => pollUntil(isShown);
    await runOn(importOut, importNotes, 'import', file, '--into', showFolder);
    beforeTaskEnd = async () => undefined;
    const [exportOut, exportNotes] = makeStreams();
    beforeTaskEnd = () => pollUntil(() => exportNotes.text.includes('exporting'));
    const outOptions = ['--out', localPath(`${name}.out.csv`)];
    await runOn(exportOut, exportNotes, 'export', `${showFolder}${name}`, ...outOptions);
    beforeTaskEnd = async () => undefined;
    const [copyOut, copyNotes] = makeStreams();
    await runOn(copyOut, copyNotes, 'cp', file, `Lab:/copied/${name}/`);
    const [listOut, listNotes] = makeStreams();
    await runOn(listOut, listNotes, 'tasks', '--limit', '3');

    const outs = [importOut, exportOut, copyOut, listOut];
    if (resultsAreSeen) {
      expect(importOut.text).toMatch(new RegExp(`^acme:Lab:/shown/${name}  \\d+  2000  ${file}$`, 'm')); // prettier-ignore
      expect(outs.map(({ text }) => text.includes('{'))).toEqual(outs.map(() => false));
      expect(listOut.text).toMatch(/^\d+ {2}completed {2}Dataset Export {2}/);
    } else {
      expect(outs.map((sink) => linesOf(sink).length)).toEqual([1, 1, 1, 3]);
      expect(linesOf(importOut)).toMatchObject([{ records: 2_000, file }]);
      expect(linesOf(listOut)).toMatchObject([
        { status: 'completed', type: 'Dataset Export' },
        { status: 'completed', type: 'Dataset Commit' },
        { status: 'completed', type: 'Dataset Import' },
      ]);
    }
    expect(listNotes.text).toBe('');
    if (progressIsSeen) {
      const uploadedText = `${name}.csv: uploading 100 %\r\x1b[2K`;
      expect([importNotes.text, copyNotes.text]).toEqual([expect.stringContaining(uploadedText), expect.stringContaining(uploadedText)]); // prettier-ignore
      expect(importNotes.text).toContain(`${name}.csv  [${'#'.repeat(24)}]  100 %  2,000 records`);
      // Each line of progress is erased before the next one is printed, and the last one before the result.
      for (const { text } of [importNotes, exportNotes]) expect(text.slice(-5)).toBe('\r\x1b[2K');
      expect(importNotes.text + exportNotes.text + copyNotes.text).not.toContain('{');
    } else {
      expect([importNotes, exportNotes, copyNotes].map(eventNamesOf)).toEqual([
        ['uploading', 'importing'],
        ['exporting'],
        ['uploading'],
      ]);
      expect(linesOf(importNotes)).toContainEqual(
        expect.objectContaining({ event: 'importing', file: `${name}.csv`, percent: 100, records: 2_000 }), // prettier-ignore
      );
      expect(importNotes.text).not.toContain('\x1b');
    }
  });
});

describe('users', () => {
  const userLine = (email: string, state: string): unknown =>
    expect.objectContaining({ email, role: 'member', account: 'acme', state });

  test('are listed and removed in the data folder, owners excepted', async () => {
    const dataOptions = ['--data', server.data.root];
    const ben = await server.user('ben');
    await server.user('eve', { domain: 'other' });
    const listRun = await runCommand('user', 'list', ...dataOptions);
    expect(listRun.lines).toContainEqual(userLine('ben@acme.org', 'active'));
    expect(listRun.lines.map(({ account }) => account)).toContain('other');
    expect((await runCommand('user', 'remove', 'ben@acme.org', ...dataOptions)).code).toBe(0);
    expect((await ben.get('/v1/user')).status).toBe(401);
    expect((await runCommand('user', 'list', ...dataOptions)).lines).toContainEqual(
      userLine('ben@acme.org', 'removed'),
    );
    expect(await runCommand('user', 'remove', 'owner@acme.org', ...dataOptions)).toMatchObject({
      code: 1,
      notes: expect.stringContaining('is the owner of the account'),
    });
  });

  test('of their account are listed and removed by administrators through the server', async () => {
    const admin = await server.user('admin', { role: 'admin' });
    const cal = await server.user('cal');
    await server.user('eli', { domain: 'other' });
    // The saved login belongs to a member of the account: the command uses the login, and the server refuses.
    for (const argv of [['list'], ['remove', 'cal@acme.org']]) {
      const refusedRun = await runCommand('user', ...argv);
      expect([refusedRun.code, refusedRun.lines]).toEqual([1, []]);
      expect(refusedRun.notes).toContain('403 Only an administrator of the account may do this.');
    }
    const adminOptions = ['--url', server.url, '--token', admin.token];
    const { lines } = await runCommand('user', 'list', ...adminOptions);
    expect(lines).toContainEqual(userLine('cal@acme.org', 'active'));
    expect(new Set(lines.map(({ account }) => account))).toEqual(new Set(['acme']));
    expect(await runCommand('user', 'remove', 'CAL@acme.org', ...adminOptions)).toMatchObject({
      code: 0,
      notes: 'cal@acme.org is removed; their vaults and data stay.',
    });
    expect((await cal.get('/v1/user')).status).toBe(401);
    expect((await runCommand('user', 'list', ...adminOptions)).lines).toContainEqual(
      userLine('cal@acme.org', 'removed'),
    );
    for (const email of ['cal@acme.org', 'eli@other.org', 'nobody@acme.org']) {
      const failedRun = await runCommand('user', 'remove', email, ...adminOptions);
      expect([failedRun.code, failedRun.notes]).toEqual([1, `strandlake user remove: there is no user ${email}`]); // prettier-ignore
    }
  });

  test('are those of the folder that the environment names, before a saved login', async () => {
    const terminal = collectingTerminal();
    const code = await main(['user', 'list'], { ...env, STRANDLAKE_DATA: server.data.root }, terminal); // prettier-ignore
    expect([code, terminal.outs.join('\n')]).toEqual([0, expect.stringContaining('@other.org')]);
  });

  test('of a server and of a data folder at once are a wrong command line', async () => {
    const refusedRun = await runCommand(
      'user',
      'list',
      '--url',
      server.url,
      '--data',
      server.data.root,
    );
    expect([refusedRun.code, refusedRun.notes]).toEqual([2, expect.stringContaining('not both')]);
  });
});
