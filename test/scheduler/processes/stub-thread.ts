import type { Outcome } from '../../../engine/core/outcome.js';

/** The job function for tests of the pool: the bytes of a job say what its thread must do; a job in shared memory makes it spin. */
export async function gzip(job: Uint8Array): Promise<Outcome<Uint8Array>> {
  if (job.buffer instanceof SharedArrayBuffer) {
    job[0] = 1;
    for (;;);
  }
  switch (Buffer.from(job).toString()) {
    case 'exit':
      process.exit(3);
    case 'spin':
      for (;;);
    case 'throw':
      throw new Error('a bug');
    case 'fail':
      return { ok: false, error: { code: 'input', message: 'a.vcf, line 3: no tab' } };
    case 'heap': {
      const keptObjects: unknown[] = [];
      for (;;) keptObjects.push({ at: keptObjects.length });
    }
    default:
      return { ok: true, value: job };
  }
}
