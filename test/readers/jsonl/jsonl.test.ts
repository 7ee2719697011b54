import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { budgets } from '../../../engine/core/budgets.js';
import { errorMessage } from '../../../engine/ingest/findings.js';
import { unifyColumns } from '../../../engine/ingest/unify-columns.js';
import { stringifyJson } from '../../../engine/core/json.js';
import type { Columns, Row, StoredType } from '../../../engine/core/types.js';
import { jsonlReader } from '../../../readers/jsonl/jsonl.js';
import { seededRandom } from '../../random.js';
import { castRecord, randomText, columnsSeenIn } from '../records.js';
import { byTier, caseCountByTier } from '../../tier.js';
import {
  cutAtLines,
  importChunks,
  importLines,
  lenientParams,
  type ImportedChunks,
} from '../import-pieces.js';
import { describeColumnTypes } from '../rows.js';
import { seed } from '../../seed.js';

const utf8Bytes = (text: string) => new TextEncoder().encode(text);

describe('F6: line ends', () => {
  const lines = ['{"a":1}', '{"a":"x\\ny","b":[1,2]}', '{"b":[]}'];
  const expectedRows = importLines(lines.join('\n')).rows;
  test.each<[string, string]>([
    ['LF and a last one', lines.join('\n') + '\n'],
    ['CR LF', lines.join('\r\n') + '\r\n'],
    ['CR LF, no last', lines.join('\r\n')],
    ['CR alone', lines.join('\r') + '\r'],
    ['CR alone, no last', lines.join('\r')],
    ['blank lines', `\n\n${lines.join('\n \n\t\n')}\n\n`],
    ['blank CR LF lines', `\r\n${lines.join('\r\n\r\n')}\r\n\r\n`],
    ['spaces around', lines.map((line) => ` \t${line}\t `).join('\n')],
  ])('%s give the records of LF', (_, text) => {
    const imported = importLines(text);
    expect(imported.rows).toEqual(expectedRows);
    expect(imported.findings.errors).toBe(0);
  });

  test('line numbers count blank lines, in every chunk', () => {
    for (const end of ['\n', '\r\n']) {
      const text = ['{"a":1}', '', '{"a":2}', '{"a":', '{"a":3}', ''].join(end);
      for (const chunkBytes of [1, 8, 12, 1000])
        expect(errorMessage('f.json', importLines(text, { chunkBytes }).findings)).toBe(
          'f.json, line 4: column 6: unexpected the end of the line',
        );
    }
  });

  const splitCount = caseCountByTier(100, 10_000);
  test(`any split at line ends gives the same records, ${splitCount} times`, () => {
    console.log(`jsonl split seed ${seed}`);
    const next = seededRandom(seed);
    const randomTexts = Array.from({ length: 100 }, () => randomText(next));
    for (const text of randomTexts) {
      const wholeImport = importLines(text);
      for (let round = 0; round < splitCount / 100; round++) {
        const size = 1 + Math.floor(next() * text.length);
        expectSameImport(importLines(text, { chunkBytes: size }), wholeImport);
      }
    }
  });
});

describe('F5: bytes that are not UTF-8', () => {
  const damagedBytes = Buffer.from('{"a":"ok"}\n{"a":"x\xff"}\n{"a":"y\xc3"}\n', 'latin1');

  test('become U+FFFD, with one warning that counts them and names the first line', () => {
    const { rows, findings } = importLines(damagedBytes);
    expect(rows).toEqual([{ a: 'ok' }, { a: 'x\ufffd' }, { a: 'y\ufffd' }]);
    expect(findings).toMatchObject({
      errors: 0,
      warnings: 2,
      examples: [{ code: 0, level: 'warning', line: 2, count: 2 }],
    });
  });

  test('are an error under strict validation', () => {
    const { findings, rows } = importLines(damagedBytes, {
      validation: { ...lenientParams, strict: true },
    });
    expect(findings.errors).toBe(2);
    expect(rows).toHaveLength(1);
  });

  test('give the same records however the file is split', () => {
    const wholeImport = importLines(damagedBytes);
    for (let size = 1; size < damagedBytes.length; size++)
      expectSameImport(importLines(damagedBytes, { chunkBytes: size }), wholeImport);
  });
});

describe('F7: nesting', () => {
  const nestedLists = (levels: number) =>
    '{"a":' + '['.repeat(levels - 1) + ']'.repeat(levels - 1) + '}';
  const nestedObjects = (levels: number) => '{"a":'.repeat(levels) + '1' + '}'.repeat(levels);

  test('64 levels are read, 65 refused with the limit (T0: jsonDepth)', () => {
    expect(importLines(nestedLists(64)).rows).toHaveLength(1);
    expect(errorMessage('f', importLines(nestedLists(65)).findings)).toMatch(
      /a record may nest at most 64 levels deep: flatten/,
    );
    expect(importLines(nestedObjects(64)).findings.errors).toBe(0);
    expect(errorMessage('f', importLines(nestedObjects(65)).findings)).toMatch(
      /a record may nest at most 64 levels deep: flatten/,
    );
  });

  test('objects nested deeper than 16 levels are stored as JSON text', () => {
    const { rows, columns } = importLines(nestedObjects(20));
    expect(stringifyJson(rows[0])).toBe(nestedObjects(20));
    expect(describeColumnTypes(columns)).toContain('a:json');
  });

  test('100,000 opening brackets are one error', () => {
    expect(errorMessage('f', importLines('{"a":' + '['.repeat(100_000)).findings)).toMatch(
      /at most 64 levels deep/,
    );
    expect(errorMessage('f', importLines('{"a":'.repeat(100_000)).findings)).toMatch(
      /at most 64 levels deep/,
    );
  });
});

describe('F17: the length of strings (T0: stringBytes)', () => {
  const line = (text: string) => `{"a":"${text}"}`;
  const column = (type: StoredType): Columns => [{ name: 'a', physical: 'a', type, isList: false }];
  test.each<[string, string, boolean]>([
    ['32,766 bytes', 'x'.repeat(32_766), true],
    ['32,767 bytes', 'x'.repeat(32_767), false],
    ['32,766 characters of 3 bytes', '€'.repeat(32_766), false],
    ['10,922 characters of 3 bytes', '€'.repeat(10_922), true],
  ])('%s', (_, text, isAllowed) => {
    for (const existing of [[], column('string')]) {
      const { findings, rows, columns } = importLines(line(text), { existing });
      expect([findings.counts, findings.errors]).toEqual([isAllowed ? {} : { 306: 1 }, 0]);
      expect(rows).toEqual([{ a: text }]);
      expect(columns[0]!.type).toBe(isAllowed ? 'string' : 'text');
    }
    const declaredColumns = column('string').map((one) => ({ ...one, isDeclared: true as const }));
    const { findings, rows } = importLines(line(text), { existing: declaredColumns });
    expect(findings.counts).toEqual(isAllowed ? {} : { 306: 1 });
    expect(rows).toEqual(isAllowed ? [{ a: text }] : []);
    for (const type of ['text', 'blob', 'json'] as const)
      expect(importLines(line(text), { existing: column(type) }).rows).toEqual([{ a: text }]);
  });

  test('the message names the fix', () => {
    const existing = column('string').map((one) => ({ ...one, isDeclared: true as const }));
    const { findings } = importLines(`{"a":"ok"}\n${line('x'.repeat(40_000))}`, { existing });
    expect(errorMessage('f.json', findings)).toContain(
      'a string of 40000 bytes is longer than the 32766 bytes that data type "string" holds: use data type "text"',
    );
  });
});

test('integers beyond 64 bits become doubles, with a warning; in a declared long they are errors', () => {
  const text = '{"a":9223372036854775808,"l":[1]}\n{"a":1,"l":[-18446744073709551616,2]}\n';
  for (const chunkBytes of [20, 1_000]) {
    const { rows, columns, findings } = importLines(text, { chunkBytes });
    expect(columns.map(({ type }) => type)).toEqual(['double', 'double']);
    expect(rows).toEqual([
      { a: 2 ** 63, l: [1] },
      { a: 1, l: [-(2 ** 64), 2] },
    ]);
    expect([findings.errors, findings.counts]).toEqual([0, { 301: 2 }]);
  }
  const existing: Columns = [
    { name: 'a', physical: 'a', type: 'long', isList: false, isDeclared: true },
  ];
  expect(importLines(text, { existing }).findings).toMatchObject({ errors: 1 });
});

describe('validation', () => {
  const mixedLines = '{"a":1,"b":NaN}\n{"a":"x","b":1.5}\n{"a":2,"b":Infinity}\n';
  const existing: Columns = [{ name: 'a', physical: 'a', type: 'long', isList: false }];

  test('every error is counted, and rejected records are not stored', () => {
    const { findings, rows, rejected } = importLines(mixedLines, { existing });
    expect(findings.counts).toMatchObject({ 301: 1, 304: 1, 305: 1 });
    expect([rows.length, rejected]).toEqual([0, 3]);
  });

  test('if disabled, values that do not fit become null and all records are stored', () => {
    const { findings, rows } = importLines(mixedLines, {
      existing,
      validation: { ...lenientParams, disable: true },
    });
    expect(findings.counts).toEqual({});
    expect(rows).toEqual([
      { a: 1, b: null },
      { a: null, b: 1.5 },
      { a: 2, b: Infinity },
    ]);
  });

  test('if disabled, a line that is not JSON is still an error', () => {
    const validation = { ...lenientParams, disable: true };
    expect(importLines('{"a":1}\n{"a"\n', { validation }).findings.errors).toBe(1);
  });

  test('raise_on_errors stops at the first error', () => {
    const { findings, lines } = importLines(mixedLines, {
      validation: { ...lenientParams, raiseOnErrors: true },
    });
    expect([findings.errors, lines]).toEqual([1, 1]);
  });

  test('149 columns pass, 150 are a warning, 400 an error (T0: recordKeysWarning, recordKeysError)', () => {
    const wideRecord = (count: number) =>
      `{${Array.from({ length: count }, (_, i) => `"k${i}":${i}`).join(',')},"o":{}}`.replace(
        ',"o":{}',
        '',
      );
    expect(importLines(wideRecord(149)).findings.counts).toEqual({});
    expect(importLines(wideRecord(150)).findings).toMatchObject({
      counts: { 400: 1 },
      warnings: 1,
      errors: 0,
    });
    expect(importLines(wideRecord(399)).findings).toMatchObject({ warnings: 1, errors: 0 });
    expect(importLines(wideRecord(400)).findings).toMatchObject({
      counts: { 400: 1 },
      warnings: 0,
      errors: 1,
    });
    expect(
      importLines(wideRecord(400), { validation: { ...lenientParams, disable: true } }).rows,
    ).toHaveLength(1);
  });

  test('columns are counted without nesting: each member of an object, a list once', () => {
    const members = Array.from({ length: 148 }, (_, i) => `"k${i}":1`).join(',');
    const list = `[${Array.from({ length: 500 }, () => '{"x":1}').join(',')}]`;
    expect(
      importLines(`{"o":{${members}},"n":${JSON.stringify(Array(500).fill(1))}}`).findings.counts,
    ).toEqual({});
    expect(importLines(`{"o":{${members}},"l":${list}}`).findings.counts).toEqual({ 400: 1 });
  });

  test('more columns than the budget are refused with the limit, in bounded memory (T0: columnsPerImport)', () => {
    const lines = Array.from(
      { length: 101 },
      (_, n) => `{${Array.from({ length: 100 }, (_, i) => `"k${n}_${i}":1`).join(',')}}`,
    ).join('\n');
    const { findings } = importLines(lines);
    expect(errorMessage('f', findings)).toMatch(
      /line 101: the record brings one more new field than the 10000 that an import may add: split the data/,
    );
    expect(budgets.columnsPerImport).toBe(10_000);
  });
});

describe('F16: types are inferred from all values', () => {
  test.each<[string, string[], string]>([
    ['a text after a thousand numbers', [...Array<string>(1000).fill('1'), '"x"'], 'a:string'],
    ['a fraction at the end', [...Array<string>(1000).fill('1'), '0.5'], 'a:double'],
    ['a list at the end', [...Array<string>(1000).fill('1'), '[2,3]'], 'a:[long]'],
    ['a list first', ['[2,3]', ...Array<string>(1000).fill('1')], 'a:[long]'],
    [
      'a fraction in a list at the end',
      ['1', ...Array<string>(1000).fill('[1,2]'), '[0.5]'],
      'a:[double]',
    ],
    ['a date that is none', [...Array<string>(1000).fill('"2024-01-01"'), '"soon"'], 'a:string'],
    ['an object at the end', [...Array<string>(1000).fill('"x"'), '{"b":1}'], 'a:json'],
    [
      'a long beyond 2^53 among doubles and texts',
      ['9007199254740993', '0.5', '"x"', '9223372036854775808'],
      'a:string',
    ],
    ['empty objects, then members', ['{}', '{}', '{"b":1}'], 'a:{b:long}'],
    ['empty lists, then elements', ['[]', '[]', '[0.5]', 'null'], 'a:[double]'],
    ['nulls, then a boolean', ['null', 'null', 'true'], 'a:boolean'],
    ['nothing but nulls', ['null', 'null'], 'a:string'],
  ])('%s: the same for any chunk size', (_, values, types) => {
    const text = values.map((value) => `{"a":${value}}`).join('\n');
    const wholeImport = importLines(text);
    expect(describeColumnTypes(wholeImport.columns)).toBe(types);
    const overflowCount = values.filter((value) => value === '9223372036854775808').length;
    expect(wholeImport.findings.counts).toEqual(overflowCount > 0 ? { 301: overflowCount } : {});
    for (const chunkBytes of [1, 20, 100, 1000, 5000])
      expectSameImport(importLines(text, { chunkBytes }), wholeImport);
  });

  test('longs in a column of strings keep all digits', () => {
    const text = '{"a":9007199254740993}\n{"a":0.5}\n{"a":"x"}\n{"a":12345678901234567890}';
    expect(importLines(text).rows.map(({ a }) => a)).toEqual([
      '9007199254740993',
      '0.5',
      'x',
      '12345678901234567890',
    ]);
  });

  test('5 chunk sizes, read in any order by 1 to 8 threads, have one digest', () => {
    console.log(`jsonl digest seed ${seed}`);
    const next = seededRandom(seed);
    const text = Array.from({ length: byTier(500, 2_000) }, () => randomText(next, 1)).join('\n');
    const digests = [200, 3_000, 20_000, 100_000, Infinity].map((chunkBytes) =>
      importDigest(importLines(text, { chunkBytes })),
    );
    // The number of threads influences the order in which chunks are read, and which chunks a thread reads consecutively.
    const chunks = cutAtLines(utf8Bytes(text), 20_000);
    for (let threads = 1; threads <= 8; threads++) {
      const order = chunks.map((_, i) => i).sort(() => next() - 0.5);
      digests.push(importDigest(importChunks(chunks, { order })));
    }
    expect(new Set(digests).size).toBe(1);
  });
});

describe('differential', () => {
  test('records equal those of JSON.parse, cast to the unified columns', () => {
    console.log(`jsonl differential seed ${seed}`);
    const next = seededRandom(seed + 1);
    for (let round = 0; round < byTier(20, 300); round++) {
      const lines = randomText(next, 1 + Math.floor(next() * 30)).split('\n');
      const records = lines.map((line) => JSON.parse(line) as Row);
      const columns = unifyColumns([], records.map(columnsSeenIn)).columns;
      const imported = importLines(lines.join('\n'), { chunkBytes: 1 + Math.floor(next() * 400) });
      expect(imported.findings.counts).toEqual({});
      expect(describeColumnTypes(imported.columns)).toBe(describeColumnTypes(columns));
      expect(imported.rows).toEqual(records.map((record) => castRecord(record, columns)));
    }
  });
});

describe('a line that ends early', () => {
  const goodLine = (i: number) =>
    `{"a":${i},"b":${i}.5,"c":"x${i}","d":["2024-01-0${1 + (i % 9)}",null],"e":{"f":[{"g":${i % 2 === 0},"h":[${i}]},{}]}${i % 3 === 0 ? `,"k":{"l":"z"}` : ''}}`;

  test('does not affect the records around it', () => {
    console.log(`jsonl broken seed ${seed}`);
    const next = seededRandom(seed);
    const lines = Array.from({ length: 200 }, (_, i) => goodLine(i));
    const wholeImport = importLines(lines.join('\n'));
    for (let round = 0; round < byTier(2, 20); round++) {
      const mixedLines = lines.flatMap((line) =>
        next() < 0.5 ? [line] : [line.slice(0, 1 + Math.floor(next() * (line.length - 2))), line],
      );
      const brokenCount = mixedLines.length - lines.length;
      for (const existing of [[], wholeImport.columns]) {
        const imported = importLines(mixedLines.join('\n'), { existing, chunkBytes: 3_000 });
        expect(imported.rows).toEqual(wholeImport.rows);
        expect([imported.rejected, imported.findings.errors]).toEqual([brokenCount, brokenCount]);
      }
    }
  });
});

describe('real files', () => {
  // The expected counts are from an independent tool (test/fixtures/jsonl/SOURCES.md).
  test.each<[string, number]>([
    ['clinvar_ten_records.json', 10],
    ['panelapp_panels.json', 3],
    ['stream_json_sample.json', 100],
    ['humaneval.json', 164],
  ])('%s has %d records, each as JSON.parse reads it', (file, count) => {
    const text = readFileSync(`test/fixtures/jsonl/${file}`, 'utf8');
    const wholeImport = importLines(text);
    expect([wholeImport.rows.length, wholeImport.findings.errors]).toEqual([count, 0]);
    const records = text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Row);
    expect(wholeImport.rows).toEqual(
      records.map((record) => castRecord(record, wholeImport.columns)),
    );
    for (const chunkBytes of [1, 5_000, 40_000])
      expectSameImport(importLines(text, { chunkBytes }), wholeImport);
  });
});

describe('header', () => {
  const readHeader = (content: Uint8Array) =>
    jsonlReader.header(
      { name: 'f.json', firstBytes: async () => ({ bytes: content, isWhole: true }) },
      null,
    );
  test.each<[string, Uint8Array, RegExp]>([
    ['UTF-16 without a mark', Uint8Array.of(0x7b, 0, 0x22, 0), /f\.json: this is UTF-16 text/],
    ['UTF-16, big-endian', Uint8Array.of(0, 0x7b, 0, 0x22), /f\.json: this is UTF-16 text/],
    ['a web page', utf8Bytes('\n <!DOCTYPE html>'), /f\.json: this is an HTML or XML page/],
  ])('refuses %s with a message that names it', async (_, content, message) => {
    await expect(readHeader(content)).rejects.toThrow(message);
  });

  test('accepts an empty file with a warning', async () => {
    expect((await readHeader(utf8Bytes(''))).warnings).toEqual(['the file is empty']);
    expect(importLines('').rows).toEqual([]);
  });
});

function expectSameImport(actual: ImportedChunks, expected: ImportedChunks): void {
  if (importDigest(actual) === importDigest(expected)) return;
  expect(actual.columns).toEqual(expected.columns);
  expect(actual.rows).toEqual(expected.rows);
  expect(actual.findings).toEqual(expected.findings);
  throw new Error('the digests differ');
}

function importDigest({ columns, rows, findings }: ImportedChunks): string {
  return createHash('sha256')
    .update(stringifyJson([columns, rows, findings]))
    .digest('hex');
}
