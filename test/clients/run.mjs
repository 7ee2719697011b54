/*
 * Runs the public clients, unchanged, against a server that it starts: what their documentation shows (python/test_*.py, r/) and
 * the clients' own tests. STRANDLAKE_CLIENTS names their folders. `npm run test:clients` builds and runs this.
 */
import { spawn, spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const ownFolder = fileURLToPath(new URL('.', import.meta.url));
const strandlake = fileURLToPath(new URL('../../dist/cli/strandlake.js', import.meta.url));
const python = process.env.STRANDLAKE_PYTHON ?? 'python3';
/** Only modules whose name contains this text are run; without the argument, all are. */
const [moduleFilter = ''] = process.argv.slice(2);
/** The account of the users of a client, with which the paths of its own tests begin. */
const accountOf = (name) => (name === 'r:solvebio' ? 'solvebio' : 'quartzbio');

const folders = (process.env.STRANDLAKE_CLIENTS ?? '').split(delimiter).filter(Boolean);
// Packages of R come first: they share an account with those of Python, and must not find what the tests of these create.
const clients = folders
  .map(clientIn)
  .sort((a, b) => Number(a.kind === 'python') - Number(b.kind === 'python'));
if (clients.length === 0) {
  console.error(`Name the folders of the clients: STRANDLAKE_CLIENTS=/src/solvebio-python${delimiter}/src/quartzbio-python npm run test:clients`); // prettier-ignore
  process.exit(1);
}
/** The beginning of the reason of a listed difference whose test passes sometimes. */
const byChancePrefix = 'By chance: ';
const differences = await readDifferences(join(ownFolder, 'differences.md'));
const scratch = await mkdtemp(join(tmpdir(), 'strandlake-clients-'));
const data = join(scratch, 'data');
const filesPort = await findFreePort();
const server = await startServer();
let passedCount = 0;
let failedCount = 0;
try {
  for (const client of clients) await checkClient(client);
} finally {
  server.process.kill();
  await server.ended;
  await rm(scratch, { recursive: true, force: true });
}
console.log(`\n${passedCount} passed, ${failedCount} failed`);
process.exitCode = failedCount === 0 ? 0 : 1;

/** Returns the client in a folder: a Python package, which is named after its server, or a package of R. */
function clientIn(folder) {
  const name = ['solvebio', 'quartzbio'].find((one) =>
    existsSync(join(folder, one, '__init__.py')),
  );
  if (name !== undefined) return { folder, name, kind: 'python' };
  if (existsSync(join(folder, 'DESCRIPTION'))) {
    const [, name] = /^Package: *(\S+)/m.exec(readFileSync(join(folder, 'DESCRIPTION'), 'utf8'));
    return { folder, name: `r:${name}`, kind: 'r' };
  }
  console.error(
    `${folder} holds no client: neither the package solvebio or quartzbio nor one of R.`,
  );
  process.exit(1);
}

/** Runs all tests of a client, and compares their outcomes with the differences that are listed. */
async function checkClient({ folder, name, kind }) {
  // Packages of Python and of R may have the same name.
  const plainName = name.replace(':', '-');
  const home = join(scratch, plainName);
  await mkdir(home);
  // The tests of a package of R name the address of their user.
  const email = kind === 'r' ? `test@${name.slice(2)}.com` : `python@${name}.com`;
  const token = runStrandlake('user', 'add', email, '--role', 'admin', '--account', accountOf(name)).trim().split('\n').at(-1); // prettier-ignore
  const env = {
    ...process.env,
    HOME: home,
    STRANDLAKE_URL: server.url,
    STRANDLAKE_TOKEN: token,
    STRANDLAKE_EMAIL: email,
    STRANDLAKE_FILES_PORT: String(filesPort),
    SOLVEBIO_API_HOST: server.url,
    SOLVEBIO_ACCESS_TOKEN: token,
    SOLVEBIO_API_KEY: token,
  };
  const outcomes = kind === 'r' ? await runR(folder, name.slice(2), env) : await runPython(folder, name, env); // prettier-ignore
  const reasonByTest = new Map(differences.filter((one) => one.client === name).map((one) => [one.test, one.reason])); // prettier-ignore
  const finishedTests = new Set();
  const counts = { passed: 0, skipped: 0, different: 0 };
  for (const { test, outcome, message } of outcomes) {
    const reason = reasonByTest.get(test);
    finishedTests.add(test);
    if (outcome === 'skipped') counts.skipped++;
    else if (outcome === 'passed' && (reason ?? byChancePrefix).startsWith(byChancePrefix))
      counts.passed++;
    else if (outcome === 'failed' && reason !== undefined) counts.different++;
    else {
      failedCount++;
      console.log(
        `FAIL ${name} ${test}${reason === undefined ? '' : ': it is listed as a difference, and passes'}`,
      );
      if (message) console.log(message.replace(/^/gm, '     '));
    }
  }
  for (const test of moduleFilter === ''
    ? reasonByTest.keys().filter((one) => !finishedTests.has(one))
    : []) {
    failedCount++;
    console.log(`FAIL ${name} ${test}: it is listed as a difference, and was not run`);
  }
  passedCount += counts.passed + counts.different;
  console.log(
    `${name}: ${counts.passed} passed, ${counts.different} differ as listed, ${counts.skipped} skip themselves`,
  );
}

/**
 * Returns the outcomes of the tests of a Python package: of the scripts in `python/`, and of the package's own tests. Each module runs in a
 * process of its own.
 */
async function runPython(folder, name, baseEnv) {
  // A copy, because the tests write files into their folder.
  const packages = join(scratch, `${name}-package`);
  await cp(join(folder, name), join(packages, name), { recursive: true });
  const env = { ...baseEnv, QUARTZBIO_API_HOST: server.url, QUARTZBIO_ACCESS_TOKEN: baseEnv.STRANDLAKE_TOKEN, STRANDLAKE_CLIENT: name, PYTHONPATH: packages, PYTHONDONTWRITEBYTECODE: '1', PYTHONWARNINGS: 'ignore' }; // prettier-ignore
  const scripts = join(ownFolder, 'python');
  const fixtures = await runProgram(python, [join(scripts, 'fixtures.py')], env);
  if (fixtures.code !== 0) {
    console.error(fixtures.lines.join('\n'));
    throw new Error(`the fixtures of ${name} could not be made`);
  }
  const isTest = (file) => /^test_.*\.py$/.test(file);
  const modulesIn = async (path) => (await readdir(path)).filter(isTest).sort().map((file) => file.slice(0, -3)); // prettier-ignore
  const modules = [
    ...(await modulesIn(scripts)),
    ...(await modulesIn(join(packages, name, 'test'))).map((module) => `${name}.test.${module}`),
  ];
  const outcomes = [];
  for (const module of modules.filter((one) => one.includes(moduleFilter))) {
    const { code, lines } = await runProgram(python, [join(scripts, 'run_tests.py'), module], env);
    outcomes.push(...lines.flatMap(outcomeIn));
    if (code !== 0) outcomes.push({ test: module, outcome: 'failed', message: lines.slice(-20).join('\n') }); // prettier-ignore
  }
  return outcomes;
}

/**
 * Returns the outcomes of the tests of a package of R: of the scripts in `r/`, and of the package's own tests. Each file runs in a process
 * of its own.
 */
async function runR(folder, name, baseEnv) {
  const library = join(scratch, 'r-library');
  await mkdir(library, { recursive: true });
  const env = {
    ...baseEnv,
    R_LIBS: library,
    EDP_API_HOST: server.url,
    EDP_API_SECRET: baseEnv.STRANDLAKE_TOKEN,
  };
  if (name === 'quartzbio.edp') await installEmptyPackage('arrow', library, env);
  await install(folder, library, env);
  // A copy, because the tests write files into their folder; of the whole package, because they read its description.
  await cp(folder, join(scratch, `r-${name}-package`), { recursive: true });
  const copiedTests = join(scratch, `r-${name}-package`, 'tests', 'testthat');
  const scripts = join(ownFolder, 'r');
  const ownTestFiles = ['test_documentation.R', ...(name === 'solvebio' ? ['test_public.R'] : [])];
  const packageTestFiles = (await readdir(copiedTests))
    .filter((file) => /^test.*\.R$/.test(file))
    .sort();
  const runs = [
    ...ownTestFiles.map((file) => ['-', join(scripts, file)]),
    ...packageTestFiles.map((file) => [copiedTests, join(copiedTests, file)]),
  ];
  const outcomes = [];
  for (const [helpers, file] of runs.filter(([, file]) => file.includes(moduleFilter))) {
    const { code, lines } = await runProgram('Rscript', [join(scripts, 'run_tests.R'), name, helpers, file], env, copiedTests); // prettier-ignore
    outcomes.push(...lines.flatMap(outcomeIn));
    if (code !== 0) outcomes.push({ test: file, outcome: 'failed', message: lines.slice(-20).join('\n') }); // prettier-ignore
  }
  return outcomes;
}

/** Installs a package of R from its sources. */
async function install(folder, library, env) {
  const { code, lines } = await runProgram('R', ['CMD', 'INSTALL', '--no-docs', `--library=${library}`, folder], env); // prettier-ignore
  if (code !== 0) throw new Error(lines.join('\n'));
}

/** Installs an empty package in place of a required one that is not installed: the tests that need it fail, and the others run. */
async function installEmptyPackage(name, library, env) {
  const installationCheck = await runProgram(
    'Rscript',
    ['-e', `stopifnot(requireNamespace("${name}"))`],
    env,
  );
  if (installationCheck.code === 0) return;
  const folder = join(scratch, name);
  await mkdir(folder);
  const description = { Package: name, Version: '99.0', Title: 'Empty', Description: 'Empty.', License: 'Apache-2.0', Author: 'none', Maintainer: 'none <none@example.org>' }; // prettier-ignore
  await writeFile(join(folder, 'DESCRIPTION'), Object.entries(description).map(([key, value]) => `${key}: ${value}\n`).join('')); // prettier-ignore
  await writeFile(join(folder, 'NAMESPACE'), '');
  await install(folder, library, env);
}

/** Returns the outcome in a line of a test run, in a list; the list is empty for a line that the client has printed. */
function outcomeIn(line) {
  if (!line.startsWith('{"test"')) return [];
  return [JSON.parse(line)];
}

/** Runs a program; resolves with its exit code and the lines that it printed. */
function runProgram(program, args, env, cwd = scratch) {
  const child = spawn(program, args, { env, cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  const lines = [];
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', (line) => lines.push(line));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, lines }));
  });
}

/** Starts a server with an empty data folder, and resolves when it is ready. */
async function startServer() {
  const settings = ['--port', '0', '--examples', 'off', '--rate-limit', '0', '--multipart-mb', '8', '--allow-addresses', `127.0.0.1:${filesPort}`]; // prettier-ignore
  const child = spawn(process.execPath, [strandlake, 'serve', '--data', data, ...settings], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exitPromise = new Promise((resolve) => child.on('close', resolve));
  const url = await new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const [, address] = /ready at (\S+)/.exec(line) ?? [];
      if (address !== undefined) resolve(address);
    });
    void exitPromise.then(() => reject(new Error('The server did not start')));
  });
  return { process: child, ended: exitPromise, url };
}

/** Runs a command of Strandlake on the data folder, and returns what it has printed. */
function runStrandlake(...args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [strandlake, ...args, '--data', data], { encoding: 'utf8' }); // prettier-ignore
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

async function findFreePort() {
  const probe = createServer();
  await new Promise((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

/** Returns the rows of the table of differences; a row that names several clients gives one for each. */
async function readDifferences(file) {
  const rows = (await readFile(file, 'utf8')).split('\n').filter((line) => line.startsWith('| `'));
  return rows.flatMap((row) => {
    const [, test, named, reason] = row.split('|').map((cell) => cell.trim());
    return named.split(', ').map((client) => ({ test: ownName(test, client), client, reason }));
  });
}

/** Returns the name of a test with the name of the package in place of `<client>`. */
function ownName(cell, client) {
  return cell.replaceAll('`', '').replace('<client>', client);
}
