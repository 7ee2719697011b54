import { expect, test } from '@jest/globals';
import { outstandingBuffers } from '../../../../engine/core/buffers.js';
import { ByteSink } from '../../../../engine/parquet/byte-sink.js';
import { fixedText, newCellTexts, type CellTexts } from '../../../../engine/query/results/cell-texts.js'; // prettier-ignore
import { LineWriter, type BlockTexts } from '../../../../engine/query/results/line-writer.js';

const cellCount = 3;

/** Blocks of records whose cells have their texts in the block, in dictionaries and in a page. */
class Blocks {
  readonly texts: BlockTexts = { block: new ByteSink(16), kept: new ByteSink(16) };
  readonly cells: readonly CellTexts[];
  readonly out = new ByteSink(16);
  readonly ends: number[] = [];
  expected = '';
  readonly #writer: LineWriter;
  readonly #expectedEnds: number[] = [];

  constructor(most: number) {
    this.cells = Array.from({ length: cellCount }, () => newCellTexts(most));
    const before = ['{"α":', ',"b":', ','].map(fixedText);
    const lines = { before, none: fixedText('null'), close: fixedText('}\r\n') };
    this.#writer = new LineWriter(lines, this.cells, most, this.ends);
  }

  /** Writes a block; `page` is the one of the last cell. */
  write(records: readonly (readonly (string | null)[])[], page: string): void {
    const { block, kept } = this.texts;
    block.end = 0;
    const bytes = Buffer.from(page);
    for (const [i, values] of records.entries()) {
      for (const [cell, value] of values.entries()) {
        const { begins, ends } = this.cells[cell]!;
        const text = Buffer.from(value ?? '');
        const sink = cell === 0 ? block : kept;
        begins[i] = value === null ? -1 : cell === 2 ? bytes.indexOf(text) : sink.end;
        ends[i] = begins[i]! + text.length;
        if (value !== null && cell < 2) sink.append(text);
      }
      const [a, b, c] = values.map((value) => value ?? 'null');
      const line = `{"α":${a},"b":${b},${c}}\r\n`;
      this.expected += line;
      this.#expectedEnds.push((this.#expectedEnds.at(-1) ?? 0) + Buffer.byteLength(line));
    }
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    for (const [i, cell] of this.cells.entries()) cell.view = [block.view, kept.view, view][i]!;
    this.#writer.write(this.out, this.texts, records.length);
  }

  check(): void {
    const written = Buffer.from(this.out.written()).toString();
    expect(written === this.expected).toBe(true);
    expect(this.ends).toEqual(this.#expectedEnds);
    for (const sink of [this.out, this.texts.block, this.texts.kept]) sink.release();
  }
}

const records = (length: number, size: number, longest = 0): (string | null)[][] =>
  Array.from({ length }, (_, i) => [
    i % 3 === 0 ? null : `${i}`.padEnd((i * 7) % 40, 'ü'),
    i === 41 && longest > 0 ? 'l'.repeat(longest) : i % 5 === 0 ? null : 'k'.repeat((i * 11) % size), // prettier-ignore
    i % 7 === 0 ? null : `ab`.slice(0, i % 3),
  ]);

const someLetters = 'xxabyy';
const cases: Readonly<Record<string, readonly (readonly [(string | null)[][], string])[]>> = {
  'few records': [
    [records(1, 30), someLetters],
    [records(63, 30), someLetters],
  ],
  'many records': [64, 100, 1024, 1, 1024].map((length) => [records(length, 40), someLetters]),
  'more output than is put together at once': [
    [records(1024, 4000), someLetters],
    [records(900, 40), someLetters],
  ],
  'a line longer than that': [
    [records(70, 30), someLetters],
    [records(80, 30, 600_000), someLetters],
    [records(80, 30), someLetters],
  ],
  'a page that does not fit into the memory of the kernel': [
    [records(70, 30), 'x'.repeat(17 << 20) + someLetters],
    [records(90, 30), someLetters],
  ],
};

test.each(Object.entries(cases))('puts lines together: %s', (_, blocks) => {
  const written = new Blocks(1024);
  for (const [block, page] of blocks) written.write(block, page);
  written.check();
});

test('places texts anew when more pages are read than fit, and when another writer has used the memory', () => {
  const before = outstandingBuffers();
  const [one, other] = [new Blocks(200), new Blocks(80)];
  for (let i = 0; i < 12; i++) {
    one.write(records(200, 30), `${'-'.repeat(2_000_000)}ab${i}`);
    if (i % 4 === 1) other.write(records(80, 50), `ab${i}`);
  }
  one.check();
  other.check();
  expect(outstandingBuffers()).toBe(before);
});

test('a cell without values may still name the texts of a block before the buffer grew', () => {
  const texts = { block: new ByteSink(16), kept: new ByteSink(16) };
  const cells = [newCellTexts(64), newCellTexts(64)];
  const out = new ByteSink(16);
  const lines = { before: [fixedText('a'), fixedText('b')], none: fixedText('-'), close: fixedText('\n') }; // prettier-ignore
  const writer = new LineWriter(lines, cells, 64);
  let expected = '';
  const write = (...sizes: readonly (number | null)[]): void => {
    texts.block.end = 0;
    for (let i = 0; i < 64; i++) {
      for (const [cell, size] of sizes.entries()) {
        const value = size === null ? '' : `${i}`.padEnd(size, 'xy');
        cells[cell]!.begins[i] = size === null ? -1 : texts.block.end;
        texts.block.append(Buffer.from(value));
        cells[cell]!.ends[i] = texts.block.end;
        expected += `${'ab'[cell]}${size === null ? '-' : value}`;
      }
      expected += '\n';
    }
    for (const [cell, size] of sizes.entries())
      if (size !== null) cells[cell]!.view = texts.block.view;
    writer.write(out, texts, 64);
  };
  write(10, 11);
  const { view, end } = texts.block;
  expect(view.byteLength).toBeGreaterThan(end);
  write(Math.ceil(view.byteLength / 64) + 1, null);
  expect([texts.block.view === view, cells[1]!.view === view]).toEqual([false, true]);
  expect(Buffer.from(out.written()).toString() === expected).toBe(true);
  for (const sink of [out, texts.block, texts.kept]) sink.release();
});
