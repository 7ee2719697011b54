import { describe, expect, test } from '@jest/globals';
import {
  columnFindings,
  errorMessage,
  FindingCollector,
  joinFindings,
  mergeFindings,
  noFindings,
  progressErrors,
  validationJson,
} from '../../../engine/ingest/findings.js';
import type { Column } from '../../../engine/core/types.js';

const lenientParams = {
  disable: false,
  raiseOnErrors: false,
  strict: false,
  allowNewFields: false,
};

test('counts a record with several errors once', () => {
  const collector = new FindingCollector(lenientParams);
  collector.reject(2, 301, 'a', 'no');
  collector.reject(2, 304, 'b', 'no');
  collector.reject(3, 301, 'a', 'again');
  expect(collector.result()).toMatchObject({
    counts: { 301: 2, 304: 1 },
    errors: 3,
    records: 2,
    examples: [
      { code: 301, field: 'a', line: 2, message: 'no', count: 2 },
      { code: 304, field: 'b', line: 2 },
    ],
  });
});

test('stops at the first error when asked to', () => {
  const collector = new FindingCollector({ ...lenientParams, raiseOnErrors: true });
  collector.warn(1, 302, 'a', 'list');
  expect(collector.isStopped).toBe(false);
  collector.reject(2, 301, 'a', 'no');
  expect(collector.isStopped).toBe(true);
});

test('strict validation makes warnings errors', () => {
  expect(new FindingCollector(lenientParams).warn(1, 302, 'a', 'x')).toBe(false);
  const strictCollector = new FindingCollector({ ...lenientParams, strict: true });
  expect(strictCollector.warn(1, 302, 'a', 'x')).toBe(true);
  expect(strictCollector.result()).toMatchObject({ errors: 1, warnings: 0, records: 1 });
});

test('a final pass and disabled validation collect no warnings', () => {
  for (const collector of [
    new FindingCollector({ ...lenientParams, strict: true }, true),
    new FindingCollector({ ...lenientParams, disable: true }),
  ]) {
    expect(collector.warn(1, 302, 'a', 'x')).toBe(false);
    expect(collector.result()).toEqual(noFindings);
  }
});

describe('merged findings', () => {
  const findingsWithErrorsAt = (lines: readonly number[]) => {
    const collector = new FindingCollector(lenientParams);
    for (const line of lines) collector.reject(line, 301, 'pos', `line ${line} is wrong`);
    collector.warn(1, 302, 'tags', 'one value');
    return collector.result();
  };
  const mergedFindings = mergeFindings([
    { findings: findingsWithErrorsAt([]), linesBefore: 0 },
    { findings: findingsWithErrorsAt([4, 9]), linesBefore: 100 },
    { findings: findingsWithErrorsAt([1]), linesBefore: 200 },
  ]);

  test('carry the line of the file', () => {
    expect(mergedFindings.examples).toEqual([
      { code: 302, level: 'warning', line: 1, field: 'tags', message: 'one value', count: 3 },
      { code: 301, level: 'error', line: 104, field: 'pos', message: 'line 4 is wrong', count: 3 },
    ]);
  });

  test('become metadata.validation', () => {
    expect(validationJson(mergedFindings)).toEqual({
      errors: [
        {
          code: 301,
          name: 'Invalid Value for Field',
          field: 'pos',
          file: null,
          line: 104,
          message: 'line 4 is wrong',
          count: 3,
        },
      ],
      warnings: [
        {
          code: 302,
          name: 'List Expected',
          field: 'tags',
          file: null,
          line: 1,
          message: 'one value',
          count: 3,
        },
      ],
      errors_count: 3,
      warnings_count: 3,
      error_codes: [301],
      detections: null,
    });
    expect(validationJson(noFindings)).toEqual({
      errors: [],
      warnings: [],
      errors_count: 0,
      warnings_count: 0,
      error_codes: [],
      detections: null,
    });
  });

  test('become metadata.progress.errors', () => {
    expect(progressErrors(mergedFindings)).toEqual({
      records: 3,
      fields: 1,
      examples: [{ file: null, line: 104, field: 'pos', message: 'line 4 is wrong' }],
    });
  });

  test('of several files name the file of the first', () => {
    const joinedFindings = joinFindings([
      { findings: noFindings, file: null },
      { findings: findingsWithErrorsAt([]), file: 'a.json' },
      { findings: findingsWithErrorsAt([7]), file: 'b.json' },
      { findings: findingsWithErrorsAt([2]), file: 'c.json' },
    ]);
    expect(joinedFindings).toMatchObject({
      errors: 2,
      warnings: 3,
      records: 2,
      counts: { 301: 2, 302: 3 },
    });
    expect(joinedFindings.examples.map(({ file, line, count }) => [file, line, count])).toEqual([
      ['a.json', 1, 3],
      ['b.json', 7, 2],
    ]);
    expect(errorMessage('3 files', joinedFindings)).toMatch(
      /^b\.json, line 7: field pos: line 7 is wrong/,
    );
  });

  test('become one message that names file, line, field and cause', () => {
    expect(errorMessage('a.json', mergedFindings)).toBe(
      'a.json, line 104: field pos: line 4 is wrong (code 301, Invalid Value for Field); 2 more errors',
    );
    expect(errorMessage('a.json', noFindings)).toBeNull();
  });

  test('are bounded in answers, however many fields are wrong', () => {
    const collector = new FindingCollector(lenientParams);
    for (let i = 0; i < 10_000; i++) collector.reject(i + 1, 301, `f${i}`, 'no');
    const json = validationJson(mergeFindings([{ findings: collector.result(), linesBefore: 0 }]));
    expect(json['errors']).toHaveLength(20);
    expect(json['errors_count']).toBe(10_000);
  });
});

describe('new columns', () => {
  const column = (name: string): Column => ({ name, physical: name, type: 'long', isList: false });
  const codes = (existingColumns: Column[], finalColumns: Column[], params = lenientParams) =>
    columnFindings(existingColumns, finalColumns, params).examples.map(
      ({ code, level, field }) => `${code} ${level} ${field}`,
    );

  test('are a warning once the dataset has columns', () => {
    expect(codes([], [column('a')])).toEqual([]);
    expect(codes([column('a')], [column('a'), column('b')])).toEqual(['203 warning b']);
  });

  test('are an error under strict validation unless allowed', () => {
    const finalColumns = [column('a'), column('b')];
    expect(codes([column('a')], finalColumns, { ...lenientParams, strict: true })).toEqual([
      '203 error b',
    ]);
    expect(
      codes([column('a')], finalColumns, { ...lenientParams, strict: true, allowNewFields: true }),
    ).toEqual([]);
  });

  test('with names that break the strict rules get code 202', () => {
    expect(codes([], ['ok_1.x', 'a b', '_x', 'a__b', '1a', ''].map(column))).toEqual(
      ['a b', '_x', 'a__b', '1a', ''].map((name) => `202 warning ${name}`),
    );
  });

  test('inside objects count too', () => {
    const objectColumn = (...children: Column[]): Column => ({
      ...column('o'),
      type: 'object',
      children,
    });
    expect(codes([objectColumn(column('x'))], [objectColumn(column('x'), column('y'))])).toEqual([
      '203 warning o.y',
    ]);
  });
});
