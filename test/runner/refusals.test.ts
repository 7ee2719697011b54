import { expect, test } from '@jest/globals';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { missingRefusals, refusalsIn, instrumentRefusals } from './refusals.js';

const sampleCode = `class AppError extends Error { constructor(code, text) { super(text); } }
const form = { noted: [], fail(key, text) { this.noted.push(key + text); } };
const invalidError = (key, text) => new AppError('invalid', key + text);
export function check(value) {
  if (value === 1) throw invalidError('é', \`one\`);
  if (value === 2) throw new AppError('internal', 'two');
  if (value === 3) throw new Error('three');
  const other = value === 4 ? form.fail('four', (form.fail('five', ''), '')) : value;
  if (value === 6) return 'Six is too much.';
  return other ?? form.noted;
}`;

test('finds the expressions that refuse a request, and no faults of the server', () => {
  const refusalTexts = refusalsIn(sampleCode).map(({ start, end }) => sampleCode.slice(start, end));
  expect(refusalTexts).toEqual([
    "new AppError('invalid', key + text)",
    "invalidError('é', `one`)",
    "form.fail('four', (form.fail('five', ''), ''))",
    "form.fail('five', '')",
    "'Six is too much.'",
  ]);
});

test('notes those that are evaluated, and changes nothing else', async () => {
  const notedPlaces: string[] = [];
  const previousHook = Reflect.get(globalThis, 'noteRefusal') as unknown;
  Reflect.set(globalThis, 'noteRefusal', (place: string) => notedPlaces.push(place));
  try {
    const url = `data:text/javascript,${encodeURIComponent(instrumentRefusals('api/a.js', sampleCode))}`;
    const { check } = (await import(url)) as { check(value: number): unknown };
    expect(() => check(1)).toThrow('éone');
    expect(() => check(2)).toThrow('two');
    expect(check(4)).toEqual(['five', 'four']);
    expect(check(5)).toBe(5);
  } finally {
    Reflect.set(globalThis, 'noteRefusal', previousHook);
  }
  const [newError, invalid, four, five] = refusalsIn(sampleCode).map(
    ({ start }) => `api/a.js:${start}`,
  );
  expect(notedPlaces).toEqual([invalid, newError, four, five]);
});

test('names those that were not noted by their place in the source', () => {
  const folder = mkdtempSync(join(tmpdir(), 'strandlake-build-'));
  try {
    mkdirSync(join(folder, 'api'));
    const lines = ['const a = invalidError("a");', '"ä"; form.fail("b");', 'form.fail("c");'];
    writeFileSync(join(folder, 'api', 'a.js'), lines.join('\n'));
    // The second line of the compiled module is the third of the source, and the third is the fourth.
    const map = { version: 3, sources: ['../a.ts'], names: [], mappings: 'AAAA;AAEA;AACA' };
    const sourceLines = [lines[0], '', lines[1], `${lines[2]} // deleted meanwhile`];
    writeFileSync(join(folder, 'a.ts'), sourceLines.join('\n'));
    writeFileSync(join(folder, 'api', 'a.js.map'), JSON.stringify(map));
    writeFileSync(join(folder, 'b.js'), lines.join('\n')); // in a folder whose refusals are not counted
    expect(missingRefusals(folder, new Set(['api/a.js:10']))).toEqual([
      'api/a.ts:3: form.fail("b")',
    ]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
