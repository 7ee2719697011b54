import type { FuzzCase } from './case.js';
import { plainCaseDefaults } from './case.js';

/** Returns a small input that still `fails`, found by removing smaller and smaller parts, with at most `maxTries` attempts. */
export async function minimiseCase(
  one: FuzzCase,
  fails: (other: FuzzCase) => Promise<boolean>,
  maxTries = 3_000,
): Promise<FuzzCase> {
  let best = one;
  let tries = 0;
  const attempt = async (other: FuzzCase): Promise<boolean> => {
    if (tries++ >= maxTries || !(await fails(other))) return false;
    best = other;
    return true;
  };
  await attempt({ ...best, packing: plainCaseDefaults.packing });
  await attempt({ ...best, validation: plainCaseDefaults.validation });
  for (const name of Object.keys(best.params)) {
    const { [name]: _, ...params } = best.params;
    await attempt({ ...best, params });
  }
  for (let size = Math.ceil(best.bytes.length / 2); size > 0; size = Math.floor(size / 2)) {
    for (let at = 0; at < best.bytes.length;) {
      const bytes = Buffer.concat([best.bytes.subarray(0, at), best.bytes.subarray(at + size)]);
      if (!(await attempt({ ...best, bytes }))) at += size;
    }
  }
  return best;
}
