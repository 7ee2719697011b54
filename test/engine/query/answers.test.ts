import { tableFromIPC } from 'apache-arrow';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parseJson } from '../../../engine/core/json.js';
import { parseExportParams, parseQuery } from '../../../engine/query/request/query-request.js';
import { queryEngine } from '../../../engine/query/plan/query-engine.js';
import {
  lookupRecords,
  runPage,
  runQuery,
  runQueryAsLines,
} from '../../../engine/query/plan/run-query.js';
import type { Columns } from '../../../engine/core/types.js';
import {
  readPageBytes,
  column,
  fieldRows,
  listColumn,
  openEngineFixture,
  recordId,
  type EngineFixture,
  type TestDataset,
  type TestRow,
  enginesUnderTest,
} from './dataset.js';
import { createSixRecordDataset } from './six-records.js';

describe.each(enginesUnderTest)('by %s', (_, threads) => {
  let engineFixture: EngineFixture;
  let dataset: TestDataset;
  beforeAll(async () => {
    engineFixture = await openEngineFixture(threads);
    dataset = await engineFixture.newDataset(columns, [[fullRecord], [{}, recordWithGaps]]);
  });
  afterAll(() => engineFixture.close());

  const columns: Columns = [
  column('s', 'string'),
  column('big', 'long'),
  column('small', 'integer'),
  column('d', 'double'),
  column('f', 'float'),
  column('when', 'date'),
  column('yes', 'boolean'),
  column('raw', 'json'),
  listColumn(column('tags', 'string')),
  listColumn(column('longs', 'long')),
  listColumn(column('dates', 'date')),
  column('o', 'object', [column('a', 'string'), column('b', 'object', [column('c', 'long')]), listColumn(column('l', 'double'))]),
  listColumn(column('samples', 'object', [column('GT', 'string'), listColumn(column('AD', 'integer'))])),
  { ...column('S', 'string'), physical: 'S~2' },
]; // prettier-ignore
  const fullRecord: TestRow = {
    s: 'é"\\\n\u0000\u2028😀',
    big: 9223372036854775807n,
    small: -2147483648,
    d: 1e300,
    f: Math.fround(0.1),
    when: '2016-05-01T12:30:00.500',
    yes: false,
    raw: '{"b": [1.50, {"a": 9007199254740993}], "b2": null}',
    tags: ['x', 'y"'],
    longs: [9007199254740993n, -1n],
    dates: ['2016-05-01', '0099-12-31T23:59:59'],
    o: { a: 'A', b: { c: 5n }, l: [0.5, null] },
    samples: [{ GT: '0/1', AD: [1, 2] }, { GT: '1/1' }],
    S: 'other',
  };
  const recordWithGaps: TestRow = {
    s: '',
    tags: [],
    longs: [null],
    o: { b: {} },
    samples: [{}, null],
  };

  const fullRecordJson =
    '"s":"é\\"\\\\\\n\\u0000\u2028😀","big":9223372036854775807,"small":-2147483648,"d":1e+300,"f":0.1,' +
    '"when":"2016-05-01T12:30:00.500000","yes":false,"raw":{"b": [1.50, {"a": 9007199254740993}], "b2": null},' +
    '"tags":["x","y\\""],"longs":[9007199254740993,-1],"dates":["2016-05-01","0099-12-31T23:59:59"],' +
    '"o":{"a":"A","b":{"c":5},"l":[0.5,null]},"samples":[{"GT":"0/1","AD":[1,2]},{"GT":"1/1"}],"S":"other"';
  const emptyRecordJson =
    '"s":null,"big":null,"small":null,"d":null,"f":null,"when":null,"yes":null,"raw":null,"tags":null,"longs":null,' +
    '"dates":null,"o":null,"samples":null,"S":null';
  const recordWithGapsJson =
    '"s":"","big":null,"small":null,"d":null,"f":null,"when":null,"yes":null,"raw":null,"tags":[],"longs":[null],' +
    '"dates":null,"o":{"b":{}},"samples":[{},null],"S":null';

  async function ask(body: object, of: TestDataset = dataset): ReturnType<typeof runQuery> {
    return runQuery(engineFixture.engine, of.snapshot, of.fields, parseQuery(body, of.fields));
  }

  describe('a record', () => {
    test('is printed exactly: every key at the top, inside objects only those with a value', async () => {
      const idsJson = (id: string): string => `"_id":"${id}","_commit":"4812",`;
      const { results } = await ask({});
      expect(results).toBe(
        `[{${idsJson(recordId(0, 0))}${fullRecordJson}},{${idsJson(recordId(1, 0))}${emptyRecordJson}},{${idsJson(recordId(1, 1))}${recordWithGapsJson}}]`,
      );
    });

    test('has the keys in the order of the fields, then as stored, or in the requested order', async () => {
      const orderedFields = dataset.fields.map((row) => ({
        ...row,
        ordering: row.name === 'yes' ? 0 : row.name === 'S' ? 1 : null,
      }));
      const { results } = await ask({ limit: 1 }, { ...dataset, fields: orderedFields });
      const keys = Object.keys((parseJson(results) as object[])[0]!);
      expect(keys).toEqual(['_id', '_commit', 'yes', 'S', 's', 'big', 'small', 'd', 'f', 'when', 'raw', 'tags', 'longs', 'dates', 'o', 'samples']); // prettier-ignore
      const answerWithFields = await ask({ limit: 1, fields: ['small', 'o.b', '_id', 's'] });
      expect(answerWithFields.results).toBe(
        `[{"small":-2147483648,"o":{"b":{"c":5}},"_id":"${recordId(0, 0)}","s":"é\\"\\\\\\n\\u0000\u2028😀"}]`,
      );
    });

    test('shows a declared field without values as null, and filters miss it', async () => {
      const declaredField = {
        ...dataset.fields[0]!,
        name: 'later',
        path: ['later'],
        dataType: 'auto' as const,
      };
      const datasetWithDeclared = { ...dataset, fields: [...dataset.fields, declaredField, { ...declaredField, name: 'flag', path: ['flag'], dataType: 'long' as const }] }; // prettier-ignore
      expect(
        (await ask({ fields: ['later', 'flag'], limit: 1 }, datasetWithDeclared)).results,
      ).toBe('[{"later":null,"flag":null}]');
      const conditions = [['later', null], ['later', 'x'], ['flag', null], ['flag__gt', 3], ['flag__in', [1]]]; // prettier-ignore
      const totals = await Promise.all(
        conditions.map(async (pair) => (await ask({ filters: [pair] }, datasetWithDeclared)).total),
      );
      expect(totals).toEqual([3, 0, 3, 0, 0]);
      const flagNotOne = {
        filters: [{ not: ['flag', 1] }],
        ordering: ['flag', '-later'],
        facets: { flag: {}, later: {} },
      };
      const answer = await ask(flagNotOne, datasetWithDeclared);
      expect([answer.total, answer.facets]).toEqual([3, '{"flag":{"count":0,"min":null,"max":null,"avg":null,"sum":null},"later":[]}']); // prettier-ignore
    });

    test('has dates from the year 0 to 9999', async () => {
      const dates = ['0000-01-01', '0000-02-29T23:59:59', '0000-12-31T23:59:59.000001', '0001-01-01', '1969-12-31T23:59:59.999999', '9999-12-31T23:59:59.999999']; // prettier-ignore
      const datedDataset = await engineFixture.newDataset([column('when', 'date'), listColumn(column('all', 'date'))], [dates.map((when) => ({ when, all: dates }))]); // prettier-ignore
      const { results, facets } = await ask(
        { fields: ['when', 'all'], facets: ['when'] },
        datedDataset,
      );
      expect(JSON.parse(results)).toEqual(dates.map((when) => ({ when, all: dates })));
      expect(JSON.parse(facets!)).toEqual({ when: dates.map((when) => [when, 1]) });
      const totals = dates.map(
        async (when) => (await ask({ filters: [['when', when]] }, datedDataset)).total,
      );
      expect(await Promise.all(totals)).toEqual([1, 1, 1, 1, 1, 1]);
      expect((await ask({ filters: [['when__lt', '0001-01-01']] }, datedDataset)).total).toBe(3);
    });

    test('is found by longs beyond 2^53, exactly', async () => {
      const searchedLongs = [
        9007199254740993n,
        9007199254740992n,
        '9007199254740993',
        9223372036854775808n,
      ];
      const totals = await Promise.all(
        searchedLongs.map(async (value) => (await ask({ filters: [['longs', value]] })).total),
      );
      expect(totals).toEqual([1, 0, 1, 0]);
    });

    test('is found by a 32-bit float as it was written', async () => {
      expect((await ask({ filters: [['f', 0.1]] })).total).toBe(1);
      expect((await ask({ filters: [['f__gt', 0.1]] })).total).toBe(0);
      expect((await ask({ facets: { f: { facet_type: 'terms' } } })).facets).toBe(
        '{"f":[[0.1,1]]}',
      );
    });
  });

  describe('a dataset without records', () => {
    test.each([[[]], [columns]])('answers everything', async (storedColumns) => {
      const emptyDataset = await engineFixture.newDataset(storedColumns, []);
      const fields = fieldRows(columns, []);
      const facets = {
        s: {},
        d: {},
        when: { facet_type: 'histogram' },
        big: { facet_type: 'percentiles', percents: [50] },
      };
      const body = { filters: [['s', 'x']], ordering: ['-big', 'tags'], facets };
      const answer = await ask(body, { ...emptyDataset, fields });
      expect(answer).toMatchObject({ total: 0, results: '[]', count: 0, offset: null });
      expect(JSON.parse(answer.facets!)).toMatchObject({
        s: [],
        d: { count: 0, min: null },
        when: [],
        big: { '50.0': null },
      });
      expect(await lookupRecords(engineFixture.engine, emptyDataset.snapshot, fields, ['x'])).toBe(
        '[]',
      );
    });
  });

  describe('lookup', () => {
    test('returns records in the order of the ids, each once, without unknown ids', async () => {
      const ids = [recordId(1, 1), 'nope', recordId(0, 0), recordId(1, 1)];
      const foundRecords = parseJson(
        await lookupRecords(engineFixture.engine, dataset.snapshot, dataset.fields, ids),
      ) as {
        _id: string;
      }[];
      expect(foundRecords.map(({ _id: id }) => id)).toEqual([recordId(1, 1), recordId(0, 0)]);
      expect(await lookupRecords(engineFixture.engine, dataset.snapshot, dataset.fields, [])).toBe(
        '[]',
      );
    });
  });

  describe('a page of cells', () => {
    test('flattens objects, keeps lists as JSON, and names columns by their titles', async () => {
      const titledFields = dataset.fields.map((row) =>
        row.name === 'o.b.c' ? { ...row, title: 'Count, "all"' } : row,
      );
      const request = parseExportParams({ exclude_fields: ['_commit'], limit: 1, ordering: ['s'], filters: [['small', -2147483648]] }, titledFields); // prettier-ignore
      const { snapshot } = dataset;
      const page = await runPage(engineFixture.engine, snapshot, titledFields, request, 'csv');
      const text = (await readPageBytes(page.results)).toString();
      const cells = [
        recordId(0, 0), fullRecord['s'], '9223372036854775807', '-2147483648', '1e+300', '0.1', '2016-05-01T12:30:00.500000',
        'false', fullRecord['raw'], '["x","y\\""]', '[9007199254740993,-1]', '["2016-05-01","0099-12-31T23:59:59"]', 'A', '5',
        '[0.5,null]', '[{"GT":"0/1","AD":[1,2]},{"GT":"1/1"}]', 'other',
      ]; // prettier-ignore
      expect(parse(text)).toEqual([
        ['_id', 's', 'big', 'small', 'd', 'f', 'when', 'yes', 'raw', 'tags', 'longs', 'dates', 'o.a', 'Count, "all"', 'o.l', 'samples', 'S'], // prettier-ignore
        cells,
      ]);
      for (const delimiter of [',', '\t'] as const) {
        const lines = await runQueryAsLines(
          engineFixture.engine,
          snapshot,
          titledFields,
          request,
          delimiter,
        );
        expect(lines.results.map((line) => parse(line, { delimiter }))).toEqual([[cells]]);
      }
      const { results } = await runQueryAsLines(
        engineFixture.engine,
        snapshot,
        titledFields,
        request,
        undefined,
      );
      const answer = await runQuery(engineFixture.engine, snapshot, titledFields, request);
      expect(`[${results.join(',')}]`).toBe(answer.results);
    });
  });

  describe('an Arrow page', () => {
    test('holds the same values, typed, under the fields’ own names', async () => {
      const request = parseQuery({ limit: 2 }, dataset.fields);
      const page = await runPage(
        engineFixture.engine,
        dataset.snapshot,
        dataset.fields,
        request,
        'arrow',
      );
      expect([page.total, page.offset]).toEqual([3, 2]);
      const table = tableFromIPC(await readPageBytes(page.results));
      expect(table.schema.fields.map(({ name, type }) => `${name}: ${String(type)}`)).toEqual([
      '_id: Utf8', '_commit: Utf8', 's: Utf8', 'big: Int64', 'small: Int32', 'd: Float64', 'f: Float32',
      'when: Timestamp<MICROSECOND, UTC>', 'yes: Bool', 'raw: Utf8', 'tags: List<Utf8>', 'longs: List<Int64>',
      'dates: List<Timestamp<MICROSECOND, UTC>>', 'o: Struct<{a:Utf8, b:Struct<{c:Int64}>, l:List<Float64>}>',
      'samples: List<Struct<{GT:Utf8, AD:List<Int32>}>>', 'S: Utf8',
    ]); // prettier-ignore
      const [firstRecord, secondRecord] = table
        .toArray()
        .map((row) => JSON.parse(JSON.stringify(row, bigintAsString)) as Record<string, unknown>);
      expect(firstRecord).toMatchObject({
        s: fullRecord['s'],
        big: '9223372036854775807',
        small: -2147483648,
        d: 1e300,
        yes: false,
        raw: fullRecord['raw'],
        tags: ['x', 'y"'],
        longs: ['9007199254740993', '-1'],
        o: { a: 'A', b: { c: '5' }, l: [0.5, null] },
        samples: [
          { GT: '0/1', AD: [1, 2] },
          { GT: '1/1', AD: null },
        ],
        S: 'other',
      });
      expect(secondRecord).toMatchObject({ s: null, big: null, tags: null, o: null });
      const micros = (table.getChild('when')!.data[0]!.values as BigInt64Array)[0];
      expect(micros).toBe(BigInt(Date.parse('2016-05-01T12:30:00.500Z')) * 1000n);
    });

    test('is a stream with a schema even when nothing matches', async () => {
      const request = parseQuery(
        { filters: [['s', 'nothing']], fields: ['s', 'o.a'] },
        dataset.fields,
      );
      const page = await runPage(
        engineFixture.engine,
        dataset.snapshot,
        dataset.fields,
        request,
        'arrow',
      );
      const table = tableFromIPC(await readPageBytes(page.results));
      expect([table.numRows, table.schema.names]).toEqual([0, ['s', 'o']]);
      const emptyPage = await runPage(
        engineFixture.engine,
        dataset.snapshot,
        dataset.fields,
        parseQuery({ limit: 0 }, dataset.fields),
        'arrow',
      );
      expect([
        tableFromIPC(await readPageBytes(emptyPage.results)).numRows,
        emptyPage.total,
      ]).toEqual([0, 3]);
    });
  });

  describe('an answer', () => {
    test('is read without a second statement if the page determines the total', async () => {
      const sixDataset = await createSixRecordDataset(engineFixture);
      const statements: string[] = [];
      const { engine } = engineFixture.engine.sql;
      const observingEngine = queryEngine({
        language: engine.language,
        run: (sql, params, options) => (statements.push(sql), engine.run(sql, params, options)),
        stream: (sql, params, options) => engine.stream(sql, params, options),
        close: () => engine.close(),
      });
      const listCountStatements = async (body: object): Promise<readonly boolean[]> => {
        statements.length = 0;
        const request = parseQuery(body, sixDataset.fields);
        await runQuery(observingEngine, sixDataset.snapshot, sixDataset.fields, request);
        return statements.map((sql) => sql.includes('count(*)'));
      };
      expect(await listCountStatements({ filters: [['stars', 1]] })).toEqual([false]);
      expect(await listCountStatements({ filters: [['stars__gt', 0]], limit: 1 })).toEqual([
        false,
        true,
      ]);
    });
  });

  function bigintAsString(_: string, value: unknown): unknown {
    return typeof value === 'bigint' ? String(value) : value;
  }
});
