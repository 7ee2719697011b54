import { expect, test } from '@jest/globals';
import { makeData, makeVector, Utf8, vectorFromArray, type Data } from 'apache-arrow';
import { interleaveColumns, takeRows } from '../../../engine/change/interleave.js';
import { seed } from '../../seed.js';
import { random } from '../store/random.js';

/** Returns null, or a text of 0 to 99 characters, most often of fewer than 10. */
function randomText(next: () => number): string | null {
  const lengthLimit = next() < 0.5 ? 10 : 100;
  const length = Math.floor(next() * lengthLimit);
  return next() < 0.1
    ? null
    : Array.from({ length }, () => 'acgtµ'[Math.floor(next() * 5)]).join('');
}

/** Returns a column of texts in which null values have bytes, too. */
function textColumn(texts: readonly (string | null)[]): Data {
  const { data } = vectorFromArray(texts.map((text) => text ?? 'hidden'), new Utf8()); // prettier-ignore
  const nullBitmap = new Uint8Array((texts.length + 7) >> 3);
  for (const [i, text] of texts.entries()) if (text !== null) nullBitmap[i >> 3]! |= 1 << (i & 7);
  const { valueOffsets, values } = data[0]!;
  const nullCount = texts.filter((text) => text === null).length;
  return makeData({ type: new Utf8(), length: texts.length, nullCount, nullBitmap, valueOffsets, data: values }); // prettier-ignore
}

const textsOf = (column: Data): unknown[] => makeVector(column as Data<Utf8>).toArray() as unknown as unknown[]; // prettier-ignore

test(`texts are taken in any order, repeatedly and in runs (STRANDLAKE_SEED=${seed})`, () => {
  const next = random(seed);
  const randomBelow = (count: number): number => Math.floor(next() * count);
  for (let round = 0; round < 50; round++) {
    const sources = [1, 2].map(() =>
      Array.from({ length: 1 + randomBelow(60) }, () => randomText(next)),
    );
    const columns = sources.map(textColumn);
    const from: number[] = [];
    const rows: number[] = [];
    while (rows.length < 80) {
      const source = randomBelow(2);
      const { length } = sources[source]!;
      let row = randomBelow(length + 1) - 1;
      for (let run = 1 + randomBelow(next() < 0.5 ? 1 : 20); run > 0 && row < length; run--) {
        from.push(source);
        rows.push(row);
        if (row < 0) break; // row -1 stands for null
        row++;
      }
    }
    const picks = { from: Uint8Array.from(from), rows: Int32Array.from(rows) };
    const expected = rows.map((row, i) => sources[from[i]!]![row] ?? null);
    expect([...textsOf(interleaveColumns(columns, picks))]).toEqual(expected);
    const rowsToTake = Int32Array.from({ length: 70 }, () => randomBelow(sources[0]!.length));
    const takenTexts = [...textsOf(takeRows(columns[0]!, rowsToTake))];
    expect(takenTexts).toEqual([...rowsToTake].map((row) => sources[0]![row]));
  }
});
