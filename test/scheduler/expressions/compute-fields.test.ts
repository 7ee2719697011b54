import { describe, expect, test } from '@jest/globals';
import { Annotation } from '../../../engine/expression/annotate/annotate-record.js';
import { valueOfJson } from '../../../engine/expression/annotate/json-values.js';
import { reprOf } from '../../../engine/expression/values/repr.js';
import { compileExpression } from '../../../engine/expression/expression.js';
import type { PyDict } from '../../../engine/expression/values/python-values.js';
import { makeBatch } from '../../../engine/ingest/batch.js';
import { annotatedBatch } from '../../../scheduler/expressions/columns/annotated-batch.js';
import { annotationFieldsOf } from '../../../scheduler/expressions/columns/field-expressions.js';
import { seededRandom } from '../../random.js';
import { seed } from '../../seed.js';
import { parseChunk, computeTestChunk } from './computed-chunk.js';

function computeFieldsOfChunk(fields: readonly Record<string, unknown>[], timeoutMs?: number) {
  const inputBatch = makeBatch([], 3, []);
  const { batch, findings, release } = computeTestChunk(inputBatch, fields, ['x'], {
    ...(timeoutMs !== undefined && { timeoutMs }),
    lineOf: (row) => row + 10,
  });
  const rows = batch.data.toArray().map((row) => JSON.parse(JSON.stringify(row)) as unknown);
  release();
  return { rows, columns: batch.seen.map(({ name }) => name), findings };
}

test('fields are computed for a chunk without columns, in the order of the request', () => {
  const { rows, columns } = computeFieldsOfChunk([
    { name: 'b', expression: 'record.a + target_dataset', depends_on: ['a'] },
    { name: 't', expression: "'x'", is_transient: true },
    { name: 'a', expression: "record.t + 'y'", depends_on: ['t'] },
  ]);
  expect(columns).toEqual(['b', 'a']);
  expect(rows).toEqual(Array.from({ length: 3 }, () => ({ b: 'xy7', a: 'xy' })));
});

test('when the time of a chunk is over, the rest of its records has the error of a limit', () => {
  const { findings } = computeFieldsOfChunk([{ name: 'a', expression: '1' }], -1);
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
  const [twoTo53, twoTo32] = [2n ** 53n, 2n ** 32n];
  const longsNear53 = [twoTo53 - 1n, 1n - twoTo53, twoTo53, -twoTo53, twoTo53 + 1n];
  const longsNear32 = [twoTo32 - 1n, twoTo32, -twoTo32, -twoTo32 - 1n];
  const longs = [0n, 1n, -1n, ...longsNear53, ...longsNear32, 2n ** 63n - 1n, -(2n ** 63n)];
  const out = parseChunk(longs.map((long) => `{"n":${long}}`));
  const batch = out.finish();
  expect(batch.columns.map(({ type }) => type)).toEqual(['long']);
  const fields = [{ name: 't', expression: "str(record.n) + ' ' + str(record.n * 10)", data_type: 'string' }];
  const { batch: computedBatch, release } = computeTestChunk(batch, fields, ['n', 't']);
  const texts = computedBatch.data.toArray().map((row) => String(row['t']));
  release();
  out.release();
  expect(texts).toEqual(longs.map((long) => `${long} ${long * 10n}`));
}); // prettier-ignore

test('in a JSON column, NaN is null, infinite numbers are texts, and keys stay as they are', () => {
  const columns = [{ name: 'x', physical: 'x', type: 'json', isList: false }] as const;
  const field = { name: 'x', expression: String.raw`{'a': [float('nan'), float('-inf'), 0.5], '\x00k': 1}` };
  const { batch, release } = computeTestChunk(makeBatch([], 1, []), [field], ['x'], { columns });
  const texts = batch.data.toArray().map((row) => String(row['x']));
  release();
  expect(texts).toEqual([String.raw`{"a":[null,"-Infinity",0.5],"\u0000k":1}`]);
}); // prettier-ignore

test('the fields of annotated records have the names of the keys', () => {
  const record = valueOfJson(String.raw`{"\u0000k": 1, "b": {"\u0000m": 2}}`) as PyDict;
  const { names, columns, release } = annotatedBatch([record], [], []);
  release();
  expect(names).toEqual(['\0k', 'b']);
  expect(columns.map((one) => [one.name, one.children?.map(({ name }) => name)])).toEqual([
    ['\0k', undefined],
    ['b', ['\0m']],
  ]);
});

test.each([
  ['dates', "record.d + '-02'", ['date', false], [1_704_153_600_000, 1_706_832_000_000]],
  ['texts', "record.d + '-xx'", ['string', false], ['2024-01-xx', '2024-02-xx']],
  ['lists of dates', "[record.d + '-02']", ['date', true], [[1_704_153_600_000], [1_706_832_000_000]]],
  ['empty lists', '[record.d][1:]', undefined, [null, null]],
  ['None', 'record.d and None', undefined, [null, null]],
  ['bools', "record.d.endswith('1')", ['boolean', false], [true, false]],
  ['ints and floats', "1 if record.d.endswith('1') else 0.5", ['double', false], [1, 0.5]],
  ['texts longer than a string may be', "record.d * 5000", ['text', false], ['2024-01'.repeat(5000), '2024-02'.repeat(5000)]],
])('a field without a type is inferred from its values: %s', (_, expression, type, values) => {
  const rows = ['2024-01', '2024-02', '2024-01', '2024-01'];
  const out = parseChunk(rows.map((d) => JSON.stringify({ d })));
  const { batch: computedBatch, release } = computeTestChunk(out.finish(), [{ name: 'x', expression }], ['d', 'x']);
  const column = computedBatch.columns.find(({ name }) => name === 'x');
  expect(column && [column.type, column.isList]).toEqual(type);
  const foundValues = computedBatch.data.toArray().map((row) => { const x: unknown = row['x'] ?? null; return x !== null && typeof x === 'object' ? Array.from(x as Iterable<unknown>) : x; });
  expect(foundValues).toEqual(rows.map((d) => values[d === '2024-01' ? 0 : 1]));
  release();
  out.release();
}); // prettier-ignore

describe('the fields of a chunk are those of its records one by one', () => {
  const { runtime } = compileExpression('1');

  /** Returns records most of whose texts occur often; some values are null, some are missing, and some are not ASCII. */
  function randomRecords(rows: number): readonly Record<string, unknown>[] {
    const next = seededRandom(seed);
    const pick = <T>(values: readonly T[]): T => values[Math.floor(next() * values.length)]!;
    const randomText = (): string | null =>
      pick(['a', 'ab', 'b', '', 'ü', '\u0001x', 'missense_variant', null]);
    const randomList = (): readonly unknown[] =>
      Array.from({ length: Math.floor(next() * 3) }, randomText);
    const randomObject = (): Record<string, unknown> => ({
      t: randomText(),
      ...(next() < 0.8 && { l: randomList() }),
      o: next() < 0.1 ? null : { t: randomText() },
    });
    return Array.from({ length: rows }, (_, i) => ({
      i,
      k: pick([i, -i, 0, null]),
      // Floats always have a fraction here, so that they can be told from ints in JSON.
      f: pick([i + 0.25, -0.5, 0.125, null]),
      // Integers whose sums and products exceed 2^53.
      b: pick([2 ** 53 - 1, 1 - 2 ** 53, 3, i]),
      e: pick([4, 7, 9]),
      d: pick(['2024-05-06', '2025-01-02']),
      s: randomText(),
      l: next() < 0.1 ? null : randomList(),
      ...(next() < 0.9 && { m: next() < 0.1 ? null : randomObject() }),
    }));
  }

  const stringField = (name: string, expression: string, more = {}) => ({ name, expression, data_type: 'string', ...more }); // prettier-ignore
  const fields = [
    stringField('one', "(record.s or '-').upper()"),
    stringField('members', "get(record, 'm.o.t', 'none')"),
    stringField('chain', 'record.m.o.t'),
    stringField('got', "record.m.get('t', 'missing') if record.m else 'no m'"),
    stringField('listed', "[x or '?' for x in record.l or []]", { is_list: true }),
    stringField('joined', "'|'.join(coerce_list(record.m.l))"),
    stringField('two', "concat([record.s, record.m['t']], '+')"),
    stringField('three', "str([record.s, get(record, 'm.t'), record.l])"),
    stringField('changed', "str(record.l.append('z')) + str(record.l)"),
    stringField('after', 'str(record.l) + record.one', { depends_on: ['one'] }),
    stringField('s', "value and value + '!'"),
    stringField('later', 'record.s + record.listed[0]', { depends_on: ['s', 'listed'] }),
    { name: 'n', expression: 'record.i % 7', data_type: 'integer' },
  ];

  /** Fields whose expressions change nothing, so that they are computed for all records at once where possible. */
  const columnFields = [
    ...fields.filter(({ name }) => ['one', 'members', 'chain', 'got', 'listed', 'two', 'three', 'n'].includes(name)),
    stringField('s', "value and value + '!'"),
    { name: 'bin', expression: 'record.k // 16384 + 4681', data_type: 'long' },
    { name: 'sum', expression: 'record.b + record.i * 3 - -record.e' },
    { name: 'scaled', expression: 'record.b * 4 // 7', data_type: 'auto' },
    { name: 'quotient', expression: '(record.i - 9) / (record.e - 7)', data_type: 'double' },
    { name: 'rest', expression: 'record.f % -0.75 + record.i // 1.5', data_type: 'double' },
    { name: 'chosen', expression: 'record.k if record.e > 4 and not record.i % 3 else -record.i', data_type: 'integer' },
    { name: 'range', expression: '-3 < record.i - 2500 <= record.e * 10 or record.f == 0.125', data_type: 'boolean' },
    { name: 'least', expression: 'record.f if record.i < record.e else 0.0' },
    { name: 'shorter', expression: 'record.b', data_type: 'integer' },
    { name: 'doubled', expression: 'record.e * 2', data_type: 'double' },
    { name: 'huge', expression: 'record.f * 1e308 if record.e == 9 else record.f', data_type: 'double' },
    { name: 'length', expression: 'len(record.s)' },
    { name: 'half', expression: "len(record.s or '') / 2", data_type: 'double' },
    { name: 'starts', expression: "record.s.startswith('a')" },
    { name: 'copied', expression: 'record.m.t', data_type: 'string' },
    { name: 'parts', expression: "record.s.split('_')", is_list: true },
    { name: 'whole', expression: 'record.l' },
    { name: 'none', expression: 'record.absent', data_type: 'string' },
    { name: 'constant', expression: "'GRCh38'" },
    { name: 'empty', expression: "[] if record.e == 4 else ['x']", is_list: true },
    { name: 'failing', expression: 'record.i / 0 if record.e == 4 else record.i / 4', data_type: 'double' },
  ]; // prettier-ignore

  test.each([
    ['fields that change', fields, 'ASCII and others'],
    ['fields that change', fields, 'ASCII alone'],
    ['fields computed at once', columnFields, 'ASCII and others'],
    ['fields that change and need a value', fields, 'ASCII and others', true],
    ['fields computed at once that need a value', columnFields, 'ASCII and others', true],
  ])('for %s, number %#', (_, fields, alphabet, needInput = false) => {
    const rows = randomRecords(2200).map((record) => JSON.stringify(record));
    const lines = alphabet === 'ASCII alone' ? rows.map((row) => row.replaceAll('ü', 'u')) : rows;
    const out = parseChunk(lines);
    const declaredNames = [...'ikfbedslm', 'absent', ...fields.map(({ name }) => name)];
    const needingInput = needInput ? fields.map(({ name }) => name) : [];
    const { batch: computedBatch, release } = computeTestChunk(out.finish(), fields, declaredNames, { needingInput }); // prettier-ignore
    const annotation = new Annotation({
      fields: annotationFieldsOf({ fields, needingInput }),
      includeErrors: true,
      schemaFields: declaredNames,
      targetDataset: '7',
    });
    const ourRecords = computedBatch.data
      .toArray()
      .map((row) => row.toJSON() as Record<string, unknown>);
    const types = new Map(computedBatch.columns.map(({ name, type }) => [name, type]));
    const textOf = (name: string, value: unknown): string => {
      if (typeof value === 'bigint') return String(value);
      const isWhole = types.get(name) === 'double' && Number.isInteger(value);
      if (isWhole) return Object.is(value, -0) ? '-0.0' : (value as number).toFixed(1);
      return JSON.stringify(value ?? null);
    };
    const differentLines: string[] = [];
    for (const [i, line] of lines.entries()) {
      const [record] = annotation.annotate(valueOfJson(completedRecord(line)) as PyDict).records;
      runtime.budget.start(0);
      for (const { name } of fields) {
        // Infinity is stored as null, so the expected text is changed accordingly.
        const expectedText = reprOf(runtime, record!.map.get(name) ?? null).replace(
          /^-?inf$/,
          'None',
        );
        const foundText = reprOf(runtime, valueOfJson(textOf(name, ourRecords[i]![name])));
        if (foundText !== expectedText)
          differentLines.push(`${line}, ${name}: ${foundText}, not ${expectedText}`);
      }
      const messages = record!.map.get('_errors') as PyDict | undefined;
      const storedErrors = JSON.parse(JSON.stringify(ourRecords[i]!['_errors'] ?? {})) as object;
      // Every stored object has the members that occur in any record, with null for missing ones, which are left out here.
      const storedMessages = Object.entries(storedErrors).filter(([, message]) => message !== null);
      const sameMessages = storedMessages.filter(
        ([name, message]) => messages?.map.get(name) === message,
      );
      if (
        sameMessages.length !== storedMessages.length ||
        storedMessages.length !== (messages?.map.size ?? 0)
      )
        differentLines.push(`${line}: errors ${JSON.stringify(storedMessages)}`);
    }
    expect([seed, differentLines]).toEqual([seed, []]);
    release();
    out.release();
  });

  /** Returns a record as it is stored: with all members that the column has. */
  function completedRecord(line: string): string {
    const record = JSON.parse(line) as { m?: Record<string, unknown> | null };
    if (record.m) record.m = { t: null, l: null, o: null, ...record.m };
    return JSON.stringify({ m: null, ...record });
  }
});
