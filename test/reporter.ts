import type { AggregatedResult, Reporter, Test, TestCaseResult, TestResult } from '@jest/reporters';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { missingRefusals } from './runner/refusals.js';

/**
 * A test that runs for longer than this time is reported by name, and again after each further such period: it may hang, and Jest's own
 * limit is much longer.
 */
const nameTestAfterMs = 60_000;

/**
 * The environment variable with the folder in which tests note the refusals that they provoke. If it is set, the missing refusals are
 * listed after every run: `STRANDLAKE_REFUSALS=<folder> npm test -- <pattern>`.
 */
const refusalsVariable = 'STRANDLAKE_REFUSALS';

/** What a running test file does, as a text that usually contains the name of a test, and since when. */
interface RunningFile {
  test: string;
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
 * Prints one line per finished test file, with the number of finished files and the time since the start, followed by the failures of the
 * file. The last line of the run is `12 passed, 0 failed`, for programs that read the log. A run of all files of a tier has an additional
 * test: whether it has provoked every refusal.
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
  #namingTimer: NodeJS.Timeout | undefined;
  /** The folder in which refusals are noted, if this run has created it. */
  #folder: string | undefined;
  #error: Error | undefined;

  constructor(options: RunOptions) {
    this.#options = options;
  }

  onRunStart({ numTotalTestSuites }: AggregatedResult): void {
    printLine(`Running ${numTotalTestSuites} test files`);
    // The variable is set before the test processes start. It names the folder in which they note the refusals that they provoke.
    if (this.#isWhole && process.env[refusalsVariable] === undefined) {
      this.#folder = mkdtempSync(join(tmpdir(), 'strandlake-refusals-'));
      process.env[refusalsVariable] = this.#folder;
    }
    this.#namingTimer = setInterval(() => this.#nameLongTests(), nameTestAfterMs / 4).unref();
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
    const finishedCount = results.numPassedTestSuites + results.numFailedTestSuites + results.numPendingTestSuites; // prettier-ignore
    const countText = `${String(finishedCount).padStart(String(total).length)}/${total}`;
    const seconds = ((file.perfStats.end - file.perfStats.start) / 1000).toFixed(1);
    const isFailed = file.numFailingTests > 0 || file.testExecError !== undefined;
    const elapsedText = minutesAndSeconds(Date.now() - results.startTime);
    const outcome = isFailed ? 'FAIL' : 'pass';
    printLine(`[${countText}  ${elapsedText}] ${outcome} ${this.#sourceOf(path)}  ${seconds} s`);
    if (this.#options.verbose === true) {
      for (const { status, fullName, duration } of file.testResults)
        printLine(`    ${status} (${duration ?? 0} ms) ${fullName}`);
    }
    for (const { type, message } of file.console ?? []) printLine(`  console.${type}: ${message}`);
    if (file.failureMessage) printLine(file.failureMessage);
  }

  onRunComplete(_contexts: unknown, results: AggregatedResult): void {
    clearInterval(this.#namingTimer);
    // A test file that cannot be loaded counts as a failure, because it has no tests to count.
    let failedCount = results.numFailedTests + results.numRuntimeErrorTestSuites;
    let passedCount = results.numPassedTests;
    const folder = process.env[refusalsVariable];
    if (folder !== undefined) {
      const missingPlaces = this.#unprovoked(folder);
      for (const place of missingPlaces) printLine(`no test provokes ${place}`);
      if (missingPlaces.length === 0) passedCount++;
      else failedCount++;
    }
    const line = `${passedCount} passed, ${failedCount} failed`;
    // Jest prints its own summary after every reporter has run; this line is printed after it.
    process.once('exit', () => printLine(`\n${line}`));
  }

  /** Makes Jest exit with code 1 if this reporter has an error. */
  getLastError(): Error | undefined {
    return this.#error;
  }

  /** Whether the run includes all tests of its tier. */
  get #isWhole(): boolean {
    const { testNamePattern, testPathPatterns } = this.#options;
    return !testNamePattern && testPathPatterns.patterns.length === 0;
  }

  /** Returns the refusals that no test process has noted in the folder, and sets the error if there are some. */
  #unprovoked(folder: string): readonly string[] {
    const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
    const notedPlaces = new Set(files.flatMap((lines) => lines.split('\n')));
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true });
    const missingPlaces = missingRefusals(join(this.#options.rootDir, 'dist'), notedPlaces);
    if (missingPlaces.length > 0)
      this.#error = new Error(`no test provokes ${missingPlaces.length} refusals`);
    return missingPlaces;
  }

  /** Prints the tests whose running time has passed a multiple of `nameTestAfterMs` since the last call. */
  #nameLongTests(): void {
    for (const [path, { test, since }] of this.#running) {
      const ms = Date.now() - since;
      if (ms >= nameTestAfterMs && ms % nameTestAfterMs < nameTestAfterMs / 4)
        printLine(`    has run for ${minutesAndSeconds(ms)}: ${this.#sourceOf(path)}: ${test}`);
    }
  }

  #sourceOf(path: string): string {
    return `${relative(this.#options.rootDir, path).replace(/^dist\/|\.js$/g, '')}.ts`;
  }
}

function printLine(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Returns a duration as minutes and seconds, such as `3:07`. */
function minutesAndSeconds(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}
