import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { seededRandom as seeded } from '../../random.js';
import { readWholeFile } from '../read-all.js';
import { seed } from '../../seed.js';

const folder = mkdtempSync(join(tmpdir(), 'strandlake-samples-'));
afterAll(() => rmSync(folder, { recursive: true }));

const sampleNames = ['S1', 'Zoë', 'a b', '__proto__', 'S5'];
const formatKeys = [
  ['GT', '1', 'String'],
  ['DP', '1', 'Integer'],
  ['AD', 'R', 'Integer'],
  ['GQ', '1', 'Float'],
  ['GL', 'G', 'Float'],
  ['FT', '1', 'String'],
  ['TX', '.', 'String'],
] as const;
/** A FORMAT key that the header does not declare, so that its values are text. */
const undeclaredKey = ['XX', '1', 'String'] as const;

/** Well-formed texts of values for each type, in plain and in unusual forms. */
const valueTexts: Readonly<Record<string, readonly string[]>> = {
  GT: ['0/1', '0|0', './.', '.', '1', '0/1/2', '|0|1', '10/11', '', '.|1'],
  Integer: ['0', '7', '123456789', '-3', '+5', '2147483647', '.', '', '0012'],
  Float: ['0', '1.5', '-0.25', '.5', '5.', '1e-5', '12345678901234567890', '.', '', '-2e3', 'nan'],
  String: ['PASS', 'q10;s50', '.', '', 'x'.repeat(1500), 'a=b', '%3A%2C', 'é', '-'],
};

/** Returns the value of a text, parsed in the simplest way. */
function naiveValueOf(type: string, text: string): unknown {
  if (text === '' || text === '.' || (type === 'Float' && text === 'nan')) return null;
  return type === 'String' ? text.replaceAll('%3A', ':').replaceAll('%2C', ',') : Number(text);
}

test(`samples of any layout equal a split of the text (seed ${seed})`, async () => {
  const random = seeded(seed);
  const randomBelow = (limit: number): number => Math.floor(random() * limit);
  const pick = <T>(list: readonly T[]): T => list[randomBelow(list.length)]!;
  for (let round = 0; round < 20; round++) {
    // In some rounds most values are plain, so that lines take the fast path until an unusual value occurs.
    const oddShare = pick([0, 0.01, 0.5]);
    const expectedCalls: unknown[] = [];
    let lines = '';
    for (let line = 0; line < 40; line++) {
      const layout = [...formatKeys, undeclaredKey].filter(() => random() < 0.6);
      if (layout.length === 0) layout.push(formatKeys[0]);
      const expectedSamplesOfLine: Record<string, unknown>[] = [];
      const columns = sampleNames.map((name) => {
        const expectedSample: Record<string, unknown> = Object.fromEntries([['name', name]]);
        const parts = layout.map(([key, number, type]) => {
          const texts = key === 'GT' ? valueTexts.GT! : valueTexts[type]!;
          const randomText = (): string =>
            random() < oddShare ? pick(texts) : texts[randomBelow(2)]!;
          const items =
            number === '1'
              ? [randomText()]
              : Array.from({ length: 1 + randomBelow(3) }, randomText);
          const text = items.join(',');
          if (number === '1')
            expectedSample[key] = naiveValueOf(key === 'GT' ? 'String' : type, text);
          else
            expectedSample[key] =
              text === '.' || text === '' ? null : items.map((item) => naiveValueOf(type, item));
          return text;
        });
        const keptParts = random() < 0.2 ? 1 + randomBelow(parts.length) : parts.length;
        for (const [key] of layout.slice(keptParts)) expectedSample[key] = null;
        if (parts.slice(0, keptParts).join(':') === '') parts[0] = '.';
        if (parts[0] === '.') expectedSample[layout[0]![0]] = null;
        expectedSamplesOfLine.push(
          Object.fromEntries(Object.entries(expectedSample).filter(([, value]) => value !== null)),
        );
        return parts.slice(0, keptParts).join(':');
      });
      lines += `1\t${line + 1}\t.\tA\tT\t.\t.\t.\t${layout.map(([key]) => key).join(':')}\t${columns.join('\t')}\n`;
      expectedCalls.push(expectedSamplesOfLine);
    }
    const formatLines = formatKeys.map(
      ([id, number, type]) => `##FORMAT=<ID=${id},Number=${number},Type=${type},Description="x">\n`,
    );
    const nameCells = sampleNames.join('\t');
    const path = join(folder, 'samples.vcf');
    writeFileSync(
      path,
      `##fileformat=VCFv4.3\n${formatLines.join('')}#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\t${nameCells}\n${lines}`,
    );
    const { rows, notes } = await readWholeFile(path, 'vcf', {
      targetBytes: 200 + randomBelow(20_000),
    });
    expect(notes.every(({ level, code }) => level === 'warn' && code === 304)).toBe(true);
    expect(rows.map((row) => row.sample)).toEqual(expectedCalls);
  }
});

const faultyLines: readonly (readonly [string, string, number, string | null])[] = [
  ['GT:DP', '0/1:3\t0/1:x\t0\t0\t0', 301, 'sample.DP'],
  ['GT:DP', '0/1:3\t0/1:3:9\t0\t0\t0', 0, null],
  ['GT:AD', '0/1:3,4\t0/1:3,4a\t0\t0\t0', 301, 'sample.AD'],
  ['GT:AD', '0/1:3,4\t0/1:..,4\t0\t0\t0', 301, 'sample.AD'],
  ['GT:GQ', '0/1:1.5\t0/1:1.5.\t0\t0\t0', 301, 'sample.GQ'],
  ['GT:GQ', '0/1:1.5\t0/1:-\t0\t0\t0', 301, 'sample.GQ'],
  ['GT:GL', '0/1:1.5,2\t0/1:1,,b\t0\t0\t0', 301, 'sample.GL'],
  ['GT', '0/1\t0\\1\t0\t0\t0', 301, 'sample.GT'],
  ['GT', '0/1\t0/1\t0\t0\t0\t0', 0, null],
  ['GT', '0/1\t0/1\t0\t0', 0, null],
];

test.each(faultyLines)('%s %j rejects its line alone', async (format, values, code, field) => {
  const formatLines = formatKeys.map(
    ([id, number, type]) => `##FORMAT=<ID=${id},Number=${number},Type=${type},Description="x">\n`,
  );
  const path = join(folder, 'fault.vcf');
  const goodLine = '1\t1\t.\tA\tT\t.\t.\t.\tGT:DP\t0/1:3\t0:4\t1:5\t2:6\t.:.\n';
  writeFileSync(
    path,
    `##fileformat=VCFv4.3\n${formatLines.join('')}#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\t${sampleNames.join('\t')}\n${goodLine}1\t2\t.\tA\tT\t.\t.\t.\t${format}\t${values}\n${goodLine}`,
  );
  const { rows, notes } = await readWholeFile(path, 'vcf');
  expect(notes).toMatchObject([{ level: 'reject', line: formatKeys.length + 4, code, field }]);
  const calls = ['0/1', '0', '1', '2'].map((GT, i) => ({ name: sampleNames[i], GT, DP: i + 3 }));
  const expectedSamples = [...calls, { name: sampleNames[4] }];
  expect(rows.map((row) => row.sample)).toEqual([expectedSamples, expectedSamples]);
});
