import { expect, test } from '@jest/globals';
import { clickhouseDialect } from '../../../engine/query/sql/dialect/clickhouse.js';
import type { DialectFactory } from '../../../engine/query/sql/dialect/dialect.js';
import { duckdbDialect } from '../../../engine/query/sql/dialect/duckdb.js';
import { countSelectStatement, rowsSelectStatement } from '../../../engine/query/sql/rows.js';
import { BoundParams } from '../../../engine/query/sql/dialect/params.js';
import { parseQuery } from '../../../engine/query/request/query-request.js';
import type { Snapshot } from '../../../engine/store/store.js';
import type { Columns } from '../../../engine/core/types.js';
import { column, fieldRows, listColumn } from './dataset.js';
import { hostileTexts } from './hostile.js';

const folder = "/lake/it's";
const dialectsByName: Readonly<Record<string, DialectFactory>> = {
  duckdb: duckdbDialect,
  clickhouse: clickhouseDialect(() => folder),
};

function snapshotOf(columns: Columns): Snapshot {
  return { datasetId: 7, version: 3, columns, segments: [], rows: 1, bytes: 0, files: ['/a'] };
}

/** Returns schemas of four shapes, each of which has a column with the given name. */
function columnsNamed(name: string): readonly Columns[] {
  const membersInside = [column(name, 'string'), listColumn(column(`${name}2`, 'date'))];
  return [
    [column(name, 'string')],
    [listColumn(column(name, 'double'))],
    [column(name, 'object', membersInside)],
    [listColumn(column(name, 'object', membersInside))],
  ];
}

function dialectStatements(language: DialectFactory, columns: Columns): readonly string[] {
  const fields = fieldRows(columns, []);
  const snapshot = snapshotOf(columns);
  return fields.flatMap(({ name, dataType }) => {
    const ordering = dataType === 'object' ? [] : [name];
    const request = parseQuery({ filters: [{ not: [name, null] }], ordering }, fields);
    return [
      rowsSelectStatement(snapshot, request, new Map(), language).sql,
      rowsSelectStatement({ ...snapshot, rows: 0 }, request, new Map(), language).sql,
      countSelectStatement(snapshot, request.predicate, new Map(), language).sql,
    ];
  });
}

/** Returns a statement without its quoted names and strings. */
function withoutQuotes(sql: string, isBackslashed: boolean): string {
  const insideQuotes = isBackslashed ? String.raw`(?:[^Q\\]|\\[^])*` : '(?:[^Q]|QQ)*';
  const quotedPatterns = ['"', "'"].map(
    (quote) => quote + insideQuotes.replaceAll('Q', quote) + quote,
  );
  return sql.replaceAll(new RegExp(quotedPatterns.join('|'), 'g'), '…');
}

test.each(Object.entries(dialectsByName))('%s: hostile field names stay inside of quotes (Q1)', (name, language) => {
  const isBackslashed = name === 'clickhouse';
  const expectedStatements = columnsNamed('plain').map((columns) =>
    dialectStatements(language, columns).map((sql) => withoutQuotes(sql, isBackslashed)),
  );
  expect(expectedStatements.flat().join()).not.toContain('plain');
  // A stored name cannot contain NUL or lone surrogates; dots, `__` and leading signs would change the meaning of the request, and
  // `file_index` is a column of DuckDB that changes the order.
  const names = hostileTexts.filter((text) => text !== '' && text.isWellFormed() && !/\0|[.]|__|^-|^_|^file_/.test(text));
  expect(names.length).toBeGreaterThan(150);
  for (const each of names) {
    const found = columnsNamed(each).map((columns) =>
      dialectStatements(language, columns).map((sql) => withoutQuotes(sql, isBackslashed)),
    );
    expect([each, found]).toEqual([each, expectedStatements]);
  }
}); // prettier-ignore

test.each(Object.entries(dialectsByName))('%s: a statement is the same whatever its values are (Q1)', (_, language) => {
  const columns = [column('a', 'string'), listColumn(column('b', 'string')), column('t', 'text')];
  const fields = fieldRows(columns, []);
  const sqlOf = (body: unknown): string =>
    rowsSelectStatement(snapshotOf(columns), parseQuery(body, fields), new Map(), language).sql;
  const bodies = (text: string): readonly object[] => [
    ...['', '__exact', '__contains', '__prefix'].map((action) => ({ filters: [[`a${action}`, text]] })),
    { filters: [['a__in', [text, 'x']]] },
    { filters: [['b__in', Array.from({ length: 40 }, (_, i) => `${text}${i}`)]] },
    { filters: [['b__contains', text]] },
    { query: `a:"${text.replaceAll(/["\\]/g, '\\$&')} x"` },
  ];
  // The compared text has letters, because a comparison with a text without letters needs no case folding.
  const expectedStatements = bodies('Word').map(sqlOf);
  const texts = hostileTexts.filter((text) => /[A-Za-z]/.test(text) && text.length < 5_000);
  for (const text of texts) expect([text, bodies(text).map(sqlOf)]).toEqual([text, expectedStatements]);
}); // prettier-ignore

const clickhouseColumnDialect = dialectsByName['clickhouse']!([
  column('_e', 'string'),
  column('r', 'string'),
]);

test('a placeholder of ClickHouse contains the type of the value', () => {
  const params = new BoundParams(clickhouseColumnDialect.bound);
  expect(params.add('string', 'x')).toBe('{p1:String}');
  expect(params.add('long', [1n, 2n])).toBe('{p2:Array(Int64)}');
  expect(params.add('date', 0n)).toBe("fromUnixTimestamp64Micro({p3:Int64}, 'UTC')");
});

test('records come from the table at the version of the snapshot, whose folder is bound', () => {
  const params = new BoundParams(clickhouseColumnDialect.bound);
  const source = clickhouseColumnDialect.source(snapshotOf([]), params);
  expect(source).toContain('deltaLakeLocal({p1:String})');
  expect(source).toContain('delta_lake_snapshot_version = 3)');
  expect(params.boundValues).toEqual([{ type: 'string', value: folder }]);
});

test('no column has the name of the relation or of a variable', () => {
  expect(clickhouseColumnDialect.relation).toBe('__er');
  expect(clickhouseColumnDialect.each('list', (element) => element)).toBe(
    'arrayMap(__e1 -> __e1, list)',
  );
});

test.each([
  ['BRCA[12]', '^(?-s:BRCA[12])$'],
  ['a|b', '^(?-s:a|b)$'],
  [String.raw`\Qa)`, String.raw`^(?-s:\Qa)\E)$`],
  [String.raw`\Qa\E`, String.raw`^(?-s:\Qa\E)$`],
  [String.raw`\\Qa`, String.raw`^(?-s:\\Qa)$`],
  [String.raw`\Qa\\`, String.raw`^(?-s:\Qa\\\E)$`],
])('the whole-match pattern of %s', (pattern, wanted) => {
  expect(clickhouseColumnDialect.wholePattern(pattern)).toBe(wanted);
});
