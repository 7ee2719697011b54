import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isProcessAlive } from '../scheduler/processes/killable.js';
import { pollUntil } from '../until.js';

/** The parts of an answer that the test uses. */
interface QueryAnswer {
  readonly total?: number;
  readonly results?: readonly unknown[];
  readonly facets?: Readonly<Record<string, readonly unknown[]>>;
}

/** A process that runs a command, such as `serve`, `token list` or `npm start`, and its output. */
interface CommandProcess {
  readonly child: ChildProcess;
  readonly getOutput: () => string;
  /** Resolves with the match of a pattern in the output as soon as there is one; throws if the process ends without one. */
  waitFor(pattern: RegExp): Promise<RegExpExecArray>;
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

let folder: string;
const runningProcesses = new Set<ChildProcess>();

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'strandlake-serve-'));
});
afterEach(() => {
  for (const child of runningProcesses) child.kill('SIGKILL');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('serve', () => {
  const vcfHeader = '##fileformat=VCFv4.3\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n';

  test('the first start prints a token, imports the example and prints three working requests', async () => {
    const firstServer = startServer('example', []);
    const [, origin = ''] = await firstServer.waitFor(/ready at (http:\S+)/);
    const [, token = ''] = await firstServer.waitFor(/shown this once: ([A-Za-z0-9]{30})\n/);
    await firstServer.waitFor(/local:examples:\/clinvar: 69,302 records imported\n/);
    await firstServer.waitFor(/dataset_exports[^\n]+\n[^\n]+}'\n/);
    const requests = [
      ...firstServer
        .getOutput()
        .matchAll(
          /curl -s (\S+) -H '(.+?): (.+?)' \\\n {2}-H 'Prefer: handling=strict' -d '(.+)'/g,
        ),
    ];
    expect(requests).toHaveLength(3);
    const answers: QueryAnswer[] = [];
    for (const [, url = '', header = '', value = '', body = ''] of requests) {
      expect(url.startsWith(origin)).toBe(true);
      const response = await fetch(url, { method: 'POST', headers: { [header]: value }, body });
      expect([200, 201]).toContain(response.status);
      answers.push((await response.json()) as QueryAnswer);
    }
    expect(answers[0]?.total).toBeGreaterThan(100);
    expect(answers[0]?.results).toHaveLength(3);
    expect(answers[1]?.facets?.['info.CLNSIG']?.[0]).toEqual(['Uncertain_significance', 21_597]);
    expect(answers[2]).toMatchObject({ class_name: 'DatasetExport', format: 'csv' });
    expect(await firstServer.stop()).toBe(0);

    const secondServer = startServer('example', []);
    await secondServer.waitFor(
      /To create a token: npm run strandlake -- token add owner@localhost\n/,
    );
    const [, secondOrigin = ''] = await secondServer.waitFor(/ready at (http:\S+)/);
    const user = await fetch(`${secondOrigin}/v1/user`, {
      headers: { authorization: `Token ${token}` },
    });
    expect(user.status).toBe(200);
    const tokenListProcess = spawnCommand('example', ['token', 'list']);
    await once(tokenListProcess.child, 'close');
    expect(tokenListProcess.getOutput()).toMatch(/revoked {2}strandlake serve/);
    expect(secondServer.getOutput()).not.toMatch(/imported|curl|[A-Za-z0-9]{30}\n/);
    expect(await secondServer.stop()).toBe(0);
  });

  test('imports the named files into the personal vault once, and reports the error of a bad file', async () => {
    const [goodPath, badPath] = [join(folder, 'good.vcf'), join(folder, 'bad.vcf')];
    writeFileSync(goodPath, `${vcfHeader}1\t100\t.\tA\tC,G\t.\tPASS\tX=1\n`);
    writeFileSync(badPath, `${vcfHeader}1\tnowhere\t.\tA\tC\t.\tPASS\t.\n`);
    const missingPath = join(folder, 'missing.vcf');
    const firstServer = startServer('files', [badPath, missingPath, goodPath], {
      STRANDLAKE_EXAMPLES: 'off',
    });
    await firstServer.waitFor(/bad\.vcf was not imported: .*bad\.vcf, line 3.*nowhere/);
    await firstServer.waitFor(/missing\.vcf was not imported: .*is missing/);
    await firstServer.waitFor(/local:user-1:\/good: 2 records imported/);
    expect(await firstServer.stop()).toBe(0);
    const secondServer = startServer('files', [goodPath], { STRANDLAKE_EXAMPLES: 'off' });
    await secondServer.waitFor(/local:user-1:\/good was imported before \(2 records\)/);
    expect(await secondServer.stop()).toBe(0);
  });

  test('the next start continues an interrupted import of the example', async () => {
    const firstServer = startServer('killed', []);
    await firstServer.waitFor(/clinvar_grch38_2026_69k\.vcf\.gz/);
    await firstServer.stop('SIGKILL');
    const secondServer = startServer('killed', []);
    await secondServer.waitFor(/local:examples:\/clinvar: 69,302 records imported/);
    expect(await secondServer.stop()).toBe(0);
  });

  test('exits with the reason if the port is taken', async () => {
    const otherListener = createServer().listen(0, '127.0.0.1');
    await once(otherListener, 'listening');
    const { port } = otherListener.address() as { port: number };
    const server = startServer('taken', [], { STRANDLAKE_PORT: String(port) });
    const [code] = (await once(server.child, 'close')) as [number | null];
    expect(code).not.toBe(0);
    const line = `^strandlake serve: port ${port} of 127\\.0\\.0\\.1 is in use; .*--port$`;
    expect(server.getOutput().trim()).toMatch(new RegExp(line));
    otherListener.close();
  });

  test('a second server on the same data exits with the reason', async () => {
    const firstServer = startServer('twice', [], { STRANDLAKE_EXAMPLES: 'off' });
    await firstServer.waitFor(/ready at/);
    const secondServer = startServer('twice', [], { STRANDLAKE_EXAMPLES: 'off' });
    const [code] = (await once(secondServer.child, 'close')) as [number | null];
    expect(code).not.toBe(0);
    expect(secondServer.getOutput().trim()).toMatch(
      /^strandlake serve: another server uses .* ready at http.*--data$/,
    );
    const file = join(folder, 'beside.vcf');
    writeFileSync(file, `${vcfHeader}1\t100\t.\tA\tC\t.\tPASS\tX=1\n`);
    const thirdServer = startServer('twice', [file, join(folder, 'missing.vcf')]);
    expect(await once(thirdServer.child, 'close')).toEqual([1, null]);
    expect(thirdServer.getOutput()).toMatch(/\/beside: 1 records imported\n/);
    expect(thirdServer.getOutput()).toMatch(
      /missing\.vcf was not imported: .*missing\.vcf is missing/,
    );
    expect(await firstServer.stop('SIGINT')).toBe(0);
  });
});

describe('npm start', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)(
    '%s to npm alone ends every process, amid an import, an upload and queries',
    async (signal) => {
      const [basePath, largePath] = [join(folder, 'base.vcf'), join(folder, 'large.vcf')];
      const rowOf = (i: number): string => `1\t${i + 1}\trs${i}\tA\tG\t.\tPASS\tDP=${i}\n`;
      const header = `##fileformat=VCFv4.3\n##contig=<ID=1,length=249250621>\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n`;
      const rows = Array.from({ length: 200_000 }, (_, i) => rowOf(i)).join('');
      writeFileSync(basePath, header + rows);
      writeFileSync(largePath, header + rows.repeat(10));
      const settings = { STRANDLAKE_EXAMPLES: 'off' };
      const name = `npm-${signal}`;
      const npm = spawnServer('npm', ['start', '--', basePath, largePath], name, settings);
      const [, origin = ''] = await npm.waitFor(/ready at (http:\S+)/);
      const [, token = ''] = await npm.waitFor(/shown this once: ([A-Za-z0-9]{30})\n/);
      const authorization = `Bearer ${token}`;
      const post = async (path: string, body: object): Promise<string> => {
        const requestOptions = {
          method: 'POST',
          headers: { authorization },
          body: JSON.stringify(body),
        };
        return (await fetch(origin + path, requestOptions)).text();
      };
      const object = { vault_id: 1, object_type: 'file', filename: 'slow', size: 1_000 };
      const createdObject = JSON.parse(await post('/v2/objects', object)) as { upload_url: string };
      const stuckUpload = request(createdObject.upload_url, {
        method: 'PUT',
        headers: { 'content-length': 1_000 },
      });
      stuckUpload.on('error', () => undefined).write('half');
      await npm.waitFor(/\/base: 200,000 records imported/);
      const facets = { variant: { limit: 10, facets: { 'info.DP': { limit: 10 } } } };
      const queries = Array.from({ length: 100 }, (_, i) => ({
        dataset: 'local:user-1:/base',
        filters: [['info.DP__gte', i]],
        limit: 0,
        facets,
      }));
      let answeredCount = 0;
      const batches = [1, 2].map(() =>
        post('/v2/batch_query', { queries }).then(
          (text) => (answeredCount += text.includes('"variant"') ? 1 : 0),
          () => undefined, // the server closed the connection
        ),
      );
      await pollUntil(async () => {
        const response = await fetch(`${origin}/v2/tasks?status=running`, {
          headers: { authorization },
        });
        return (await response.text()).includes('datasets.DatasetImport');
      });
      const pids = processTreeOf(npm.child.pid!, join(folder, name));
      expect(pids.length).toBeGreaterThanOrEqual(5); // npm, setup, supervisor, API process, worker process
      npm.child.kill(signal);
      await pollUntil(() => !pids.some(isProcessAlive));
      await pollUntil(() => processTreeOf(npm.child.pid!, join(folder, name)).length === 0);
      await Promise.all(batches);
      expect(answeredCount).toBe(0); // both batches were still running at the signal
      expect(npm.getOutput()).not.toMatch(/large: [\d,]+ records imported/); // the import was still running at the signal
      stuckUpload.destroy();
    },
  );
});

/** Returns the ids of the processes below a process, and of all with the data folder in their environment, whatever their parent is now. */
function processTreeOf(root: number, dataFolder: string): readonly number[] {
  const listProcesses = (columns: string): readonly string[] =>
    execFileSync('ps', ['axeww', '-o', columns], { encoding: 'utf8', maxBuffer: 1 << 28 })
      .trim()
      .split('\n');
  const parents = listProcesses('pid=,ppid=').map((line) => line.trim().split(/ +/).map(Number));
  const pidsBelow = (pid: number): number[] =>
    parents.flatMap(([child = 0, parent]) => (parent === pid ? [child, ...pidsBelow(child)] : []));
  const markedPids = listProcesses('pid=,command=')
    .filter((line) => line.includes(`STRANDLAKE_DATA=${dataFolder}`))
    .map((line) => Number.parseInt(line, 10));
  return [...new Set([...pidsBelow(root), ...markedPids])];
}

function startServer(
  name: string,
  files: readonly string[],
  env: Record<string, string> = {},
): CommandProcess {
  return spawnCommand(name, ['serve', ...files], env);
}

function spawnCommand(
  name: string,
  args: readonly string[],
  env: Record<string, string> = {},
): CommandProcess {
  return spawnServer(process.execPath, ['dist/cli/strandlake.js', ...args], name, env);
}

function spawnServer(
  program: string,
  args: readonly string[],
  name: string,
  env: Record<string, string>,
): CommandProcess {
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      STRANDLAKE_DATA: join(folder, name),
      STRANDLAKE_PORT: '0',
      STRANDLAKE_LOG: 'error',
      ...env,
    },
  });
  runningProcesses.add(child);
  let text = '';
  let onChange = (): void => undefined;
  const appendOutput = (part: string): void => {
    text += part;
    onChange();
  };
  child.stdout.setEncoding('utf8').on('data', appendOutput);
  child.stderr.setEncoding('utf8').on('data', appendOutput);
  const exitCode = once(child, 'close').then(([code]) => {
    runningProcesses.delete(child);
    onChange();
    return code as number | null;
  });
  return {
    child,
    getOutput: () => text,
    async waitFor(pattern) {
      for (;;) {
        const match = pattern.exec(text);
        if (match) return match;
        if (!runningProcesses.has(child)) throw new Error(`ended without ${pattern}:\n${text}`);
        await new Promise<void>((resolve) => (onChange = resolve));
      }
    },
    async stop(signal = 'SIGTERM') {
      child.kill(signal);
      return exitCode;
    },
  };
}
