import { expect, test } from '@jest/globals';
import { gunzipSync } from 'node:zlib';
import { bgzfBlock, bgzfEofBlock } from '../../benchmarks/bgzf.js';
import { infoKeys, vcfLines } from '../../benchmarks/data.js';
import { markdownTable, median } from '../../benchmarks/table.js';

const vcfText = [...vcfLines(5_000)].join('');
const recordLines = vcfText.split('\n').filter((line) => line !== '' && !line.startsWith('#'));

test('writes as many records as asked for, the same each time', () => {
  expect(recordLines).toHaveLength(5_000);
  expect([...vcfLines(5_000)].join('')).toBe(vcfText);
});

test('is sorted by contig and position', () => {
  const contigs = [...vcfText.matchAll(/##contig=<ID=(\w+)/g)].map(([, name]) => name);
  const keys = recordLines.map((line) => {
    const [contig, position] = line.split('\t');
    return contigs.indexOf(contig) * 1e9 + Number(position);
  });
  expect(keys.every((key) => key >= 0)).toBe(true);
  expect(keys).toEqual([...keys].sort((a, b) => a - b));
});

test('has at least ten INFO keys, of every type, with lists and keys that most records lack', () => {
  expect(infoKeys.length).toBeGreaterThanOrEqual(10);
  expect(new Set(infoKeys.map(({ type }) => type)).size).toBe(4);
  expect(new Set(infoKeys.map(({ number }) => number))).toEqual(new Set(['0', '1', 'A', 'R', '.']));
  const shareOfRecordsWith = (key: string): number =>
    recordLines.filter((line) => new RegExp(`[\t;]${key}[=;\n]|;${key}$`).test(line)).length /
    5_000;
  for (const { id } of infoKeys) expect(shareOfRecordsWith(id)).toBeGreaterThan(0.01);
  expect(shareOfRecordsWith('SCORE')).toBeLessThan(0.1);
  expect(shareOfRecordsWith('GENE')).toBe(1);
});

test('block gzip is gzip, block by block', () => {
  const blocks = ['first\n', 'second\n'].map((text) => bgzfBlock(Buffer.from(text)));
  const file = Buffer.concat([...blocks, bgzfEofBlock]);
  expect(gunzipSync(file).toString()).toBe('first\nsecond\n');
  expect(file.readUInt16LE(16) + 1).toBe(blocks[0]?.byteLength);
  // The BGZF end block, as the BGZF specification prints it.
  expect(Buffer.from(bgzfEofBlock).toString('hex')).toBe(
    '1f8b08040000000000ff0600424302001b0003000000000000000000',
  );
});

test('a median is a value that was measured, and a missed limit is shown as one', () => {
  expect(median([3, 1, 2])).toBe(2);
  expect(median([4, 1, 2, 3])).toBe(2);
  const line = { measurement: 'q', ours: '2 s', peer: '1 s', ratio: 2, limit: 1 };
  expect(markdownTable([line])).toContain('| q | 2 s | 1 s | 2.00 | 1 | missed |');
});
