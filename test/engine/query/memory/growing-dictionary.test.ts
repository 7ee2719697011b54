import { describe, expect, test } from '@jest/globals';
import { dataViewOf } from '../../../../engine/core/buffers.js';
import { GrowingDictionary } from '../../../../engine/query/memory/growing-dictionary.js';
import { random } from '../../store/random.js';

const seed = Number(process.env['STRANDLAKE_SEED'] ?? 20_261_121);

describe('a dictionary', () => {
  test(`numbers strings as a map from text to number does (seed ${seed})`, () => {
    const next = random(seed);
    const pieces = ['', 'a', 'b', 'PASS', 'é', '🧬', '\0', 'chr', 'x'.repeat(70), '漢'];
    for (const maxEntries of [0, 1, 100, 5_000]) {
      const dictionary = new GrowingDictionary(maxEntries);
      const numbers = new Map<string, number>();
      for (let i = 0; i < 6_000; i++) {
        const length = Math.floor(next() * 6);
        const text = Array.from({ length }, () => pieces[Math.floor(next() * 10)]!).join('');
        const begin = Math.floor(next() * 5);
        const bytes = Buffer.from(`${'-'.repeat(begin)}${text}--`);
        const view = dataViewOf(bytes);
        const number = dictionary.indexOrAdd(bytes, view, begin, bytes.length - 2);
        const expectedNumber = numbers.get(text) ?? (numbers.size < maxEntries ? numbers.size : -1);
        if (number !== expectedNumber)
          throw new Error(`${JSON.stringify(text)}: ${number}, not ${expectedNumber}`);
        if (expectedNumber >= 0) numbers.set(text, expectedNumber);
      }
      expect(dictionary.strings).toEqual([...numbers.keys()]);
      const characters = [...numbers.keys()].reduce((sum, text) => sum + text.length, 0);
      expect(dictionary.bytes).toBeGreaterThanOrEqual(2 * characters);
      expect(dictionary.isFull).toBe(numbers.size >= maxEntries);
    }
  });
});
