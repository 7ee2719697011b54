import { expect, test } from '@jest/globals';
import { dataViewOf, outstandingBufferCount } from '../../../../engine/core/buffers.js';
import { ByteSink } from '../../../../engine/parquet/byte-sink.js';
import { fixedText, newCellTexts, type CellTexts } from '../../../../engine/query/results/cell-texts.js'; // prettier-ignore
import { LineWriter, type BlockTexts } from '../../../../engine/query/results/line-writer.js';

const cellCount = 3;

/**
 * Writes blocks of records by a `LineWriter`, and compares the written lines with the expected ones. The texts of the first cell of each
 * record are in `blockTexts.block`, those of the second cell in `blockTexts.dictionaryTexts`, and those of the third cell in a page.
 */
class LineWriterBlocks {
  readonly blockTexts: BlockTexts = { block: new ByteSink(16), dictionaryTexts: new ByteSink(16) };
  readonly cellTexts: readonly CellTexts[];
  readonly outputSink = new ByteSink(16);
  readonly lineEnds: number[] = [];
  expectedText = '';
  readonly #writer: LineWriter;
  readonly #expectedEnds: number[] = [];

  constructor(maxRecords: number) {
    this.cellTexts = Array.from({ length: cellCount }, () => newCellTexts(maxRecords));
    const before = ['{"α":', ',"b":', ','].map(fixedText);
    const lines = { before, none: fixedText('null'), close: fixedText('}\r\n') };
    this.#writer = new LineWriter(lines, this.cellTexts, maxRecords, this.lineEnds);
  }

  /** Writes a block of records; `page` is the page that contains the texts of the last cell. */
  writeBlock(records: readonly (readonly (string | null)[])[], page: string): void {
    const { block, dictionaryTexts } = this.blockTexts;
    block.endOffset = 0;
    const bytes = Buffer.from(page);
    for (const [i, values] of records.entries()) {
      for (const [cell, value] of values.entries()) {
        const { startOffsets, ends } = this.cellTexts[cell]!;
        const text = Buffer.from(value ?? '');
        const sink = cell === 0 ? block : dictionaryTexts;
        startOffsets[i] = value === null ? -1 : cell === 2 ? bytes.indexOf(text) : sink.endOffset;
        ends[i] = startOffsets[i]! + text.length;
        if (value !== null && cell < 2) sink.append(text);
      }
      const [a, b, c] = values.map((value) => value ?? 'null');
      const line = `{"α":${a},"b":${b},${c}}\r\n`;
      this.expectedText += line;
      this.#expectedEnds.push((this.#expectedEnds.at(-1) ?? 0) + Buffer.byteLength(line));
    }
    const view = dataViewOf(bytes);
    for (const [i, cell] of this.cellTexts.entries())
      cell.view = [block.view, dictionaryTexts.view, view][i]!;
    this.#writer.write(this.outputSink, this.blockTexts, records.length);
  }

  expectWrittenText(): void {
    const writtenText = Buffer.from(this.outputSink.writtenBytes()).toString();
    expect(writtenText === this.expectedText).toBe(true);
    expect(this.lineEnds).toEqual(this.#expectedEnds);
    for (const sink of [this.outputSink, this.blockTexts.block, this.blockTexts.dictionaryTexts])
      sink.release();
  }
}

const recordCells = (length: number, size: number, longest = 0): (string | null)[][] =>
  Array.from({ length }, (_, i) => [
    i % 3 === 0 ? null : `${i}`.padEnd((i * 7) % 40, 'ü'),
    i === 41 && longest > 0 ? 'l'.repeat(longest) : i % 5 === 0 ? null : 'k'.repeat((i * 11) % size), // prettier-ignore
    i % 7 === 0 ? null : `ab`.slice(0, i % 3),
  ]);

const pageText = 'xxabyy';
const blockCases: Readonly<Record<string, readonly (readonly [(string | null)[][], string])[]>> = {
  'few records': [
    [recordCells(1, 30), pageText],
    [recordCells(63, 30), pageText],
  ],
  'many records': [64, 100, 1024, 1, 1024].map((length) => [recordCells(length, 40), pageText]),
  'more output than is put together at once': [
    [recordCells(1024, 4000), pageText],
    [recordCells(900, 40), pageText],
  ],
  'a line longer than that': [
    [recordCells(70, 30), pageText],
    [recordCells(80, 30, 600_000), pageText],
    [recordCells(80, 30), pageText],
  ],
  'a page that does not fit into the memory of the kernel': [
    [recordCells(70, 30), 'x'.repeat(17 << 20) + pageText],
    [recordCells(90, 30), pageText],
  ],
};

test.each(Object.entries(blockCases))('puts lines together: %s', (_, blocks) => {
  const writtenBlocks = new LineWriterBlocks(1024);
  for (const [block, page] of blocks) writtenBlocks.writeBlock(block, page);
  writtenBlocks.expectWrittenText();
});

test('places texts anew when more pages are read than fit, and when another writer has used the memory', () => {
  const countBefore = outstandingBufferCount();
  const [firstBlocks, secondBlocks] = [new LineWriterBlocks(200), new LineWriterBlocks(80)];
  for (let i = 0; i < 12; i++) {
    firstBlocks.writeBlock(recordCells(200, 30), `${'-'.repeat(2_000_000)}ab${i}`);
    if (i % 4 === 1) secondBlocks.writeBlock(recordCells(80, 50), `ab${i}`);
  }
  firstBlocks.expectWrittenText();
  secondBlocks.expectWrittenText();
  expect(outstandingBufferCount()).toBe(countBefore);
});

test('a cell without values may still name the texts of a block before the buffer grew', () => {
  const texts = { block: new ByteSink(16), dictionaryTexts: new ByteSink(16) };
  const cells = [newCellTexts(64), newCellTexts(64)];
  const out = new ByteSink(16);
  const lines = { before: [fixedText('a'), fixedText('b')], none: fixedText('-'), close: fixedText('\n') }; // prettier-ignore
  const writer = new LineWriter(lines, cells, 64);
  let expected = '';
  const write = (...sizes: readonly (number | null)[]): void => {
    texts.block.endOffset = 0;
    for (let i = 0; i < 64; i++) {
      for (const [cell, size] of sizes.entries()) {
        const value = size === null ? '' : `${i}`.padEnd(size, 'xy');
        cells[cell]!.startOffsets[i] = size === null ? -1 : texts.block.endOffset;
        texts.block.append(Buffer.from(value));
        cells[cell]!.ends[i] = texts.block.endOffset;
        expected += `${'ab'[cell]}${size === null ? '-' : value}`;
      }
      expected += '\n';
    }
    for (const [cell, size] of sizes.entries())
      if (size !== null) cells[cell]!.view = texts.block.view;
    writer.write(out, texts, 64);
  };
  write(10, 11);
  const { view, endOffset } = texts.block;
  expect(view.byteLength).toBeGreaterThan(endOffset);
  write(Math.ceil(view.byteLength / 64) + 1, null);
  expect([texts.block.view === view, cells[1]!.view === view]).toEqual([false, true]);
  expect(Buffer.from(out.writtenBytes()).toString() === expected).toBe(true);
  for (const sink of [out, texts.block, texts.dictionaryTexts]) sink.release();
});
