import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import type { Columns } from '../../../engine/core/types.js';
import { maxScannedBytes } from '../../../readers/text/scan-buffer.js';
import { seededRandom, type Random } from '../../random.js';
import { naiveRecordsOf, parseRowsByCsvParse } from './oracle.js';
import { importFile } from '../import-source.js';
import { seed } from '../../seed.js';

const folder = mkdtempSync(join(tmpdir(), 'strandlake-csv-long-'));
afterAll(() => rmSync(folder, { recursive: true }));
const randomBelow = (next: Random, limit: number): number => Math.floor(next() * limit);

function writeCsvFile(text: string): string {
  const path = join(folder, 'long.csv');
  writeFileSync(path, text);
  return path;
}

/**
 * Returns a random table of at least `bytes` bytes: rows with quoted cells and, unless the random share of oddities is 0, line ends in
 * quotes, long cells, blank lines and comments between them.
 */
function randomLongTable(next: Random, bytes: number): string {
  const end = next() < 0.5 ? '\n' : '\r\n';
  let text = `a,b,c,"d ""e""",f${end}`;
  const oddityShare = [0, 0.001, 0.05][randomBelow(next, 3)]!;
  while (text.length < bytes) {
    const c = next() < 0.3 ? '' : `"x, ""${randomBelow(next, 1e6)}"" y"`;
    const d = next() < oddityShare ? `"two${end}lines"` : `w${randomBelow(next, 50)}`;
    const f = next() < oddityShare / 10 ? 'z'.repeat(randomBelow(next, 2 * maxScannedBytes)) : 'é';
    text += `${randomBelow(next, 1e9)},${next()},${c},${d},${f}${end}`;
    if (next() < oddityShare) text += next() < 0.5 ? end : `# a comment "${end}`;
  }
  return text;
}

test(`tables of several windows are read as csv-parse reads them (seed ${seed})`, async () => {
  const next = seededRandom(seed);
  for (let round = 0; round < 6; round++) {
    const text = randomLongTable(next, 3 * maxScannedBytes + randomBelow(next, 1000));
    const rows = parseRowsByCsvParse(Buffer.from(text), ',');
    const csvImport = await importFile(writeCsvFile(text), 'long.csv', 'csv', {
      targetBytes: 1 + randomBelow(next, 4 * maxScannedBytes),
      validation: { disable: true, raiseOnErrors: false, strict: false, allowNewFields: true },
    });
    expect(csvImport.error).toBeNull();
    expect(csvImport.rows.map((row) => ({ ...row }))).toEqual(
      naiveRecordsOf(rows[0]!, rows.slice(1)),
    );
    expect(csvImport.findings.examples).toEqual([]);
  }
});

test('a column whose last cell is not a number keeps the text of its numbers', async () => {
  const numbers = ['1.50', '007', ' 7 ', '"2.0"', '1e3', '', '12345678901234567890'];
  const cells = Array.from({ length: 30_000 }, (_, i) => numbers[i % numbers.length]!);
  cells[25_001] = 'late';
  const csvImport = await importFile(
    writeCsvFile(`a,b\n${cells.map((cell, i) => `${i},${cell}\n`).join('')}`),
    'late.csv',
    'csv',
  );
  const expectedRecords = cells.map((cell, i) => ({ a: i, b: cell.replaceAll('"', '') || null }));
  expect(csvImport.rows.map((row) => ({ ...row }))).toEqual(expectedRecords);
  expect(csvImport.rewritten).toBe(0);
});

test(`cells that do not fit their field fail alike in runs and row by row (seed ${seed})`, async () => {
  const next = seededRandom(seed + 1);
  const knownColumns: Columns = [
    { name: 'n', physical: 'n', type: 'double', isList: false },
    { name: 't', physical: 't', type: 'string', isList: false },
  ];
  for (let round = 0; round < 4; round++) {
    const share = [0.5, 0.1][round % 2]!;
    const cell = () =>
      next() < share ? ['x', '', ' 5 ', '"1,5"'][randomBelow(next, 4)]! : `${next()}`;
    const lines = Array.from(
      { length: 400 },
      (_, i) => `${cell()},"a ""${i}""",${randomBelow(next, 9)}\n`,
    );
    const path = writeCsvFile(`n,t,k\n${lines.join('')}`);
    for (const disable of [true, false]) {
      const validation = { disable, raiseOnErrors: false, strict: false, allowNewFields: true };
      const [wholeImport, lineImport] = await Promise.all(
        [1 << 20, 1].map((targetBytes) =>
          importFile(path, 'n.csv', 'csv', { targetBytes, known: knownColumns, validation }),
        ),
      );
      expect({ ...wholeImport, chunks: 0 }).toEqual({ ...lineImport, chunks: 0 });
      expect(wholeImport!.findings.errors > 0).toBe(!disable);
    }
  }
});
