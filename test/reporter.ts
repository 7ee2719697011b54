import type { AggregatedResult, Reporter, Test, TestCaseResult, TestResult } from '@jest/reporters';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { missingRefusals } from './runner/refusals.js';

/** A test that runs for longer is named, and again after every such time: it may hang, and Jest's limit is far away. */
const namedAfterMs = 60_000;

/**
 * The environment variable with the folder in which tests note the refusals that they provoke. Whoever sets it gets those that are missing after
 * every run: `STRANDLAKE_REFUSALS=<folder> npm test -- <pattern>`.
 */
const refusalsVariable = 'STRANDLAKE_REFUSALS';

/** A test file that runs, and the test in it that began last. */
interface RunningFile {
  test: string;
  /** The time at which the test began. */
  since: number;
}

/** The options of the run that this reporter reads. */
interface RunOptions {
  readonly rootDir: string;
  readonly verbose?: boolean;
  readonly testNamePattern?: string;
  readonly testPathPatterns: { readonly patterns: readonly string[] };
}

/**
 * Prints one line per finished test file, with the number of files done and the time since the start, and the failures
 * of the file below it. The last line of the whole run is `12 passed, 0 failed`, for programs that read the log.
 *
 * A run of all files of a tier has one test more: whether it has provoked every refusal.
 */
export default class ProgressReporter implements Pick<
  Reporter,
  | 'onRunStart'
  | 'onTestFileStart'
  | 'onTestCaseStart'
  | 'onTestCaseResult'
  | 'onTestResult'
  | 'onRunComplete'
  | 'getLastError'
> {
  readonly #options: RunOptions;
  readonly #running = new Map<string, RunningFile>();
  #namer: NodeJS.Timeout | undefined;
  /** The folder of the refusals, if it is one of this run. */
  #folder: string | undefined;
  #error: Error | undefined;

  constructor(options: RunOptions) {
    this.#options = options;
  }

  onRunStart({ numTotalTestSuites }: AggregatedResult): void {
    print(`Running ${numTotalTestSuites} test files`);
    // The processes of the tests, which start later, note there which refusals they provoke.
    if (this.#isWhole && process.env[refusalsVariable] === undefined) {
      this.#folder = mkdtempSync(join(tmpdir(), 'strandlake-refusals-'));
      process.env[refusalsVariable] = this.#folder;
    }
    this.#namer = setInterval(() => this.#nameLongTests(), namedAfterMs / 4).unref();
  }

  onTestFileStart({ path }: Test): void {
    this.#running.set(path, { test: 'what comes before the tests', since: Date.now() });
  }

  onTestCaseStart({ path }: Test, { fullName }: { readonly fullName: string }): void {
    this.#running.set(path, { test: fullName, since: Date.now() });
  }

  onTestCaseResult({ path }: Test, { fullName }: TestCaseResult): void {
    this.#running.set(path, { test: `what follows ${fullName}`, since: Date.now() });
  }

  onTestResult({ path }: Test, file: TestResult, results: AggregatedResult): void {
    this.#running.delete(path);
    const total = results.numTotalTestSuites;
    const done = results.numPassedTestSuites + results.numFailedTestSuites + results.numPendingTestSuites; // prettier-ignore
    const count = `${String(done).padStart(String(total).length)}/${total}`;
    const seconds = ((file.perfStats.end - file.perfStats.start) / 1000).toFixed(1);
    const isFailed = file.numFailingTests > 0 || file.testExecError !== undefined;
    const elapsed = clock(Date.now() - results.startTime);
    const outcome = isFailed ? 'FAIL' : 'pass';
    print(`[${count}  ${elapsed}] ${outcome} ${this.#sourceOf(path)}  ${seconds} s`);
    if (this.#options.verbose === true) {
      for (const { status, fullName, duration } of file.testResults)
        print(`    ${status} (${duration ?? 0} ms) ${fullName}`);
    }
    for (const { type, message } of file.console ?? []) print(`  console.${type}: ${message}`);
    if (file.failureMessage) print(file.failureMessage);
  }

  onRunComplete(_contexts: unknown, results: AggregatedResult): void {
    clearInterval(this.#namer);
    // A file that could not be loaded has no tests to count, and must not look like success.
    let failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    let passed = results.numPassedTests;
    const folder = process.env[refusalsVariable];
    if (folder !== undefined) {
      const missing = this.#unprovoked(folder);
      for (const place of missing) print(`no test provokes ${place}`);
      if (missing.length === 0) passed++;
      else failed++;
    }
    const line = `${passed} passed, ${failed} failed`;
    // Jest prints its own summary after every reporter has run; this line follows it.
    process.once('exit', () => print(`\n${line}`));
  }

  /** Jest exits with 1 if a reporter has an error. */
  getLastError(): Error | undefined {
    return this.#error;
  }

  /** Whether the run leaves out nothing of its tier. */
  get #isWhole(): boolean {
    const { testNamePattern, testPathPatterns } = this.#options;
    return !testNamePattern && testPathPatterns.patterns.length === 0;
  }

  /** The refusals that no process of the tests has noted in the folder. */
  #unprovoked(folder: string): readonly string[] {
    const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
    const noted = new Set(files.flatMap((lines) => lines.split('\n')));
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true });
    const missing = missingRefusals(join(this.#options.rootDir, 'dist'), noted);
    if (missing.length > 0) this.#error = new Error(`no test provokes ${missing.length} refusals`);
    return missing;
  }

  /** Prints the tests that have run for a multiple of the time since the last look. */
  #nameLongTests(): void {
    for (const [path, { test, since }] of this.#running) {
      const ms = Date.now() - since;
      if (ms >= namedAfterMs && ms % namedAfterMs < namedAfterMs / 4)
        print(`    has run for ${clock(ms)}: ${this.#sourceOf(path)}: ${test}`);
    }
  }

  #sourceOf(path: string): string {
    return `${relative(this.#options.rootDir, path).replace(/^dist\/|\.js$/g, '')}.ts`;
  }
}

function print(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** A duration as minutes and seconds, `3:07`. */
function clock(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}
