import { expect, test } from '@jest/globals';
import { packBitmap, unpackBitmap } from '../../../engine/text/row-bitmap.js';
import { seededRandom } from '../../random.js';
import { seed } from '../../seed.js';

test(`bits of masks of any length are the masks again (STRANDLAKE_SEED=${seed})`, () => {
  const nextRandom = seededRandom(seed);
  for (let rows = 0; rows < 300; rows++) {
    const share = [0, 0.02, 0.5, 1][rows % 4]!;
    const mask = Uint8Array.from({ length: rows }, () => (nextRandom() < share ? 1 : 0));
    const bits = packBitmap(mask);
    expect(bits).toHaveLength(Math.ceil(rows / 8));
    expect([...unpackBitmap(bits, rows)]).toEqual([...mask]);
  }
});
