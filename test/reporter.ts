import type { AggregatedResult, Reporter } from '@jest/reporters';

/** Ends every run with one plain line, `12 passed, 0 failed`, for programs that read the log. */
export default class PlainSummary implements Pick<Reporter, 'onRunComplete'> {
  onRunComplete(_contexts: unknown, results: AggregatedResult): void {
    // A file that could not be loaded has no tests to count, and must not look like success.
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const line = `\n${results.numPassedTests} passed, ${failed} failed\n`;
    // Jest's own summary comes after every reporter; this line is the last.
    process.once('exit', () => process.stderr.write(line));
  }
}
