import { expect, test } from '@jest/globals';
import { BatchBuilder } from '../../../engine/ingest/batch.js';
import type { ValidationParams } from '../../../engine/ingest/findings.js';
import type { Column, Columns } from '../../../engine/core/types.js';
import { codes } from '../../../engine/ingest/validation-codes.js';
import { JsonlParser } from '../../../readers/jsonl/jsonl-parser.js';
import { recordBuffer } from '../../../readers/jsonl/record-buffer.js';
import { maxScannedBytes } from '../../../readers/text/scan-buffer.js';
import { seededRandom, type Random } from '../../random.js';
import { seed } from '../../seed.js';
import { caseCountByTier } from '../../tier.js';
import { lenientParams } from '../import-pieces.js';
import { RecordingCollector } from '../read-all.js';
import { rowsAsPlainObjects } from '../rows.js';

const emptyResult = { rows: [], columns: [], seen: [], linesOfRows: [] };

/** Returns the results of the JSONL parser, either with the fast path for runs of records or with each record parsed separately. */
function readWithRuns(
  hasRuns: boolean,
  text: string,
  columns: Columns,
  validation: ValidationParams,
) {
  const out = new BatchBuilder();
  out.trackLineNumbers();
  const notes = new RecordingCollector(validation);
  const lines = new JsonlParser(out, notes, columns, hasRuns).parseLines(Buffer.from(text));
  const batch = out.finish();
  const parserState = { lines, notes: notes.notedFindings, rejected: notes.rejectedLines };
  const readResult = {
    ...parserState,
    rows: rowsAsPlainObjects(batch.data),
    columns: batch.columns,
    seen: batch.seen,
    linesOfRows: Array.from({ length: batch.rows }, (_, row) => out.lineNumberOf(row)),
  };
  out.release();
  // A chunk that stopped at an error stores nothing, and the fast path has examined fewer of its values, so these results are not compared.
  return notes.isStopped ? { ...readResult, ...emptyResult } : readResult;
}

const expectSameWithoutRuns = (
  text: string,
  columns: Columns = [],
  validation: ValidationParams = lenientParams,
): void =>
  expect(readWithRuns(true, text, columns, validation)).toEqual(
    readWithRuns(false, text, columns, validation),
  );

/** Returns the sizes of the runs that the fast path finds in a text. */
function runLengthsOf(text: string): number[] {
  const buffer = recordBuffer();
  const findRecordRun = buffer.findRecordRun.bind(buffer);
  const runLengths: number[] = [];
  buffer.findRecordRun = (...args) => {
    const count = findRecordRun(...args);
    runLengths.push(count);
    return count;
  };
  try {
    readWithRuns(true, text, [], lenientParams);
  } finally {
    buffer.findRecordRun = findRecordRun;
  }
  return runLengths;
}

const jsonLine = (record: object): string => `${JSON.stringify(record)}\n`;
const jsonLines = (count: number, make: (i: number) => object): string =>
  Array.from({ length: count }, (_, i) => jsonLine(make(i))).join('');

test('records of one shape are one run after the first', () => {
  const text = jsonLines(100, (i) => ({ id: `r${i}`, n: i, f: i / 7, flag: i % 2 === 0, o: { a: i, b: `b${i}` } })); // prettier-ignore
  expect(runLengthsOf(text)).toEqual([99]);
  expectSameWithoutRuns(text);
});

test('keys may be missing or null, and values empty, in a run', () => {
  const text = jsonLines(100, (i) => ({
    id: `r${i}`,
    ...(i % 3 !== 1 && { n: i }),
    ...(i % 5 !== 2 && { o: i % 7 === 3 ? {} : { ...(i % 2 === 0 && { a: null }), b: '' } }),
    last: i % 4 === 1 ? null : i,
  }));
  // After two records with a key, the fast path knows the position of the key.
  expect(Math.max(...runLengthsOf(text))).toBeGreaterThan(90);
  expectSameWithoutRuns(text);
});

test('lists, escapes and long numbers do not end a run', () => {
  const text = jsonLines(100, (i) => ({
    list: [i, { a: `x${i}`, b: [] }],
    text: i % 2 === 0 ? `say "${i}"` : `é${i}`,
    long: i % 3 === 0 ? 12345678901234567n.toString() : i,
    small: i / 7e9,
  })).replace(/"(\d{17})"/g, '$1');
  expect(runLengthsOf(text)).toEqual([99]);
  expectSameWithoutRuns(text);
});

test('a record of another shape ends a run, and the next one begins behind it', () => {
  const text = jsonLines(100, (i) => (i === 50 ? { n: i, id: 'x' } : { id: `r${i}`, n: i }));
  expect(runLengthsOf(text)).toEqual([49, 0, 49]);
  expectSameWithoutRuns(text);
});

test('a run whose values would be reported is read record by record', () => {
  const text = jsonLines(100, (i) => ({ id: `r${i}`, n: i === 50 ? 'NaN' : i })).replace('"NaN"', 'NaN'); // prettier-ignore
  const readOutcome = readWithRuns(true, text, [], { ...lenientParams, disable: false });
  expect(readOutcome.notes).toEqual([
    { level: 'reject', line: 51, code: codes.nan, field: 'n', message: 'the value is NaN' },
  ]);
  expect(readOutcome.rows).toHaveLength(99);
  expectSameWithoutRuns(text);
});

test('records are found across the ends of the buffer, and one that is longer is read alone', () => {
  const text = jsonLines(40, (i) => ({ id: `r${i}`, text: 'x'.repeat(i === 20 ? 2 * maxScannedBytes : 20_000) })); // prettier-ignore
  expectSameWithoutRuns(text);
});

test(`numbers are rounded as JSON.parse rounds them (seed ${seed})`, () => {
  const next = seededRandom(seed);
  const digits = (count: number): string => Array.from({ length: count }, () => Math.floor(next() * 10)).join(''); // prettier-ignore
  const texts = Array.from({ length: caseCountByTier(5_000, 1_000_000) }, () => {
    const whole = next() < 0.5 ? '0' : `${1 + Math.floor(next() * 9)}${digits(Math.floor(next() * 18))}`; // prettier-ignore
    const zeros = '0'.repeat(Math.floor(next() * 8));
    const exponent = next() < 0.3 ? `e${pickRandom(next, ['', '-', '+'])}${digits(1 + Math.floor(next() * 2))}` : ''; // prettier-ignore
    const text = next() < 0.2 ? String(next() ** 8) : `${whole}.${zeros}${digits(1 + Math.floor(next() * 19))}${exponent}`; // prettier-ignore
    return next() < 0.2 ? `-${text}` : text;
  });
  const text = texts.map((number) => `{"n":${number}}\n`).join('');
  expect(runLengthsOf(text).reduce((sum, count) => sum + count, 0)).toBe(texts.length - 1);
  const { rows } = readWithRuns(true, text, [], lenientParams);
  const wrongTexts = texts.filter((number, i) => !Object.is(rows[i]!['n'], Number(number)));
  expect(wrongTexts).toEqual([]);
});

const declaredTypes = ['string', 'long', 'integer', 'double', 'float', 'boolean', 'date', 'json', 'text'] as const; // prettier-ignore

/** Returns a random declaration of a field, usually none. */
function randomDeclaration(next: Random, name: string): Columns {
  if (next() < 0.6) return [];
  const type = pickRandom(next, declaredTypes);
  const column: Column = { name, physical: name, type, isList: next() < 0.2, ...(next() < 0.5 && { isDeclared: true }) }; // prettier-ignore
  return [column];
}

const pickRandom = <T>(next: Random, list: readonly T[]): T =>
  list[Math.floor(next() * list.length)]!;

/** Returns a function that returns random values of a field as JSON text, most of them of one kind. */
function randomValueTexts(next: Random, depth: number): () => string {
  const usualCreator = pickRandom(next, valueTextCreators);
  return () => {
    const share = next();
    const make =
      share < 0.99
        ? usualCreator
        : pickRandom(next, share < 0.995 ? valueTextCreators : unusualValueCreators);
    return make(next, depth);
  };
}

type CreateValueText = (next: Random, depth: number) => string;

const pickTextOf = (...texts: readonly string[]): CreateValueText => (next) => pickRandom(next, texts); // prettier-ignore

const valueTextCreators: readonly CreateValueText[] = [
  (next) => `"${'x'.repeat(Math.floor(next() * 40))}"`,
  pickTextOf('"2024-01-02"', '"2024-01-02T03:04:05Z"', '"1999-12-31"'),
  pickTextOf('"a\\nb"', '"\\u00e9"', '"é"', '""', '"\\\\"', '"a\\""', '"2024-01-02"'),
  (next) => String(Math.floor((next() - 0.5) * 10 ** Math.floor(next() * 12))),
  (next) => String((next() - 0.5) * 10 ** Math.floor(next() * 30 - 15)),
  (next) => (next() * 100).toFixed(Math.floor(next() * 6)),
  pickTextOf('-0', '-0.0', '0', '0.0', '1e5', '1E-7', '123456789012345', '1234567890123456'),
  pickTextOf(
    '9007199254740993',
    '0.1234567890123456789012345678901234',
    '7',
    '-1234567890.123456789',
  ),
  pickTextOf('true', 'false', 'null'),
  (next, depth) => (depth > 2 ? '[]' : randomListText(next, depth)),
  (next, depth) => (depth > 2 ? '{}' : randomObjectTexts(next, depth + 1)()),
];

/** Functions that return values that are malformed or cause a warning. */
const unusualValueCreators: readonly CreateValueText[] = [
  pickTextOf('"\\ud800"', '"\\x"', '"open', '"\u0001"', '"\\u12"'),
  pickTextOf('01', '1.', '.5', '-', '1e', '1e400', '-1e999', 'NaN', 'Infinity', '-Infinity', '+1'),
  pickTextOf('truth', 'nul', 'falsy', '18446744073709551616', '', '[1,]', '[1}', '{"a"}', `"${'x'.repeat(33_000)}"`), // prettier-ignore
];

function randomListText(next: Random, depth: number): string {
  const value = randomValueTexts(next, depth + 1);
  return `[${Array.from({ length: Math.floor(next() * 4) }, () => value()).join(',')}]`;
}

/** Returns a function that returns JSON objects with some of the same few keys, usually in the same order. */
function randomObjectTexts(next: Random, depth: number): () => string {
  const count = 1 + Math.floor(next() * 6);
  const names = ['a', 'b', 'a long name of a field', 'é', 'b"q', 'dots.in', 'x'.repeat(16), '_id', '_commit', '\ud800k', 'a']; // prettier-ignore
  const fields = Array.from({ length: count }, (_, i) => ({
    key: JSON.stringify(i === 0 || next() < 0.5 ? `k${i}` : pickRandom(next, names)),
    value: randomValueTexts(next, depth),
    share: next() < 0.6 ? 1 : next(),
  }));
  const [comma, colon] = next() < 0.7 ? [',', ':'] : [', ', ': '];
  return () => {
    const chosenFields = fields.filter(({ share }) => next() < share);
    if (next() < 0.01) chosenFields.reverse();
    const space = next() < 0.01 ? ' ' : '';
    return `{${chosenFields.map(({ key, value }) => `${key}${colon}${value()}`).join(comma)}${space}}`;
  };
}

test(`random texts read as they do record by record (seed ${seed})`, () => {
  for (let number = 0; number < caseCountByTier(100, 5000); number++) {
    const next = seededRandom(seed + number);
    const record = randomObjectTexts(next, 0);
    const lineEnd = next() < 0.8 ? '\n' : '\r\n';
    const lines = Array.from({ length: 1 + Math.floor(next() * 200) }, () =>
      next() < 0.002 ? pickRandom(next, ['', 'x', '[]', '{', '{}', '{"a":1']) : record(),
    );
    const text = lines.join(lineEnd) + (next() < 0.5 ? lineEnd : '');
    const columns = ['k0', 'k1', 'k2', 'a'].flatMap((name) => randomDeclaration(next, name));
    const validation = { ...lenientParams, disable: next() < 0.2, strict: next() < 0.2, raiseOnErrors: next() < 0.1 }; // prettier-ignore
    try {
      expectSameWithoutRuns(text, columns, validation);
    } catch (error) {
      throw new Error(`case ${number}:\n${text}\n${JSON.stringify({ columns, validation })}`, { cause: error }); // prettier-ignore
    }
  }
});
