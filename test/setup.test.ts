import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { readdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from './until.js';

const bundler = `import { appendFileSync } from 'node:fs';
  appendFileSync(process.argv[2] + '/cli/strandlake.js', '// bundled');`;

/** A project with no packages: its compiler is a stand-in that counts its runs and "compiles" one program, which its bundler marks. */
let project: string;

beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), 'strandlake-setup-'));
  copyFileSync('setup.mjs', join(project, 'setup.mjs'));
  put('package.json', '{"name":"p","version":"1.0.0","private":true,"type":"module"}');
  put(
    'package-lock.json',
    '{"name":"p","version":"1.0.0","lockfileVersion":3,"packages":{"":{"name":"p","version":"1.0.0"}}}',
  );
  put('tsconfig.json', '{}');
  put('bundle.mjs', bundler);
  put('cli/strandlake.ts', 'export {};');
  setup('format'); // installs, then fails for want of the formatter
  put(
    'node_modules/typescript/bin/tsc',
    `const fs = require('fs'); fs.appendFileSync('runs', 'x');
     if (fs.readFileSync('cli/strandlake.ts', 'utf8').includes('mistake')) process.exit(2);
     const out = process.argv[process.argv.indexOf('--outDir') + 1] + '/cli';
     fs.mkdirSync(out, { recursive: true });
     fs.writeFileSync(out + '/strandlake.js', \`
       console.log(JSON.stringify(process.argv.slice(2)));
       if (process.argv.includes('--exit')) process.exit(7);
       if (process.argv.includes('--wait')) setInterval(() => {}, 1000);
     \`);`,
  );
});

afterAll(() => rmSync(project, { recursive: true, force: true }));

describe('setup', () => {
  test('names the commands when asked for one that does not exist', () => {
    const { status, stderr } = setup('strat');
    expect(status).toBe(1);
    expect(stderr).toContain('unknown command "strat"; there are start, strandlake, test');
  });

  test('builds, hands arguments over, and does neither install nor build again', () => {
    const first = setup('start', 'a.vcf', '--port', '0');
    expect(JSON.parse(first.stdout)).toEqual(['serve', 'a.vcf', '--port', '0']);
    const before = builds();
    const second = setup('strandlake', 'user', 'add');
    expect(JSON.parse(second.stdout)).toEqual(['user', 'add']);
    expect(second.stderr).toBe('');
    expect(builds()).toBe(before);
  });

  test('builds again after a change, and leaves nothing of the build before', () => {
    put('dist/test/stale.test.js', '');
    put('cli/added.ts', 'export {};');
    const before = builds();
    expect(setup('build').stderr).toBe('Building …\n');
    expect(builds()).toBe(before + 1);
    expect(existsSync(join(project, 'dist/test/stale.test.js'))).toBe(false);
  });

  test('does not build again after an archive or a container has cut the times of files to seconds', () => {
    const sources = [
      'bundle.mjs',
      'tsconfig.json',
      'package.json',
      'package-lock.json',
      'cli/strandlake.ts',
    ];
    const touch = (fraction: number): void => {
      for (const file of sources) utimesSync(join(project, file), 1e9 + fraction, 1e9 + fraction);
    };
    touch(0.75);
    setup('build');
    const before = builds();
    touch(0);
    expect(setup('build').stderr).toBe('');
    expect(builds()).toBe(before);
  });

  test('needs no right to write where all is installed and built', () => {
    setup('build');
    const { platform, arch } = process;
    for (const name of [`node-${platform}-${arch}`, `node-bin-${platform}-${arch}`]) {
      mkdirSync(join(project, 'node_modules', name, 'bin'), { recursive: true });
      symlinkSync(process.execPath, join(project, 'node_modules', name, 'bin/node'));
    }
    // Nobody can write a file of this name, not even the superuser.
    mkdirSync(join(project, 'node_modules/.strandlake-runtime'));
    expect(setup('strandlake')).toMatchObject({ status: 0, stderr: '' });
  });

  test('a failing build ends the command, keeps its exit code and tries again next time', () => {
    put('cli/strandlake.ts', 'a mistake');
    expect(setup('start')).toMatchObject({ status: 2, stdout: '' });
    expect(setup('start')).toMatchObject({ status: 2, stdout: '' });
    put('cli/strandlake.ts', 'export {};');
    expect(setup('start').status).toBe(0);
  });

  test('bundles what is compiled; where that fails, the build before stays in place and the next command tries again', () => {
    setup('build');
    const built = readFileSync(join(project, 'dist/cli/strandlake.js'), 'utf8');
    expect(built).toMatch(/\/\/ bundled$/);
    put('bundle.mjs', 'process.exit(3);');
    put('cli/strandlake.ts', 'export const changed = true;');
    for (let i = 0; i < 2; i++) expect(setup('start')).toMatchObject({ status: 3, stdout: '' });
    expect(readFileSync(join(project, 'dist/cli/strandlake.js'), 'utf8')).toBe(built);
    expect(readdirSync(project).filter((name) => name.startsWith('dist'))).toEqual(['dist']);
    put('bundle.mjs', bundler);
    expect(setup('start').status).toBe(0);
  });

  test('passes the exit code of the command through', () => {
    expect(setup('strandlake', '--exit').status).toBe(7);
  });

  test('passes a signal on to the command and ends by it', async () => {
    const child = spawn(process.execPath, ['setup.mjs', 'start', '--wait'], {
      cwd: project,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    await once(child.stdout, 'data');
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([null, 'SIGTERM']);
  });

  test.each(['SIGTERM', 'SIGINT'] as const)(
    '%s during the installation and the build ends them, and nothing follows',
    async (signal) => {
      const copy = mkdtempSync(join(tmpdir(), 'strandlake-setup-'));
      const started = join(copy, 'started');
      /** A program that notes its process and its arguments, and runs until something ends it. */
      const endless = `const fs = process.getBuiltinModule('fs');
        fs.mkdirSync('dist.' + process.ppid, { recursive: true });
        fs.appendFileSync(${JSON.stringify(started)}, process.pid + ' ' + process.argv.slice(2).join(' ') + '\\n');
        setInterval(() => {}, 1000);`;
      const stopped = async (): Promise<string> => {
        rmSync(started, { force: true });
        const child = spawn(process.execPath, ['setup.mjs', 'start'], {
          cwd: copy,
          stdio: 'ignore',
          env: { PATH: `${join(copy, 'bin')}:${process.env['PATH']}` },
        });
        const notes = (): string => (existsSync(started) ? readFileSync(started, 'utf8') : '');
        await until(() => notes().endsWith('\n') || child.exitCode !== null);
        child.kill(signal);
        expect(await once(child, 'exit')).toEqual([null, signal]);
        const [line = '', ...more] = notes().trim().split('\n');
        expect(more).toEqual([]);
        const [pid, command = ''] = line.split(' ');
        // Ends what was left, so that it does not outlive the test.
        expect(() => process.kill(Number(pid), 'SIGKILL')).toThrow('ESRCH');
        return command;
      };
      try {
        cpSync(project, copy, { recursive: true });
        rmSync(join(copy, 'dist'), { recursive: true, force: true });
        mkdirSync(join(copy, 'bin'));
        writeFileSync(join(copy, 'bin/npm'), `#!${process.execPath}\n${endless}`, { mode: 0o755 });
        writeFileSync(join(copy, 'node_modules/typescript/bin/tsc'), endless);
        expect(await stopped()).toBe('-p');
        expect(readdirSync(copy).filter((name) => name.startsWith('dist'))).toEqual([]);
        rmSync(join(copy, 'node_modules/.strandlake-install'));
        expect(await stopped()).toBe('ci');
        expect(existsSync(join(copy, 'node_modules/.strandlake-install'))).toBe(false);
      } finally {
        rmSync(copy, { recursive: true });
      }
    },
  );

  test('works with an empty home directory and installs again when the lock file changes', () => {
    const home = join(project, 'home');
    mkdirSync(home, { recursive: true });
    const lock = readFileSync(join(project, 'package-lock.json'), 'utf8');
    put('package-lock.json', `${lock}\n`);
    const answer = spawnSync(process.execPath, ['setup.mjs', 'format'], {
      cwd: project,
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], HOME: home },
    });
    expect(answer.stderr).toContain('Installing packages');
    expect(existsSync(join(project, 'node_modules/.strandlake-install'))).toBe(true);
  });
});

describe('package-lock.json', () => {
  const text = readFileSync('package-lock.json', 'utf8');
  const packages = (JSON.parse(text) as Lock).packages;

  test('holds no registry address', () => {
    expect(text).not.toMatch(/"resolved"|https?:\/\/[^"]*registry/);
  });

  test('names the optional packages of every system, which npm ci insists on', () => {
    const missing = Object.values(packages)
      .flatMap((entry) => Object.keys(entry.optionalDependencies ?? {}))
      .filter((name) => !packages[`node_modules/${name}`]);
    expect(missing).toEqual([]);
  });

  test('holds no package that would have to run a script on installation', () => {
    const scripted = Object.entries(packages).filter(([, entry]) => entry.hasInstallScript);
    // Jest's file watcher: its ready-made binary is a package of its own, and only watch mode would load it.
    expect(scripted.map(([name]) => name)).toEqual(['node_modules/@parcel/watcher']);
  });
});

interface Lock {
  readonly packages: Readonly<
    Record<string, { hasInstallScript?: boolean; optionalDependencies?: Record<string, string> }>
  >;
}

function put(file: string, text: string): void {
  mkdirSync(join(project, file, '..'), { recursive: true });
  writeFileSync(join(project, file), text);
}

function setup(...args: string[]): SpawnSyncReturns<string> {
  return spawnSync(process.execPath, ['setup.mjs', ...args], { cwd: project, encoding: 'utf8' });
}

function builds(): number {
  return existsSync(join(project, 'runs')) ? readFileSync(join(project, 'runs'), 'utf8').length : 0;
}
