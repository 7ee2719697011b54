import { describe, expect, test } from '@jest/globals';
import { Annotation } from '../../../../engine/expression/annotate/annotate-record.js';
import { valueOfJson } from '../../../../engine/expression/annotate/json-values.js';
import { reprOf } from '../../../../engine/expression/values/repr.js';
import { compileExpression } from '../../../../engine/expression/expression.js';
import type { PyDict } from '../../../../engine/expression/values/values.js';
import { BatchBuilder, makeBatch } from '../../../../engine/ingest/batch.js';
import { FindingCollector } from '../../../../engine/ingest/findings.js';
import { readerNamed } from '../../../../readers/index.js';
import { computeFields } from '../../../../scheduler/jobs/import/expressions/compute-fields.js';
import { annotationField } from '../../../../scheduler/jobs/import/expressions/field-expressions.js';
import { random } from '../../../random.js';
import { seed } from '../../../seed.js';

const origin = { preExpression: '', postExpression: '', user: { name: '', email: '' }, now: 0 };

function computed(fields: readonly Record<string, unknown>[], timeoutMs?: number) {
  const { batch, findings, release } = computeFields({
    batch: makeBatch([], 3, []),
    expressions: {
      fields,
      data: '{}',
      includeErrors: true,
      declared: ['x'],
      targetDataset: '7',
      sourceFilename: null,
      ...origin,
    },
    columns: [],
    inputs: [],
    host: {},
    isLenient: false,
    ...(timeoutMs !== undefined && { timeoutMs }),
    lineOf: (row) => row + 10,
  });
  const rows = batch.data.toArray().map((row) => JSON.parse(JSON.stringify(row)) as unknown);
  release();
  return { rows, columns: batch.seen.map(({ name }) => name), findings };
}

test('fields are computed for a chunk without columns, in the order of the request', () => {
  const { rows, columns } = computed([
    { name: 'b', expression: 'record.a + target_dataset', depends_on: ['a'] },
    { name: 't', expression: "'x'", is_transient: true },
    { name: 'a', expression: "record.t + 'y'", depends_on: ['t'] },
  ]);
  expect(columns).toEqual(['b', 'a']);
  expect(rows).toEqual(Array.from({ length: 3 }, () => ({ b: 'xy7', a: 'xy' })));
});

test('when the time of a chunk is over, the rest of its records has the error of a limit', () => {
  const { findings } = computed([{ name: 'a', expression: '1' }], -1);
  expect(findings.examples).toEqual([
    {
      code: 500,
      level: 'warning',
      field: 'a',
      line: 10,
      count: 3,
      message: expect.stringContaining('Expression limit exceeded: too much time'),
    },
  ]);
});

test('longs are exact, whatever their size', () => {
  const [two, four] = [2n ** 53n, 2n ** 32n];
  const longs = [0n, 1n, -1n, two - 1n, 1n - two, two, -two, two + 1n, four - 1n, four, -four, -four - 1n, 2n ** 63n - 1n, -(2n ** 63n)];
  const reader = readerNamed('json');
  const out = new BatchBuilder();
  const given = { columns: [], isFinal: true, hints: [] };
  const rules = { disable: false, raiseOnErrors: false, strict: false, allowNewFields: true };
  const lines = longs.map((long) => `{"n":${long}}\n`).join('');
  reader.read(Buffer.from(lines), { columns: [] }, reader.params({}), out, new FindingCollector(rules, true), given);
  const batch = out.finish();
  expect(batch.columns.map(({ type }) => type)).toEqual(['long']);
  const fields = [{ name: 't', expression: "str(record.n) + ' ' + str(record.n * 10)", data_type: 'string' }];
  const { batch: made, release } = computeFields({
    batch,
    expressions: { fields, data: '{}', includeErrors: true, declared: ['n', 't'], targetDataset: '7', sourceFilename: null, ...origin },
    columns: [],
    inputs: batch.columns,
    host: {},
    isLenient: false,
    lineOf: (row) => row + 1,
  });
  const texts = made.data.toArray().map((row) => String(row['t']));
  release();
  out.release();
  expect(texts).toEqual(longs.map((long) => `${long} ${long * 10n}`));
}); // prettier-ignore

describe('the fields of a chunk are those of its records one by one', () => {
  const rules = { disable: false, raiseOnErrors: false, strict: false, allowNewFields: true };
  const { runtime } = compileExpression('1');

  /** Records with few different values, of which some are null, some missing and some not of ASCII. */
  function records(rows: number): readonly Record<string, unknown>[] {
    const next = random(seed);
    const pick = <T>(values: readonly T[]): T => values[Math.floor(next() * values.length)]!;
    const text = (): string | null =>
      pick(['a', 'ab', 'b', '', 'ü', '\u0001x', 'missense_variant', null]);
    const list = (): readonly unknown[] => Array.from({ length: Math.floor(next() * 3) }, text);
    const member = (): Record<string, unknown> => ({
      t: text(),
      ...(next() < 0.8 && { l: list() }),
      o: next() < 0.1 ? null : { t: text() },
    });
    return Array.from({ length: rows }, (_, i) => ({
      i,
      s: text(),
      l: next() < 0.1 ? null : list(),
      ...(next() < 0.9 && { m: next() < 0.1 ? null : member() }),
    }));
  }

  const string = (name: string, expression: string, more = {}) => ({ name, expression, data_type: 'string', ...more }); // prettier-ignore
  const fields = [
    string('one', "(record.s or '-').upper()"),
    string('members', "get(record, 'm.o.t', 'none')"),
    string('chain', 'record.m.o.t'),
    string('got', "record.m.get('t', 'missing') if record.m else 'no m'"),
    string('listed', "[x or '?' for x in record.l or []]", { is_list: true }),
    string('joined', "'|'.join(coerce_list(record.m.l))"),
    string('two', "concat([record.s, record.m['t']], '+')"),
    string('three', "str([record.s, get(record, 'm.t'), record.l])"),
    string('changed', "str(record.l.append('z')) + str(record.l)"),
    string('after', 'str(record.l) + record.one', { depends_on: ['one'] }),
    string('s', "value and value + '!'"),
    string('later', 'record.s + record.listed[0]', { depends_on: ['s', 'listed'] }),
    { name: 'n', expression: 'record.i % 7', data_type: 'integer' },
  ];

  test.each(['ASCII and others', 'ASCII alone'])('with texts of %s', (what) => {
    const rows = records(5000).map((record) => JSON.stringify(record));
    const lines = what === 'ASCII alone' ? rows.map((row) => row.replaceAll('ü', 'u')) : rows;
    const reader = readerNamed('json');
    const out = new BatchBuilder();
    const given = { columns: [], isFinal: true, hints: [] };
    const params = reader.params({});
    reader.read(Buffer.from(`${lines.join('\n')}\n`), { columns: [] }, params, out, new FindingCollector(rules, true), given); // prettier-ignore
    const batch = out.finish();
    const declared = ['i', 's', 'l', 'm', ...fields.map(({ name }) => name)];
    const { batch: made, release } = computeFields({
      batch,
      expressions: { fields, data: '{}', includeErrors: true, declared, targetDataset: '7', sourceFilename: null,
        ...origin },
      columns: [],
      inputs: batch.columns,
      host: {},
    isLenient: false,
      lineOf: (row) => row + 1,
    }); // prettier-ignore
    const annotation = new Annotation({
      fields: fields.map(annotationField),
      includeErrors: true,
      schemaFields: declared,
      targetDataset: '7',
    });
    const plain = (_: string, value: unknown): unknown => typeof value === 'bigint' ? Number(value) : value; // prettier-ignore
    const ours = made.data.toArray().map((row) => JSON.parse(JSON.stringify(row, plain)) as Record<string, unknown>); // prettier-ignore
    for (const [i, line] of lines.entries()) {
      const [record] = annotation.annotate(valueOfJson(completed(line)) as PyDict).records;
      runtime.budget.start(0);
      for (const { name } of fields) {
        const wanted = reprOf(runtime, record!.map.get(name) ?? null);
        const found = reprOf(runtime, valueOfJson(JSON.stringify(ours[i]![name] ?? null)));
        expect(`seed ${seed}, record ${line}, ${name}: ${found}`).toBe(`seed ${seed}, record ${line}, ${name}: ${wanted}`); // prettier-ignore
      }
    }
    release();
    out.release();
  });

  /** A record as it is stored: with all members that the column has. */
  function completed(line: string): string {
    const record = JSON.parse(line) as { m?: Record<string, unknown> | null };
    if (record.m) record.m = { t: null, l: null, o: null, ...record.m };
    return JSON.stringify({ m: null, ...record });
  }
});
