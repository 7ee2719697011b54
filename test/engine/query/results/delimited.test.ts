import { expect, test } from '@jest/globals';
import { ByteSink } from '../../../../engine/parquet/byte-sink.js';
import { delimitedCell, quoteWrittenCell } from '../../../../engine/query/results/delimited.js';
import { Random } from '../random.js';

const seed = Number(process.env['STRANDLAKE_SEED'] ?? 20_261_122);

test('quotes what a reader would split, and marks what a spreadsheet would evaluate', () => {
  const cells = [null, '', 'a b', 'a,b', 'a"b', 'a\nb', '=1+1', '-5', '+1e3', '-A1'];
  expect(cells.map((cell) => delimitedCell(cell, true, ','))).toEqual([
    '',
    '""',
    'a b',
    '"a,b"',
    '"a""b"',
    '"a\nb"',
    "'=1+1",
    '-5',
    '+1e3',
    "'-A1",
  ]);
});

test(`cells of bytes are written as cells of strings (STRANDLAKE_SEED=${seed})`, () => {
  const random = new Random(seed);
  const letters = [...'=+-@\t\r\n,;"\'ab1.é😀'];
  for (let i = 0; i < 5_000; i++) {
    const text = random.list(random.integerBelow(6), () => random.pick(letters)).join('');
    const isFormulaSafe = random.chance(0.5);
    for (const delimiter of [',', '\t'] as const) {
      const out = new ByteSink(1);
      out.append(Buffer.from(`before${text}`));
      quoteWrittenCell(out, 'before'.length, { delimiter, lineEnd: '\n', isFormulaSafe });
      const writtenText = Buffer.from(out.writtenBytes()).toString();
      out.release();
      expect([text, writtenText]).toEqual([
        text,
        `before${delimitedCell(text, isFormulaSafe, delimiter)}`,
      ]);
    }
  }
});
