import { describe, expect, test } from '@jest/globals';
import { FindingCollector } from '../../../engine/ingest/findings.js';
import { RecordLines } from '../../../engine/ingest/record-texts.js';
import {
  ErrorsByLine,
  RecordErrors,
  RejectedLines,
  shiftedLine,
  type RejectedRecord,
} from '../../../engine/ingest/rejected-lines.js';
import { seededRandom } from '../../random.js';
import { seed } from '../../seed.js';

const lenientParams = {
  disable: false,
  raiseOnErrors: false,
  strict: false,
  allowNewFields: false,
};
const textLimits = { maxBytes: 1 << 20, maxTextBytes: 100 };

/** Returns the rejected rows that were kept, read by another parser. */
function parseRejectedRows(rejected: RejectedLines): readonly Record<string, unknown>[] {
  const text = Buffer.concat(rejected.result().blocks).toString();
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

function rejectedLinesOf(
  text: string | Uint8Array,
  endsAtReturn = false,
  some: Partial<typeof textLimits> = {},
) {
  return new RejectedLines(new RecordLines(Buffer.from(text), endsAtReturn), {
    ...textLimits,
    ...some,
  });
}

describe('rejected lines', () => {
  test('have their reasons and their text, all errors of a record in one line', () => {
    const rejected = rejectedLinesOf('a\nbb\r\n\nlast');
    rejected.add(2, 301, 'n', 'no number');
    rejected.add(2, 304, 'm', 'NaN');
    rejected.add(3, 0, null, 'empty');
    rejected.add(4, 0, null, 'cut');
    expect(parseRejectedRows(rejected)).toEqual([
      {
        line: 2,
        code: 301,
        field: 'n',
        message: 'no number',
        errors: 2,
        more: [{ code: 304, field: 'm', message: 'NaN' }],
        text: 'bb',
        text_bytes: 2,
      },
      expect.objectContaining({ line: 3, field: null, errors: 1, more: [], text: '' }),
      expect.objectContaining({ line: 4, text: 'last', text_bytes: 4 }),
    ]);
  });

  test('T0: are found in a time that grows with the text, whichever line ends it has', () => {
    const count = 200_000;
    const rejected = rejectedLinesOf('record\r'.repeat(count), true);
    rejected.add(count, 0, null, 'last');
    expect(parseRejectedRows(rejected)).toMatchObject([{ line: count, text: 'record' }]);
  });

  test('are found by the line ends that the reader counts', () => {
    const text = 'a\rb\r\nc\nd';
    const [feeds, returns] = [rejectedLinesOf(text), rejectedLinesOf(text, true)];
    for (const rejected of [feeds, returns])
      for (let line = 1; line <= 4; line++) rejected.add(line, 0, null, 'no');
    expect(parseRejectedRows(feeds).map((row) => row['text'])).toEqual(['a\rb', 'c', 'd', '']);
    expect(parseRejectedRows(returns).map((row) => row['text'])).toEqual(['a', 'b', 'c', 'd']);
  });

  test('are truncated at the budget rejectedTextBytes, between two characters (T0)', () => {
    const rejected = rejectedLinesOf('xäöü\n', false, { maxTextBytes: 4 });
    rejected.add(1, 0, null, 'long');
    expect(parseRejectedRows(rejected)).toMatchObject([{ text: 'xä', text_bytes: 7 }]);
  });

  test('that are not UTF-8 are shown with replacement characters', () => {
    const rejected = rejectedLinesOf(Uint8Array.of(0xff, 65, 10));
    rejected.add(1, 0, null, 'bytes');
    expect(parseRejectedRows(rejected)).toMatchObject([{ text: '\ufffdA', text_bytes: 2 }]);
  });

  test('are left out from the first one that exceeds the budget', () => {
    const text = `a\n${'b'.repeat(80)}\nc\n`;
    const all = rejectedLinesOf(text);
    const bytes = all.add(1, 0, null, 'x') ?? Buffer.concat(all.result().blocks).length;
    const rejected = rejectedLinesOf(text, false, { maxBytes: 3 * bytes });
    for (const line of [1, 2, 3]) rejected.add(line, 0, null, line === 2 ? 'x'.repeat(300) : 'x');
    expect(parseRejectedRows(rejected)).toMatchObject([{ line: 1 }]);
  });

  test('are discarded when the chunk is read again', () => {
    const rejected = rejectedLinesOf('a\nb\n');
    const report = new FindingCollector(lenientParams, false, rejected);
    report.reject(1, 301, 'n', 'no');
    report.restart();
    report.reject(2, 301, 'n', 'no');
    expect(parseRejectedRows(rejected)).toMatchObject([{ line: 2, text: 'b' }]);
  });

  test('of random text are the lines of a split', () => {
    const next = seededRandom(seed);
    for (let run = 0; run < 200; run++) {
      const text = Array.from({ length: 30 }, () => 'ab\n\r'[Math.floor(next() * 4)]).join('');
      const isAny = next() < 0.5;
      const wanted = text
        .split(isAny ? /\r\n|\n|\r/ : '\n')
        .map((line) => (isAny ? line : line.replace(/\r$/, '')));
      const rejected = rejectedLinesOf(text, isAny);
      const asked = wanted.map((_, i) => i + 1).filter(() => next() < 0.6);
      for (const line of asked) rejected.add(line, 0, null, 'no');
      const got = parseRejectedRows(rejected).map(({ line, text: own }) => [line, own]);
      // If the text ends with a carriage return without a line feed, the carriage return belongs to the last line.
      expect([seed, got]).toEqual([seed, asked.map((line) => [line, wanted[line - 1]])]);
    }
  });
});

describe('further rejected records', () => {
  const lines = [2, 4, 4, 7];
  const newErrors = (): ErrorsByLine => {
    const errors = new ErrorsByLine();
    for (const line of [6, 4, 1]) errors.add(line, 304, 'n', 'NaN');
    return errors;
  };
  const keyErrors = new RecordErrors();
  keyErrors.add(301, 'key', 'no value');
  let takenCount = 0;
  function* takeRecords(): Generator<RejectedRecord> {
    takenCount = 0;
    for (const line of lines) {
      takenCount++;
      yield [line, keyErrors];
    }
  }

  test('are taken one by one, and written among the others in the order of the lines', () => {
    const takenAtLine: (readonly [line: number, taken: number])[] = [];
    const textOf = (line: number) => {
      takenAtLine.push([line, takenCount]);
      return { text: '', bytes: 0 };
    };
    const rejected = new RejectedLines({ textOf }, textLimits);
    newErrors().addTo(rejected, takeRecords());
    expect(takenAtLine).toEqual([
      [1, 1],
      [2, 1],
      [4, 2],
      [4, 2],
      [4, 3],
      [6, 4],
      [7, 4],
    ]);
    const written = parseRejectedRows(rejected).map(({ line, field }) => [line, field]);
    expect(written).toEqual([[1, 'n'], [2, 'key'], [4, 'n'], [4, 'key'], [4, 'key'], [6, 'n'], [7, 'key']]); // prettier-ignore
  });

  test('are not taken once no further record fits', () => {
    const rejected = rejectedLinesOf('', false, { maxBytes: 1 });
    newErrors().addTo(rejected, takeRecords());
    expect([takenCount, parseRejectedRows(rejected)]).toEqual([2, []]);
  });
});

test('line numbers of the chunk become those of the file', () => {
  const row = Buffer.from('{"line":7,"code":301,"text":"{\\"line\\":7"}\n');
  expect(JSON.parse(Buffer.from(shiftedLine(row, 'a "b".csv', 1_000)).toString())).toEqual({
    file: 'a "b".csv',
    line: 1_007,
    code: 301,
    text: '{"line":7',
  });
});
