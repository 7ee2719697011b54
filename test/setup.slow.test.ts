import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { readdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pollUntil } from './until.js';

/**
 * The source of a simulated `build.mjs`, which counts its runs, those for tests as `c` and others as `b`, and writes one program and, for tests,
 * a module.
 */
const stubBuild = `import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
  const forTests = process.argv.includes('--tests');
  appendFileSync('runs', forTests ? 'c' : 'b');
  if (readFileSync('cli/strandlake.ts', 'utf8').includes('of syntax')) process.exit(3);
  const out = process.argv[2] + '/cli';
  mkdirSync(out, { recursive: true });
  if (forTests) writeFileSync(out + '/module.js', '');
  writeFileSync(out + '/strandlake.js', \`
    console.log(JSON.stringify(process.argv.slice(2)));
    if (process.argv.includes('--exit')) process.exit(7);
    if (process.argv.includes('--wait')) setInterval(() => {}, 1000);
  \`);`;

/** The source of a simulated `tsc`, which counts its checks of types. */
const stubCompiler = `const fs = require('fs');
  fs.appendFileSync('runs', process.argv.includes('--noEmit') ? 't' : 'e');
  if (fs.readFileSync('cli/strandlake.ts', 'utf8').includes('of types')) process.exit(2);`;

/** The path of a project whose packages are only simulated. */
let projectFolder: string;

beforeAll(() => {
  projectFolder = mkdtempSync(join(tmpdir(), 'strandlake-setup-'));
  copyFileSync('setup.mjs', join(projectFolder, 'setup.mjs'));
  putFile('package.json', '{"name":"p","version":"1.0.0","private":true,"type":"module"}');
  putFile(
    'package-lock.json',
    '{"name":"p","version":"1.0.0","lockfileVersion":3,"packages":{"":{"name":"p","version":"1.0.0"}}}',
  );
  putFile('tsconfig.json', '{}');
  putFile('build.mjs', stubBuild);
  putFile('cli/strandlake.ts', 'export {};');
  runSetup('format'); // installs the packages, then fails because the formatter is missing
  putFile('node_modules/typescript/bin/tsc', stubCompiler);
  putFile('node_modules/jest/bin/jest.js', `require('fs').appendFileSync('runs', 'j');`);
});

afterAll(() => rmSync(projectFolder, { recursive: true, force: true }));

describe('setup', () => {
  test('names the commands when asked for one that does not exist', () => {
    const { status, stderr } = runSetup('strat');
    expect(status).toBe(1);
    expect(stderr).toContain('unknown command "strat"; there are start, strandlake, verify');
  });

  test('bundles without compiling, hands arguments over, and does neither install nor bundle again', () => {
    const firstRun = runSetup('start', 'a.vcf', '--port', '0');
    expect(JSON.parse(firstRun.stdout)).toEqual(['serve', 'a.vcf', '--port', '0']);
    expect(readRuns()).toBe('b');
    const secondRun = runSetup('strandlake', 'user', 'add');
    expect(JSON.parse(secondRun.stdout)).toEqual(['user', 'add']);
    expect(secondRun.stderr).toBe('');
    expect(readRuns()).toBe('b');
  });

  test('compiles for tests; then a start finds its bundles, also after a change of a test', () => {
    const runsBefore = readRuns();
    runSetup('build');
    expect(readRuns()).toBe(runsAfter(runsBefore, 'c'));
    expect(existsSync(join(projectFolder, 'dist/cli/module.js'))).toBe(true);
    putFile('test/some.test.ts', 'export {};');
    expect(runSetup('start').status).toBe(0);
    expect(readRuns()).toBe(runsAfter(runsBefore, 'c'));
    runSetup('build');
    expect(readRuns()).toBe(runsAfter(runsBefore, 'cc'));
  });

  test('builds again after a change, and keeps nothing of the build before', () => {
    putFile('dist/test/stale.test.js', '');
    putFile('cli/added.ts', 'export {};');
    const runsBefore = readRuns();
    expect(runSetup('build').stderr).toBe('Building …\n');
    expect(readRuns()).toBe(runsAfter(runsBefore, 'c'));
    expect(existsSync(join(projectFolder, 'dist/test/stale.test.js'))).toBe(false);
  });

  test('checks types before the tests of a tier, and not before tests that the command names', () => {
    runSetup('build');
    const runsBefore = readRuns();
    expect(runSetup('test', 'some').status).toBe(0);
    expect(readRuns()).toBe(runsAfter(runsBefore, 'j'));
    expect(runSetup('test').status).toBe(0);
    expect(runSetup('test:all', '--silent').status).toBe(0);
    expect(readRuns()).toBe(runsAfter(runsBefore, 'jjjtt'));
  });

  test('a mistake of types fails the tests of a tier, not the build', () => {
    putFile('cli/strandlake.ts', 'a mistake of types');
    const runsBefore = readRuns();
    expect(runSetup('build').status).toBe(0);
    expect(runSetup('test').status).toBe(2);
    expect(readRuns()).toBe(runsAfter(runsBefore, 'ct'));
    putFile('cli/strandlake.ts', 'export {};');
  });

  test('does not build again after an archive or a container has cut the times of files to seconds', () => {
    const sources = [
      'build.mjs',
      'tsconfig.json',
      'package.json',
      'package-lock.json',
      'cli/strandlake.ts',
    ];
    const touch = (fraction: number): void => {
      for (const file of sources)
        utimesSync(join(projectFolder, file), 1e9 + fraction, 1e9 + fraction);
    };
    touch(0.75);
    runSetup('build');
    const runsBefore = readRuns();
    touch(0);
    expect(runSetup('build').stderr).toBe('');
    expect(runSetup('start').stderr).toBe('');
    expect(readRuns()).toBe(runsBefore);
  });

  test('needs no right to write where all is installed and built', () => {
    runSetup('build');
    const { platform, arch } = process;
    for (const name of [`node-${platform}-${arch}`, `node-bin-${platform}-${arch}`]) {
      mkdirSync(join(projectFolder, 'node_modules', name, 'bin'), { recursive: true });
      symlinkSync(process.execPath, join(projectFolder, 'node_modules', name, 'bin/node'));
    }
    // A folder has the name of the file that setup would write, so that not even the superuser can write it.
    mkdirSync(join(projectFolder, 'node_modules/.strandlake-runtime'));
    expect(runSetup('strandlake')).toMatchObject({ status: 0, stderr: '' });
  });

  test.each([['build'], ['start']])(
    'a failing %s keeps its exit code and the build before, and tries again next time',
    (command) => {
      runSetup('build');
      const builtCode = readFileSync(join(projectFolder, 'dist/cli/strandlake.js'), 'utf8');
      putFile('cli/strandlake.ts', 'a mistake of syntax');
      for (let i = 0; i < 2; i++)
        expect(runSetup(command)).toMatchObject({ status: 3, stdout: '' });
      expect(readFileSync(join(projectFolder, 'dist/cli/strandlake.js'), 'utf8')).toBe(builtCode);
      expect(readdirSync(projectFolder).filter((name) => name.startsWith('dist'))).toEqual([
        'dist',
      ]);
      putFile('cli/strandlake.ts', 'export {};');
      expect(runSetup(command).status).toBe(0);
    },
  );

  test('passes the exit code of the command through', () => {
    expect(runSetup('strandlake', '--exit').status).toBe(7);
  });

  test('passes a signal on to the command and ends by it', async () => {
    const child = spawn(process.execPath, ['setup.mjs', 'start', '--wait'], {
      cwd: projectFolder,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    await once(child.stdout, 'data');
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([null, 'SIGTERM']);
  });

  test.each(['SIGTERM', 'SIGINT'] as const)(
    '%s during the installation and the build ends them, and nothing follows',
    async (signal) => {
      const copyFolder = mkdtempSync(join(tmpdir(), 'strandlake-setup-'));
      const startFile = join(copyFolder, 'started');
      /** The source of a program that notes its process id and its arguments, and runs until it is killed. */
      const endlessScript = `const fs = process.getBuiltinModule('fs');
        fs.mkdirSync('dist.' + process.ppid, { recursive: true });
        fs.appendFileSync(${JSON.stringify(startFile)}, process.pid + ' ' + process.argv.slice(2).join(' ') + '\\n');
        setInterval(() => {}, 1000);`;
      const runAndStop = async (): Promise<string> => {
        rmSync(startFile, { force: true });
        const child = spawn(process.execPath, ['setup.mjs', 'start'], {
          cwd: copyFolder,
          stdio: 'ignore',
          env: { PATH: `${join(copyFolder, 'bin')}:${process.env['PATH']}` },
        });
        const readNotes = (): string =>
          existsSync(startFile) ? readFileSync(startFile, 'utf8') : '';
        await pollUntil(() => readNotes().endsWith('\n') || child.exitCode !== null);
        child.kill(signal);
        expect(await once(child, 'exit')).toEqual([null, signal]);
        const [line = '', ...more] = readNotes().trim().split('\n');
        expect(more).toEqual([]);
        const [pid, command = ''] = line.split(' ');
        // The program must have ended; if it has not, it is killed, so that it does not outlive the test.
        expect(() => process.kill(Number(pid), 'SIGKILL')).toThrow('ESRCH');
        return command;
      };
      try {
        cpSync(projectFolder, copyFolder, { recursive: true });
        rmSync(join(copyFolder, 'dist'), { recursive: true, force: true });
        mkdirSync(join(copyFolder, 'bin'));
        writeFileSync(join(copyFolder, 'bin/npm'), `#!${process.execPath}\n${endlessScript}`, {
          mode: 0o755,
        });
        writeFileSync(join(copyFolder, 'build.mjs'), endlessScript);
        expect(await runAndStop()).toMatch(/^dist\.\d+$/);
        expect(readdirSync(copyFolder).filter((name) => name.startsWith('dist'))).toEqual([]);
        rmSync(join(copyFolder, 'node_modules/.strandlake-install'));
        expect(await runAndStop()).toBe('ci');
        expect(existsSync(join(copyFolder, 'node_modules/.strandlake-install'))).toBe(false);
      } finally {
        rmSync(copyFolder, { recursive: true });
      }
    },
  );

  test('installs for a start what a server needs, and adds what tests need to what is there', () => {
    const copyFolder = mkdtempSync(join(tmpdir(), 'strandlake-setup-'));
    try {
      cpSync(projectFolder, copyFolder, { recursive: true });
      rmSync(join(copyFolder, 'node_modules/.strandlake-install'));
      mkdirSync(join(copyFolder, 'bin'));
      const installScript = `#!${process.execPath}
        process.getBuiltinModule('fs').appendFileSync('installed', process.argv.slice(2).join(' ') + '\\n');`;
      writeFileSync(join(copyFolder, 'bin/npm'), installScript, { mode: 0o755 });
      const env = { PATH: `${join(copyFolder, 'bin')}:${process.env['PATH']}` };
      for (const command of ['start', 'start', 'build', 'start'])
        spawnSync(process.execPath, ['setup.mjs', command], { cwd: copyFolder, env });
      const installCommands = readFileSync(join(copyFolder, 'installed'), 'utf8');
      expect(installCommands.trim().split('\n')).toEqual([
        expect.stringMatching(/^ci .*--omit=dev/),
        expect.stringMatching(/^install --no-save .*--include=dev/),
      ]);
    } finally {
      rmSync(copyFolder, { recursive: true });
    }
  });

  test('works with an empty home directory and installs again when the lock file changes', () => {
    const home = join(projectFolder, 'home');
    mkdirSync(home, { recursive: true });
    const lock = readFileSync(join(projectFolder, 'package-lock.json'), 'utf8');
    putFile('package-lock.json', `${lock}\n`);
    const result = spawnSync(process.execPath, ['setup.mjs', 'format'], {
      cwd: projectFolder,
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], HOME: home },
    });
    expect(result.stderr).toContain('Installing packages');
    expect(existsSync(join(projectFolder, 'node_modules/.strandlake-install'))).toBe(true);
  });
});

describe('package-lock.json', () => {
  const text = readFileSync('package-lock.json', 'utf8');
  const packages = (JSON.parse(text) as PackageLock).packages;

  test('holds no registry address', () => {
    expect(text).not.toMatch(/"resolved"|https?:\/\/[^"]*registry/);
  });

  test('names the optional packages of every system, which npm ci insists on', () => {
    const missingNames = Object.values(packages)
      .flatMap((entry) => Object.keys(entry.optionalDependencies ?? {}))
      .filter((name) => !packages[`node_modules/${name}`]);
    expect(missingNames).toEqual([]);
  });

  test('holds no package that would have to run a script on installation', () => {
    const packagesWithScripts = Object.entries(packages).filter(
      ([, entry]) => entry.hasInstallScript,
    );
    // The only package with an install script may be Jest's file watcher: its binary is a separate package, and only watch mode loads it.
    expect(packagesWithScripts.map(([name]) => name)).toEqual(['node_modules/@parcel/watcher']);
  });
});

interface PackageLock {
  readonly packages: Readonly<
    Record<string, { hasInstallScript?: boolean; optionalDependencies?: Record<string, string> }>
  >;
}

function putFile(file: string, text: string): void {
  mkdirSync(join(projectFolder, file, '..'), { recursive: true });
  writeFileSync(join(projectFolder, file), text);
}

function runSetup(...args: string[]): SpawnSyncReturns<string> {
  return spawnSync(process.execPath, ['setup.mjs', ...args], {
    cwd: projectFolder,
    encoding: 'utf8',
  });
}

/**
 * Returns the runs so far, as a text with a letter for each, in alphabetical order: `b` a build of bundles alone, `c` one that compiles for tests,
 * `j` Jest, `t` a check of types.
 */
function readRuns(): string {
  const runs = existsSync(join(projectFolder, 'runs'))
    ? readFileSync(join(projectFolder, 'runs'), 'utf8')
    : '';
  return runsAfter(runs, '');
}

function runsAfter(before: string, added: string): string {
  return [...before, ...added].sort().join('');
}
