/** The crash point that a test has armed, `<name>` or `<name>:<n>` for its n-th passing; nothing in normal runs. */
const armed = process.env['STRANDLAKE_CRASH_POINT'];
let passings = 0;

/**
 * A named place where a kill must do no harm. It does nothing, except when a test has armed it: then the process kills
 * itself there as `kill -9` would, so that no handler, flush or `finally` runs.
 */
export function crashpoint(name: string): void {
  if (armed === undefined) return;
  const [armedName, nth] = armed.split(':');
  if (armedName !== name) return;
  passings += 1;
  if (passings < Number(nth ?? 1)) return;
  process.kill(process.pid, 'SIGKILL');
  // The signal arrives a moment later; nothing may happen until then.
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}
