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

/** Returns the rejected records that were kept, read by another parser. */
function parseRejectedRows(rejectedLines: RejectedLines): readonly Record<string, unknown>[] {
  const text = Buffer.concat(rejectedLines.result().blocks).toString();
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

function rejectedLinesOf(
  text: string | Uint8Array,
  endsAtReturn = false,
  limits: Partial<typeof textLimits> = {},
) {
  return new RejectedLines(new RecordLines(Buffer.from(text), endsAtReturn), {
    ...textLimits,
    ...limits,
  });
}

describe('rejected lines', () => {
  test('have their reasons and their text, all errors of a record in one line', () => {
    const rejectedLines = rejectedLinesOf('a\nbb\r\n\nlast');
    rejectedLines.add(2, 301, 'n', 'no number');
    rejectedLines.add(2, 304, 'm', 'NaN');
    rejectedLines.add(3, 0, null, 'empty');
    rejectedLines.add(4, 0, null, 'cut');
    expect(parseRejectedRows(rejectedLines)).toEqual([
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
    const rejectedLines = rejectedLinesOf('record\r'.repeat(count), true);
    rejectedLines.add(count, 0, null, 'last');
    expect(parseRejectedRows(rejectedLines)).toMatchObject([{ line: count, text: 'record' }]);
  });

  test('are found by the line ends that the reader counts', () => {
    const text = 'a\rb\r\nc\nd';
    const [linesByFeed, linesByReturn] = [rejectedLinesOf(text), rejectedLinesOf(text, true)];
    for (const rejectedLines of [linesByFeed, linesByReturn])
      for (let line = 1; line <= 4; line++) rejectedLines.add(line, 0, null, 'no');
    expect(parseRejectedRows(linesByFeed).map((row) => row['text'])).toEqual([
      'a\rb',
      'c',
      'd',
      '',
    ]);
    expect(parseRejectedRows(linesByReturn).map((row) => row['text'])).toEqual([
      'a',
      'b',
      'c',
      'd',
    ]);
  });

  test('are truncated at the budget rejectedTextBytes, between two characters (T0)', () => {
    const rejectedLines = rejectedLinesOf('xäöü\n', false, { maxTextBytes: 4 });
    rejectedLines.add(1, 0, null, 'long');
    expect(parseRejectedRows(rejectedLines)).toMatchObject([{ text: 'xä', text_bytes: 7 }]);
  });

  test('that are not UTF-8 are shown with replacement characters', () => {
    const rejectedLines = rejectedLinesOf(Uint8Array.of(0xff, 65, 10));
    rejectedLines.add(1, 0, null, 'bytes');
    expect(parseRejectedRows(rejectedLines)).toMatchObject([{ text: '\ufffdA', text_bytes: 2 }]);
  });

  test('are left out from the first one that exceeds the budget', () => {
    const text = `a\n${'b'.repeat(80)}\nc\n`;
    const unlimitedLines = rejectedLinesOf(text);
    const bytes =
      unlimitedLines.add(1, 0, null, 'x') ?? Buffer.concat(unlimitedLines.result().blocks).length;
    const rejectedLines = rejectedLinesOf(text, false, { maxBytes: 3 * bytes });
    for (const line of [1, 2, 3])
      rejectedLines.add(line, 0, null, line === 2 ? 'x'.repeat(300) : 'x');
    expect(parseRejectedRows(rejectedLines)).toMatchObject([{ line: 1 }]);
  });

  test('are discarded when the chunk is read again', () => {
    const rejectedLines = rejectedLinesOf('a\nb\n');
    const report = new FindingCollector(lenientParams, false, rejectedLines);
    report.reject(1, 301, 'n', 'no');
    report.restart();
    report.reject(2, 301, 'n', 'no');
    expect(parseRejectedRows(rejectedLines)).toMatchObject([{ line: 2, text: 'b' }]);
  });

  test('of random text are the lines of a split', () => {
    const next = seededRandom(seed);
    for (let run = 0; run < 200; run++) {
      const text = Array.from({ length: 30 }, () => 'ab\n\r'[Math.floor(next() * 4)]).join('');
      const endsAtReturn = next() < 0.5;
      const expectedLines = text
        .split(endsAtReturn ? /\r\n|\n|\r/ : '\n')
        .map((line) => (endsAtReturn ? line : line.replace(/\r$/, '')));
      const rejectedLines = rejectedLinesOf(text, endsAtReturn);
      const rejectedNumbers = expectedLines.map((_, i) => i + 1).filter(() => next() < 0.6);
      for (const line of rejectedNumbers) rejectedLines.add(line, 0, null, 'no');
      const keptLines = parseRejectedRows(rejectedLines).map(({ line, text: own }) => [line, own]);
      // A carriage return at the end of the text is not part of the last line.
      expect([seed, keptLines]).toEqual([
        seed,
        rejectedNumbers.map((line) => [line, expectedLines[line - 1]]),
      ]);
    }
  });
});

describe('further rejected records', () => {
  const lines = [2, 4, 4, 7];
  const createErrors = (): ErrorsByLine => {
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
    const rejectedLines = new RejectedLines({ textOf }, textLimits);
    createErrors().addTo(rejectedLines, takeRecords());
    expect(takenAtLine).toEqual([
      [1, 1],
      [2, 1],
      [4, 2],
      [4, 2],
      [4, 3],
      [6, 4],
      [7, 4],
    ]);
    const writtenRows = parseRejectedRows(rejectedLines).map(({ line, field }) => [line, field]);
    expect(writtenRows).toEqual([[1, 'n'], [2, 'key'], [4, 'n'], [4, 'key'], [4, 'key'], [6, 'n'], [7, 'key']]); // prettier-ignore
  });

  test('are not taken once no further record fits', () => {
    const rejectedLines = rejectedLinesOf('', false, { maxBytes: 1 });
    createErrors().addTo(rejectedLines, takeRecords());
    expect([takenCount, parseRejectedRows(rejectedLines)]).toEqual([2, []]);
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
