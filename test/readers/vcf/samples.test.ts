import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { random as seeded } from '../../random.js';
import { readAll } from '../read-all.js';
import { seed } from '../../seed.js';

const folder = mkdtempSync(join(tmpdir(), 'strandlake-samples-'));
afterAll(() => rmSync(folder, { recursive: true }));

const names = ['S1', 'Zoë', 'a b', '__proto__', 'S5'];
const keys = [
  ['GT', '1', 'String'],
  ['DP', '1', 'Integer'],
  ['AD', 'R', 'Integer'],
  ['GQ', '1', 'Float'],
  ['GL', 'G', 'Float'],
  ['FT', '1', 'String'],
  ['TX', '.', 'String'],
] as const;
/** A key without a declaration, whose values are texts. */
const undeclaredKey = ['XX', '1', 'String'] as const;

/** Texts of a value that are all well-formed, plain ones and others. */
const texts: Readonly<Record<string, readonly string[]>> = {
  GT: ['0/1', '0|0', './.', '.', '1', '0/1/2', '|0|1', '10/11', '', '.|1'],
  Integer: ['0', '7', '123456789', '-3', '+5', '2147483647', '.', '', '0012'],
  Float: ['0', '1.5', '-0.25', '.5', '5.', '1e-5', '12345678901234567890', '.', '', '-2e3', 'nan'],
  String: ['PASS', 'q10;s50', '.', '', 'x'.repeat(1500), 'a=b', '%3A%2C', 'é', '-'],
};

/** The value of a text, read in the simplest way. */
function valueOf(type: string, text: string): unknown {
  if (text === '' || text === '.' || (type === 'Float' && text === 'nan')) return null;
  return type === 'String' ? text.replaceAll('%3A', ':').replaceAll('%2C', ',') : Number(text);
}

test(`samples of any layout equal a split of the text (seed ${seed})`, async () => {
  const random = seeded(seed);
  const randomBelow = (limit: number): number => Math.floor(random() * limit);
  const pick = <T>(list: readonly T[]): T => list[randomBelow(list.length)]!;
  for (let round = 0; round < 20; round++) {
    // In some rounds most values are plain, so that lines take the fast path until an odd value comes.
    const oddShare = pick([0, 0.01, 0.5]);
    const expectedCalls: unknown[] = [];
    let lines = '';
    for (let line = 0; line < 40; line++) {
      const layout = [...keys, undeclaredKey].filter(() => random() < 0.6);
      if (layout.length === 0) layout.push(keys[0]);
      const list: Record<string, unknown>[] = [];
      const columns = names.map((name) => {
        const found: Record<string, unknown> = Object.fromEntries([['name', name]]);
        const parts = layout.map(([key, number, type]) => {
          const all = key === 'GT' ? texts.GT! : texts[type]!;
          const randomText = (): string => (random() < oddShare ? pick(all) : all[randomBelow(2)]!);
          const items =
            number === '1'
              ? [randomText()]
              : Array.from({ length: 1 + randomBelow(3) }, randomText);
          const text = items.join(',');
          if (number === '1') found[key] = valueOf(key === 'GT' ? 'String' : type, text);
          else
            found[key] =
              text === '.' || text === '' ? null : items.map((item) => valueOf(type, item));
          return text;
        });
        const keptParts = random() < 0.2 ? 1 + randomBelow(parts.length) : parts.length;
        for (const [key] of layout.slice(keptParts)) found[key] = null;
        if (parts.slice(0, keptParts).join(':') === '') parts[0] = '.';
        if (parts[0] === '.') found[layout[0]![0]] = null;
        list.push(Object.fromEntries(Object.entries(found).filter(([, value]) => value !== null)));
        return parts.slice(0, keptParts).join(':');
      });
      lines += `1\t${line + 1}\t.\tA\tT\t.\t.\t.\t${layout.map(([key]) => key).join(':')}\t${columns.join('\t')}\n`;
      expectedCalls.push(list);
    }
    const head = keys.map(
      ([id, number, type]) => `##FORMAT=<ID=${id},Number=${number},Type=${type},Description="x">\n`,
    );
    const path = join(folder, 'samples.vcf');
    writeFileSync(
      path,
      `##fileformat=VCFv4.3\n${head.join('')}#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\t${names.join('\t')}\n${lines}`,
    );
    const { rows, notes } = await readAll(path, 'vcf', { targetBytes: 200 + randomBelow(20_000) });
    expect(notes.every(({ level, code }) => level === 'warn' && code === 304)).toBe(true);
    expect(rows.map((row) => row.sample)).toEqual(expectedCalls);
  }
});

const faults: readonly (readonly [string, string, number, string | null])[] = [
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

test.each(faults)('%s %j rejects its line alone', async (format, values, code, field) => {
  const head = keys.map(
    ([id, number, type]) => `##FORMAT=<ID=${id},Number=${number},Type=${type},Description="x">\n`,
  );
  const path = join(folder, 'fault.vcf');
  const goodLine = '1\t1\t.\tA\tT\t.\t.\t.\tGT:DP\t0/1:3\t0:4\t1:5\t2:6\t.:.\n';
  writeFileSync(
    path,
    `##fileformat=VCFv4.3\n${head.join('')}#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\t${names.join('\t')}\n${goodLine}1\t2\t.\tA\tT\t.\t.\t.\t${format}\t${values}\n${goodLine}`,
  );
  const { rows, notes } = await readAll(path, 'vcf');
  expect(notes).toMatchObject([{ level: 'reject', line: keys.length + 4, code, field }]);
  const calls = ['0/1', '0', '1', '2'].map((GT, i) => ({ name: names[i], GT, DP: i + 3 }));
  const expectedSamples = [...calls, { name: names[4] }];
  expect(rows.map((row) => row.sample)).toEqual([expectedSamples, expectedSamples]);
});
