import { describe, expect, test } from '@jest/globals';
import { readers } from '../../readers/index.js';
import { loadCase, savedCasePaths } from './case.js';
import { generateCase, editMaterialFor } from './generate.js';
import { checkProperties } from './properties.js';
import { seed } from '../seed.js';

// F15: checks inputs that failed once, and some random inputs for every reader; `npm run fuzz` generates more.

const inputCount = Number(process.env['STRANDLAKE_CASES'] ?? 150);

test.each(savedCasePaths())('all properties hold for %s', async (path) => {
  await checkProperties(loadCase(path), true);
});

describe.each(readers.map(({ name }) => name))('%s', (reader) => {
  test(`${inputCount} random inputs have all properties (STRANDLAKE_SEED=${seed})`, async () => {
    const material = editMaterialFor(reader);
    for (let i = 0; i < inputCount; i++) {
      const newCase = generateCase(reader, seed + i, material);
      await checkProperties(newCase, i % 25 === 0).catch((cause: unknown) => {
        throw new Error(`npm run fuzz -- ${reader} --input ${newCase.seed}`, { cause });
      });
    }
    expect(Object.keys(Object.prototype)).toEqual([]);
  });
});
