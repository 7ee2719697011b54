import { describe, expect, test } from '@jest/globals';
import type { MemoryColumn } from '../../../../engine/query/memory/match/column.js';
import { lowerCase } from '../../../../engine/text/fold.js';
import { stringHashes } from '../../../../engine/query/memory/string-hashes.js';
import { random } from '../../store/random.js';

const seed = Number(process.env['STRANDLAKE_SEED'] ?? 20_261_121);

function columnOf(strings: readonly (string | null)[]): MemoryColumn {
  const pieces = strings.map((text) => Buffer.from(text ?? ''));
  const offsets = new Uint32Array(strings.length + 1);
  for (const [i, { length }] of pieces.entries()) offsets[i + 1] = offsets[i]! + length;
  const present = Uint8Array.from(strings, (text) => (text === null ? 0 : 1));
  const bytes = Buffer.concat(pieces);
  return {
    rows: strings.length,
    offsets: undefined,
    present: strings.includes(null) ? present : undefined,
    values: { kind: 'strings', bytes, offsets },
    bytes: 0,
  };
}

describe('hashes of strings', () => {
  test(`find every value with this lower case, in order, and hardly any other (seed ${seed})`, () => {
    const next = random(seed);
    const pick = <T>(from: readonly T[]): T => from[Math.floor(next() * from.length)]!;
    const letters = [...'abzABZ@[`{ 09_-', 'É', 'é', '\u212a', 'İ', 'ß', '🧬', 'Ω', '\0', '\u007f'];
    for (const count of [0, 1, 2, 7, 300, 3_000]) {
      for (const alphabet of [letters, letters.slice(0, 15), ['a', 'A']]) {
        const nullShare = pick([0, 0.2]);
        const strings = Array.from({ length: count }, () => {
          if (next() < nullShare) return null;
          return Array.from({ length: Math.floor(next() ** 2 * 14) }, () => pick(alphabet)).join(
            '',
          );
        });
        const hashes = stringHashes(columnOf(strings));
        const indicesByText = new Map<string, number[]>();
        for (const [i, text] of strings.entries()) {
          if (text === null) continue;
          const lower = lowerCase(text);
          indicesByText.set(lower, [...(indicesByText.get(lower) ?? []), i]);
        }
        let otherCount = 0;
        const searchedTexts = [...indicesByText.keys(), '', 'nobody has this', 'é', 'k'];
        for (const text of searchedTexts) {
          const foundIndices = hashes.find(text);
          const expected = indicesByText.get(text) ?? [];
          expect(foundIndices.filter((i) => expected.includes(i))).toEqual(expected);
          expect(foundIndices.toSorted((a, b) => a - b)).toEqual(foundIndices);
          expect(foundIndices.every((i) => strings[i] !== null)).toBe(true);
          if (alphabet === letters) otherCount += foundIndices.length - expected.length;
        }
        expect(otherCount).toBeLessThanOrEqual(3 * searchedTexts.length);
        expect(hashes.bytes).toBeLessThanOrEqual(8 * count + 8);
      }
    }
  });

  test('find a text that ninety thousand values share, and one among them', () => {
    const strings = Array.from({ length: 100_000 }, (_, i) =>
      i % 10 === 0 ? `rare ${i}` : 'Benign',
    );
    const hashes = stringHashes(columnOf(strings));
    expect(hashes.find('benign').length).toBeGreaterThanOrEqual(90_000);
    expect(hashes.find('rare 500').map((i) => strings[i])).toContain('rare 500');
  });
});
