import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { readdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from './until.js';

/** A bundler that counts its runs and "bundles" one program. */
const bundler = `import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
  appendFileSync('runs', 'b');
  if (readFileSync('cli/strandlake.ts', 'utf8').includes('a mistake')) process.exit(3);
  const out = process.argv[2] + '/cli';
  mkdirSync(out, { recursive: true });
  writeFileSync(out + '/strandlake.js', \`
    console.log(JSON.stringify(process.argv.slice(2)));
    if (process.argv.includes('--exit')) process.exit(7);
    if (process.argv.includes('--wait')) setInterval(() => {}, 1000);
  \`);`;

/** A compiler that counts its runs and "compiles" an entry, which the bundler has to replace, and a module. */
const compiler = `const fs = require('fs');
  fs.appendFileSync('runs', 'c');
  if (fs.readFileSync('cli/strandlake.ts', 'utf8').includes('of types')) process.exit(2);
  const out = process.argv[process.argv.indexOf('--outDir') + 1] + '/cli';
  fs.mkdirSync(out, { recursive: true });
  fs.writeFileSync(out + '/strandlake.js', 'process.exit(9)');
  fs.writeFileSync(out + '/../tsconfig.tsbuildinfo', '');
  fs.writeFileSync(out + '/module.js', '');`;

/** A project with no packages but stand-ins. */
let project: string;

beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), 'strandlake-setup-'));
  copyFileSync('setup.mjs', join(project, 'setup.mjs'));
  putFile('package.json', '{"name":"p","version":"1.0.0","private":true,"type":"module"}');
  putFile(
    'package-lock.json',
    '{"name":"p","version":"1.0.0","lockfileVersion":3,"packages":{"":{"name":"p","version":"1.0.0"}}}',
  );
  putFile('tsconfig.json', '{}');
  putFile('bundle.mjs', bundler);
  putFile('cli/strandlake.ts', 'export {};');
  setup('format'); // installs, then fails for want of the formatter
  putFile('node_modules/typescript/bin/tsc', compiler);
});

afterAll(() => rmSync(project, { recursive: true, force: true }));

describe('setup', () => {
  test('names the commands when asked for one that does not exist', () => {
    const { status, stderr } = setup('strat');
    expect(status).toBe(1);
    expect(stderr).toContain('unknown command "strat"; there are start, strandlake, verify');
  });

  test('bundles without compiling, hands arguments over, and does neither install nor bundle again', () => {
    const first = setup('start', 'a.vcf', '--port', '0');
    expect(JSON.parse(first.stdout)).toEqual(['serve', 'a.vcf', '--port', '0']);
    expect(runs()).toBe('b');
    const second = setup('strandlake', 'user', 'add');
    expect(JSON.parse(second.stdout)).toEqual(['user', 'add']);
    expect(second.stderr).toBe('');
    expect(runs()).toBe('b');
  });

  test('compiles for tests; then a start finds its bundles, also after a change of a test', () => {
    const before = runs();
    setup('build');
    expect(runs()).toBe(`${before}cb`);
    expect(existsSync(join(project, 'dist/cli/module.js'))).toBe(true);
    putFile('test/some.test.ts', 'export {};');
    expect(setup('start').status).toBe(0);
    expect(runs()).toBe(`${before}cb`);
    setup('build');
    expect(runs()).toBe(`${before}cbcb`);
  });

  test('builds again after a change, and keeps of the build before only modules that have a source', () => {
    putFile('dist/test/stale.test.js', '');
    putFile('cli/added.ts', 'export {};');
    putFile('dist/cli/added.js', 'compiled before');
    const before = runs();
    expect(setup('build').stderr).toBe('Building …\n');
    expect(runs()).toBe(`${before}cb`);
    expect(existsSync(join(project, 'dist/test/stale.test.js'))).toBe(false);
    expect(readFileSync(join(project, 'dist/cli/added.js'), 'utf8')).toBe('compiled before');
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
    const before = runs();
    touch(0);
    expect(setup('build').stderr).toBe('');
    expect(setup('start').stderr).toBe('');
    expect(runs()).toBe(before);
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

  test.each([
    ['build', 'a mistake of types', 2],
    ['start', 'a mistake', 3],
  ])(
    'a failing %s keeps its exit code and the build before, and tries again next time',
    (command, text, code) => {
      setup('build');
      const builtCode = readFileSync(join(project, 'dist/cli/strandlake.js'), 'utf8');
      putFile('cli/strandlake.ts', text);
      for (let i = 0; i < 2; i++)
        expect(setup(command)).toMatchObject({ status: code, stdout: '' });
      expect(readFileSync(join(project, 'dist/cli/strandlake.js'), 'utf8')).toBe(builtCode);
      expect(readdirSync(project).filter((name) => name.startsWith('dist'))).toEqual(['dist']);
      putFile('cli/strandlake.ts', 'export {};');
      expect(setup(command).status).toBe(0);
    },
  );

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
      const startFile = join(copy, 'started');
      /** A program that notes its process and its arguments, and runs until something ends it. */
      const endless = `const fs = process.getBuiltinModule('fs');
        fs.mkdirSync('dist.' + process.ppid, { recursive: true });
        fs.appendFileSync(${JSON.stringify(startFile)}, process.pid + ' ' + process.argv.slice(2).join(' ') + '\\n');
        setInterval(() => {}, 1000);`;
      const runAndStop = async (): Promise<string> => {
        rmSync(startFile, { force: true });
        const child = spawn(process.execPath, ['setup.mjs', 'start'], {
          cwd: copy,
          stdio: 'ignore',
          env: { PATH: `${join(copy, 'bin')}:${process.env['PATH']}` },
        });
        const notes = (): string => (existsSync(startFile) ? readFileSync(startFile, 'utf8') : '');
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
        writeFileSync(join(copy, 'bundle.mjs'), endless);
        expect(await runAndStop()).toMatch(/^dist\.\d+$/);
        expect(readdirSync(copy).filter((name) => name.startsWith('dist'))).toEqual([]);
        rmSync(join(copy, 'node_modules/.strandlake-install'));
        expect(await runAndStop()).toBe('ci');
        expect(existsSync(join(copy, 'node_modules/.strandlake-install'))).toBe(false);
      } finally {
        rmSync(copy, { recursive: true });
      }
    },
  );

  test('installs for a start what a server needs, and adds what tests need to what is there', () => {
    const copy = mkdtempSync(join(tmpdir(), 'strandlake-setup-'));
    try {
      cpSync(project, copy, { recursive: true });
      rmSync(join(copy, 'node_modules/.strandlake-install'));
      mkdirSync(join(copy, 'bin'));
      const installScript = `#!${process.execPath}
        process.getBuiltinModule('fs').appendFileSync('installed', process.argv.slice(2).join(' ') + '\\n');`;
      writeFileSync(join(copy, 'bin/npm'), installScript, { mode: 0o755 });
      const env = { PATH: `${join(copy, 'bin')}:${process.env['PATH']}` };
      for (const command of ['start', 'start', 'build', 'start'])
        spawnSync(process.execPath, ['setup.mjs', command], { cwd: copy, env });
      const installed = readFileSync(join(copy, 'installed'), 'utf8');
      expect(installed.trim().split('\n')).toEqual([
        expect.stringMatching(/^ci .*--omit=dev/),
        expect.stringMatching(/^install --no-save .*--include=dev/),
      ]);
    } finally {
      rmSync(copy, { recursive: true });
    }
  });

  test('works with an empty home directory and installs again when the lock file changes', () => {
    const home = join(project, 'home');
    mkdirSync(home, { recursive: true });
    const lock = readFileSync(join(project, 'package-lock.json'), 'utf8');
    putFile('package-lock.json', `${lock}\n`);
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

function putFile(file: string, text: string): void {
  mkdirSync(join(project, file, '..'), { recursive: true });
  writeFileSync(join(project, file), text);
}

function setup(...args: string[]): SpawnSyncReturns<string> {
  return spawnSync(process.execPath, ['setup.mjs', ...args], { cwd: project, encoding: 'utf8' });
}

/** The runs of the compiler, `c`, and of the bundler, `b`, so far. */
function runs(): string {
  return existsSync(join(project, 'runs')) ? readFileSync(join(project, 'runs'), 'utf8') : '';
}
