import type { AggregatedResult, Reporter, Test, TestResult } from '@jest/reporters';
import { relative } from 'node:path';

/** The options of the run that this reporter reads. */
interface RunOptions {
  readonly rootDir: string;
  readonly verbose?: boolean;
}

/**
 * Prints one line per finished test file, with the number of files done and the time since the start, and the failures
 * of the file below it. The last line of the whole run is `12 passed, 0 failed`, for programs that read the log.
 */
export default class ProgressReporter implements Pick<
  Reporter,
  'onRunStart' | 'onTestResult' | 'onRunComplete'
> {
  readonly #options: RunOptions;

  constructor(options: RunOptions) {
    this.#options = options;
  }

  onRunStart({ numTotalTestSuites }: AggregatedResult): void {
    print(`Running ${numTotalTestSuites} test files`);
  }

  onTestResult({ path }: Test, file: TestResult, results: AggregatedResult): void {
    const total = results.numTotalTestSuites;
    const done = results.numPassedTestSuites + results.numFailedTestSuites + results.numPendingTestSuites; // prettier-ignore
    const count = `${String(done).padStart(String(total).length)}/${total}`;
    const seconds = ((file.perfStats.end - file.perfStats.start) / 1000).toFixed(1);
    const isFailed = file.numFailingTests > 0 || file.testExecError !== undefined;
    const source = relative(this.#options.rootDir, path).replace(/^dist\/|\.js$/g, '');
    const elapsed = clock(Date.now() - results.startTime);
    print(`[${count}  ${elapsed}] ${isFailed ? 'FAIL' : 'pass'} ${source}.ts  ${seconds} s`);
    if (this.#options.verbose === true) {
      for (const { status, fullName, duration } of file.testResults)
        print(`    ${status} (${duration ?? 0} ms) ${fullName}`);
    }
    for (const { type, message } of file.console ?? []) print(`  console.${type}: ${message}`);
    if (file.failureMessage) print(file.failureMessage);
  }

  onRunComplete(_contexts: unknown, results: AggregatedResult): void {
    // A file that could not be loaded has no tests to count, and must not look like success.
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const line = `${results.numPassedTests} passed, ${failed} failed`;
    // Jest prints its own summary after every reporter has run; this line comes after that.
    process.once('exit', () => print(`\n${line}`));
  }
}

function print(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Minutes and seconds, `3:07`. */
function clock(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}
