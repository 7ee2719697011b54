import { describe, expect, test } from '@jest/globals';
import { AppError } from '../../../engine/core/errors.js';
import { unpackStrings } from '../../../engine/core/packed-strings.js';
import { Annotation } from '../../../engine/expression/annotate/annotate-record.js';
import { valueOfJson } from '../../../engine/expression/annotate/json-values.js';
import type { ExpressionHost, PyDict } from '../../../engine/expression/values/python-values.js';
import { HostAnswerCache } from '../../../scheduler/expressions/answers.js';
import { createHost } from '../../../scheduler/expressions/host-functions.js';
import { packAnswers } from '../../../scheduler/expressions/packed-answers.js';
import {
  callOfText,
  callText,
  callTextsOfTemplate,
  type HostCallResult,
  type HostCall,
} from '../../../scheduler/expressions/host-call-protocol.js';
import { annotationFieldsOf } from '../../../scheduler/expressions/columns/field-expressions.js';
import { JobResults } from '../../../scheduler/expressions/columns/job-results.js';
import { toPlainValue } from '../../../engine/expression/values/plain-result.js';
import { jsonOfValue } from '../../../engine/expression/annotate/json-text.js';
import { compileExpression } from '../../../engine/expression/expression.js';
import { seededRandom } from '../../random.js';
import { seed } from '../../seed.js';
import { parseChunk, computeTestChunk, evaluationOrigin } from './computed-chunk.js';

/* Tests that the results of expressions that call dataset functions are cached by the values that the expressions read (contract 19). */

/** Returns the answer of a simulated dataset: some keys are unknown, some have a long value, and some calls fail. */
function answerTo({ name, args }: HostCall): HostCallResult {
  const list = JSON.parse(args) as unknown[];
  const filters = list[name === 'dataset_count' ? 2 : 4] as [string, unknown][];
  const key = String(filters[0]![1]);
  if (key.endsWith('7')) throw new AppError('invalid', `no ${key}`);
  if (name === 'dataset_count') return { json: String(key.length), floats: [] };
  const value = key.endsWith('9') ? 'x'.repeat(3000) : `n${key}`;
  const values = key.endsWith('5') ? [] : [value, 'more'];
  return { json: JSON.stringify(values.slice(0, Number(list[2]))), floats: [] };
}

/** Matches the calls that a batch does not answer: all calls that fail, and some others. */
const unansweredCallPattern = /[37]"\]\]/;

/** Returns the host of one job in one thread, which caches answers, the list of the calls that it asks, and the kept results of the job. */
function newJobCache() {
  const askedCalls: string[] = [];
  const answers = new HostAnswerCache();
  answers.connectHost((request) => {
    if (!('batch' in request)) {
      askedCalls.push(`alone ${callText(request)}`);
      return answerTo(request);
    }
    const { batch, template } = request;
    const texts = template
      ? callTextsOfTemplate(template, unpackStrings(batch))
      : unpackStrings(batch);
    askedCalls.push(...texts);
    return packAnswers(
      texts.map((text) => (unansweredCallPattern.test(text) ? null : answerTo(callOfText(text)))),
    );
  });
  return {
    asked: askedCalls,
    host: createHost(evaluationOrigin, answers),
    jobResults: new JobResults(),
  };
}

/** Returns a host that answers each call when it is evaluated, without batches. */
function newDirectHost(): ExpressionHost {
  const answers = new HostAnswerCache();
  answers.connectHost((request) => answerTo(request as HostCall));
  const { callPrefetcher: _, ...host } = createHost(evaluationOrigin, answers);
  return host;
}

const datasetCallText = (key: string, limit = 1): string =>
  `dataset_field_values(values, 'name', limit=${limit}, filters=[('key__exact', ${key})])`;
const computedFieldParams = [
  {
    name: 'direct',
    expression: datasetCallText('record.key'),
    data_type: 'string',
    is_list: false,
  },
  { name: 'all', expression: datasetCallText('record.key', 2), data_type: 'string', is_list: true },
  {
    name: 'misfit',
    expression: datasetCallText('record.key'),
    data_type: 'integer',
    is_list: false,
  },
  { name: 'given', expression: datasetCallText('record.key', 2) },
  {
    name: 'found',
    expression: `${datasetCallText('record.key')} and 'some' or 'none'`,
    data_type: 'string',
  },
  {
    name: 'nested',
    expression: datasetCallText(`(${datasetCallText('record.key')} or ['none'])[0]`),
    is_list: false,
  },
  { name: 'count', expression: "dataset_count(values, filters=[('key', record.number)])" },
  {
    name: 'pair',
    expression: datasetCallText("str(record.number) + (record.key or '')"),
    is_list: false,
  },
  {
    name: 'part',
    expression: datasetCallText("record.key[1:] + 'z'"),
    is_transient: true,
    is_list: false,
  },
  {
    name: 'after',
    expression: datasetCallText('record.part'),
    depends_on: ['part'],
    is_list: false,
  },
  { name: 'size', expression: `len(${datasetCallText('record.key')})`, data_type: 'long' },
  { name: 'upper', expression: 'record.key.upper()', data_type: 'string' },
  { name: 'doubled', expression: 'record.number * 2' },
];

/** Fields one of which changes a value that the next one reads. */
const changingFields = [
  { name: 'changed', expression: "record.list.append('k1')", is_transient: true },
  { name: 'listed', expression: datasetCallText('record.list'), is_list: false },
  ...computedFieldParams,
];

/** Computed fields, all but one of which call a dataset function once with a text of the record; no two of them make the same call. */
const joinedFields = [
  {
    name: 'direct',
    expression: datasetCallText('record.key'),
    data_type: 'string',
    is_list: false,
  },
  { name: 'all', expression: datasetCallText('record.key', 2), data_type: 'string', is_list: true },
  {
    name: 'misfit',
    expression: datasetCallText('record.key', 3),
    data_type: 'integer',
    is_list: false,
  },
  { name: 'given', expression: datasetCallText('record.key', 4) },
  { name: 'auto', expression: datasetCallText('record.key', 5), is_list: false },
  {
    name: 'none',
    expression: datasetCallText('record.key', 0),
    data_type: 'string',
    is_list: false,
  },
  { name: 'size', expression: "dataset_count(values, filters=[('key', record.key)])" },
  {
    name: 'first',
    expression: `${datasetCallText('record.key', 6)}[0]`,
    data_type: 'string',
    is_list: false,
  },
  { name: 'either', expression: `(${datasetCallText('record.key', 7)} or ['none'])[0]` },
  { name: 'length', expression: `len(${datasetCallText('record.key', 8)}) + 1`, data_type: 'long' },
  { name: 'same', expression: `${datasetCallText('record.key', 9)}[0] == 'n' + record.key` },
  { name: 'some', expression: `record.key if ${datasetCallText('record.key', 10)} else 'none'` },
  {
    name: 'listed',
    expression: `[record.key] if ${datasetCallText('record.key', 11)} else ['none', None]`,
  },
  { name: 'doubled', expression: 'record.number * 2' },
];

describe(`fields of datasets are those of the records one by one (seed ${seed})`, () => {
  const next = seededRandom(seed);
  const belowLimit = (limit: number): number => Math.floor(next() * limit);
  const { runtime } = compileExpression('1');
  const keyStarts = ['k', 'k', 'k', 'kü"', 'k😀\\\n'];

  test.each([
    ['whatever the order of the keys', computedFieldParams],
    ['also where an expression changes a list', changingFields],
    ['also where texts alone decide the calls', joinedFields],
    ['also where fields need a value of the record', joinedFields, true],
  ])('in chunks that share a job, %s', (_, fields, needInput = false) => {
    const { asked: askedCalls, host, jobResults } = newJobCache();
    const needingInput = needInput ? fields.map(({ name }) => name) : [];
    const declaredNames = ['key', 'number', 'list', ...fields.map(({ name }) => name)];
    const annotation = new Annotation({
      fields: annotationFieldsOf({ fields, needingInput }),
      includeErrors: true,
      data: valueOfJson('{"values":"5"}') as PyDict,
      schemaFields: declaredNames,
    });
    const directHost = newDirectHost();
    for (let chunk = 0; chunk < 4; chunk++) {
      const lines = Array.from({ length: 300 }, () =>
        JSON.stringify({
          ...(next() < 0.9 && { key: next() < 0.05 ? null : `${keyStarts[belowLimit(keyStarts.length)]!}${belowLimit(150)}` }), // prettier-ignore
          number: chunk === 3 ? `s${belowLimit(5)}` : next() < 0.1 ? null : belowLimit(5),
          list: [`k${belowLimit(20)}`],
        }),
      );
      const out = parseChunk(lines);
      const givenContext = { data: '{"values":"5"}', host, jobResults, needingInput };
      const { batch: computedBatch, release } = computeTestChunk(
        out.finish(),
        fields,
        declaredNames,
        givenContext,
      );
      const plainNumber = (_: string, value: unknown): unknown => typeof value === 'bigint' ? Number(value) : value; // prettier-ignore
      const ourRecords = computedBatch.data.toArray().map((row) => JSON.parse(JSON.stringify(row, plainNumber)) as Record<string, unknown>); // prettier-ignore
      release();
      out.release();
      for (const [i, line] of lines.entries()) {
        const record = valueOfJson(JSON.stringify({ key: null, ...(JSON.parse(line) as object) })) as PyDict; // prettier-ignore
        const [annotatedRecord] = annotation.annotate(record, directHost).records;
        runtime.budget.start(0);
        const expectedRecord = JSON.parse(jsonOfValue(toPlainValue(runtime, annotatedRecord!), 1e6)) as Record<string, unknown>; // prettier-ignore
        for (const name of [...fields.map((field) => field.name), '_errors'])
          expect([line, name, withoutNulls(ourRecords[i]![name])]).toEqual([line, name, withoutNulls(expectedRecord[name])]); // prettier-ignore
      }
    }
    // Each call that a batch answers was requested only once.
    const answeredCalls = askedCalls.filter((one) => !unansweredCallPattern.test(one));
    expect(answeredCalls.filter((one, i) => answeredCalls.indexOf(one) !== i)).toEqual([]);
  });
});

/** Returns a value in comparable form: members that are null are left out. */
function withoutNulls(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value ?? null;
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== null));
}

test('each key is evaluated and asked for once, in all chunks of a job', () => {
  const { asked: askedCalls, host, jobResults } = newJobCache();
  for (let chunk = 0; chunk < 3; chunk++) {
    const lines = Array.from({ length: 18_000 }, (_, i) => JSON.stringify({ key: `k${(i * 7) % 1000}` })); // prettier-ignore
    const out = parseChunk(lines);
    const givenContext = { data: '{"values":"5"}', host, jobResults };
    const { release } = computeTestChunk(
      out.finish(),
      [computedFieldParams[0]!],
      ['key', 'direct'],
      givenContext,
    );
    release();
    out.release();
  }
  const [singleCalls, batchedCalls] = [true, false].map((isAlone) => askedCalls.filter((one) => one.startsWith('alone ') === isAlone)); // prettier-ignore
  expect(batchedCalls).toHaveLength(1000);
  expect(singleCalls).toHaveLength(200);
});
