/** The armed crash point: `<name>`, or `<name>:<n>` to crash at its n-th call. Set by tests only. */
const armedCrashPoint = process.env['STRANDLAKE_CRASH_POINT'];
let crashPointCalls = 0;

/**
 * Marks a point at which a crash must do no harm. Does nothing unless a test has armed it: then the process sends itself SIGKILL, so that
 * no handler, flush or `finally` runs.
 */
export function crashpoint(name: string): void {
  if (armedCrashPoint === undefined) return;
  const [armedName, nth] = armedCrashPoint.split(':');
  if (armedName !== name) return;
  crashPointCalls += 1;
  if (crashPointCalls < Number(nth ?? 1)) return;
  process.kill(process.pid, 'SIGKILL');
  // Block until the signal arrives, so that no further code runs.
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}
