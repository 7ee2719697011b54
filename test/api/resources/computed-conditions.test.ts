import { beforeAll, describe, expect, test } from '@jest/globals';
import { readdirSync } from 'node:fs';
import { seededRandom, type Random } from '../../random.js';
import { seed } from '../../seed.js';
import { caseCountByTier } from '../../tier.js';
import { pollUntil } from '../../until.js';
import { startServerFixture } from '../server-fixture.js';
import { sampleComputedFields, makeSampleRecords } from '../sample-records.js';
import { grantPermission, idOf, waitForJob, type Client } from '../server.js';

/*
 * Compares queries that find, sort and count by fields that they compute (contract 8.1, 19.5) with the same queries of a dataset in which a
 * migration has stored these fields.
 */

const { server, ann, vaultId, newDataset } = await startServerFixture();
const genes = ['BRCA1', 'TP53', 'EGFR', 'Kras', null];
const words = ['stop gained', 'stop lost', 'splice site', 'missense', ''];
const generatedRecordCount = 600;
const records = makeSampleRecords(generatedRecordCount, genes).map((record, i) => ({
  ...record,
  note: words[(i * 3 + Math.floor(i / 5)) % 5],
}));

const computedFields = [
  ...sampleComputedFields,
  { name: 'label', expression: "(record.gene or 'none').lower() + str(record.i % 7)", data_type: 'string' },
  { name: 'isBig', expression: 'record.i > 300', data_type: 'boolean' },
  { name: 'words', expression: "' '.join([record.note] * (1 + record.i % 3))", data_type: 'text' },
  { name: 'symbol', expression: 'record.gene and record.gene.lower()', data_type: 'string' },
  { name: 'double', expression: 'record.i * 2' },
] as const; // prettier-ignore

let sourceId: number;
let storedTwinId: number;

beforeAll(async () => {
  [sourceId, storedTwinId] = [await newDataset(), await newDataset()];
  // The records are imported in parts, so that there are several segments.
  for (let from = 0; from < generatedRecordCount; from += 250) {
    const body = { dataset_id: sourceId, data_records: records.slice(from, from + 250) };
    const createdImport = await ann.post('/v2/dataset_imports', body);
    expect((await waitForJob(ann, `/v2/dataset_imports/${idOf(createdImport)}`)).json['status']).toBe('completed'); // prettier-ignore
  }
  await migrateRecords({ target_id: sourceId, commit_mode: 'delete', source_params: { filters: [['i__range', [40, 60]]] } }); // prettier-ignore
  await migrateRecords({ target_id: storedTwinId, target_fields: computedFields });
});

async function migrateRecords(body: object): Promise<void> {
  const createdMigration = await ann.post('/v2/dataset_migrations', {
    source_id: sourceId,
    ...body,
  });
  expect([createdMigration.status, createdMigration.text]).toEqual([201, expect.any(String)]);
  const { json } = await waitForJob(ann, `/v2/dataset_migrations/${idOf(createdMigration)}`);
  expect([json['status'], json['error_message']]).toEqual(['completed', null]);
}

const query = (body: object, client: Client = ann) =>
  client.post(`/v2/datasets/${sourceId}/data`, body);
const queryComputed = (body: object, client?: Client) =>
  query({ target_fields: computedFields, ...body }, client);

/** Returns the numbers of the records in an answer, and other properties that do not depend on how the answer was computed. */
function summaryOf({ status, json, text }: Awaited<ReturnType<typeof query>>): object {
  if (status !== 200) return { status, text };
  const { results, total, offset, facets } = json;
  return { total, offset, facets, rows: (results as readonly { i: number }[]).map(({ i }) => i) };
}

/** Expects that a query gives the same answer over computed fields as over stored fields. */
async function expectSameAsStored(body: object, caseName = ''): Promise<number> {
  const sentBody = { limit: 20, ...body, fields: ['i'] };
  const [computedAnswer, storedAnswer] = [
    await queryComputed(sentBody),
    await ann.post(`/v2/datasets/${storedTwinId}/data`, sentBody),
  ];
  expect([storedAnswer.status, caseName, sentBody, summaryOf(computedAnswer)]).toEqual([
    200,
    caseName,
    sentBody,
    summaryOf(storedAnswer),
  ]);
  return storedAnswer.json['total'] as number;
}

describe('as if the fields were stored', () => {
  test.each<[object, number]>([
    [{ filters: [['depth__gt', 15]] }, 30],
    [{ filters: [['i__lt', 200], ['ratio__gte', 0.5]], ordering: ['-ratio', 'i'] }, 10],
    [{ filters: [{ or: [['label', 'tp533'], ['i', 7]] }] }, 1],
    [{ filters: [{ not: [{ or: [['isBig', true], ['info.af__lt', 20]] }] }], facets: { tags: {}, depth: { facet_type: 'histogram', interval: 5 } } }, 50],
    [{ filters: [['ratio', null]], facets: ['label'] }, 10],
    [{ filters: ['day__range', ['2012-01-01', '2014-01-01']], ordering: 'day' }, 50],
    [{ filters: { and: [['symbol', 'kras'], { and: [['vaf__lt', 30], ['double__gt', 100]] }] } }, 5],
    [{ filters: [['parts.rest', 3], ['parts.csq', 'stop']], facets: ['parts.rest'] }, 10],
    [{ query: 'label:brca1*', ordering: ['-i'] }, 50],
    [{ query: '_exists_:ratio' }, 100],
    [{ query: 'NOT _missing_:label AND i:[0 TO 300]' }, 100],
    [{ query: 'la\\bel:brca1*' }, 50],
    [{ query: 'words:"stop gained"' }, 100],
    [{ query: 'words:stop AND i:[0 TO 300]' }, 60],
    [{ query: 'note:stop', filters: [['isBig', false]], ordering: ['double'] }, 60],
    [{ filters: [['words__contains', 'splice']], limit: 0, facets: { isBig: { facets: { label: { limit: 2 } } } } }, 50],
    [{ ordering: ['-label', '-depth'], offset: 40 }, 500],
    [{ facets: ['symbol', 'note'], filters: [['note', 'missense']] }, 50],
    [{ filters: [['_id', 'none'], ['depth', 1]] }, 0],
  ])('%j', async (body, leastTotal) => {
    expect(await expectSameAsStored(body)).toBeGreaterThanOrEqual(leastTotal);
  }); // prettier-ignore

  test('a stored query ranks the records that a computed field leaves', async () => {
    const body = { query: 'note:stop OR note:gained', filters: [['label__prefix', 'tp']] };
    const storedSummary = summaryOf(await query({ query: body.query, limit: 1000, fields: ['i'] }));
    const matchingRows = (storedSummary as { rows: readonly number[] }).rows.filter((i) => records[i]!.gene === 'TP53'); // prettier-ignore
    expect(summaryOf(await queryComputed({ ...body, limit: 1000, fields: ['i'] }))).toMatchObject({ rows: matchingRows, total: matchingRows.length }); // prettier-ignore
    expect(matchingRows.length).toBeGreaterThan(10);
  });

  test(`random queries (STRANDLAKE_SEED=${seed})`, async () => {
    const next = seededRandom(seed);
    for (let i = 0; i < caseCountByTier(5, 500); i++)
      await expectSameAsStored(randomQuery(next), `STRANDLAKE_SEED=${seed}, case ${i}`);
  });
});

function pickRandom<T>(next: Random, list: readonly T[]): T {
  return list[Math.floor(next() * list.length)]!;
}

const numericFields = ['depth', 'ratio', 'double', 'i', 'vaf', 'info.af', 'parts.rest'];
const textFields = ['label', 'symbol', 'gene', 'tags', 'note'];

function randomFilter(next: Random, depth: number): unknown {
  const kind = Math.floor(next() * (depth > 2 ? 5 : 8));
  const randomNumber = (): number => Math.floor(next() * 40) / 2;
  const randomText =
    (): string => pickRandom(next, ['brca1', 'tp533', 'kras0', 'egfr', 'x1', 'TP53', 'missense', 'none2']); // prettier-ignore
  if (kind === 0) return [`${pickRandom(next, numericFields)}__${pickRandom(next, ['gt', 'lt', 'gte', 'lte'])}`, randomNumber()]; // prettier-ignore
  if (kind === 1)
    return [`${pickRandom(next, numericFields)}__range`, [randomNumber(), randomNumber() + 20]];
  if (kind === 2) return [`${pickRandom(next, textFields)}${pickRandom(next, ['', '__contains', '__prefix', '__iexact'])}`, randomText()]; // prettier-ignore
  if (kind === 3) return [pickRandom(next, [...numericFields, ...textFields]), null];
  if (kind === 4)
    return [`${pickRandom(next, textFields)}__in`, [randomText(), randomText(), randomText()]];
  const items = Array.from({ length: 1 + Math.floor(next() * 3) }, () => randomFilter(next, depth + 1)); // prettier-ignore
  return { [pickRandom(next, ['and', 'or', 'not'])]: items };
}

function randomQuery(next: Random): object {
  const randomList = <T>(most: number, make: () => T): T[] =>
    Array.from({ length: Math.floor(next() * (most + 1)) }, make);
  const ordering = randomList(2, () => pickRandom(next, ['', '-']) + pickRandom(next, ['depth', 'ratio', 'label', 'isBig', 'day', 'i', 'note', 'double'])); // prettier-ignore
  const facets = randomList(2, () => pickRandom(next, ['label', 'tags', 'depth', 'ratio', 'isBig', 'day', 'note', 'gene', 'symbol'])); // prettier-ignore
  return {
    filters: randomList(3, () => randomFilter(next, 0)),
    ordering,
    facets: [...new Set(facets)],
    offset: Math.floor(next() * 30),
    limit: Math.floor(next() * 40),
  };
}

describe('pages', () => {
  const x = { name: 'x', expression: 'record.i % 10', data_type: 'integer' };

  test('have the computed fields and the stored ones that are asked for', async () => {
    const { json } = await query({
      filters: [['x', 3]],
      ordering: ['-x', '-i'],
      limit: 1,
      fields: ['gene', 'note'],
      target_fields: [x],
    });
    const { gene, note } = records[593]!;
    expect(json['results']).toEqual([{ gene, note, x: 3 }]);
  });

  test('by cursor are the same as one page', async () => {
    const body = { filters: [['x__lt', 4]], ordering: ['x'], fields: ['i'], target_fields: [x] };
    const wholeAnswer = await query({ ...body, limit: 1000 });
    const pagedResults: unknown[] = [];
    for (let cursor: unknown = true; cursor !== null;) {
      const { json } = await query({ ...body, cursor, limit: 70 });
      pagedResults.push(...(json['results'] as readonly unknown[]));
      cursor = json['cursor'];
    }
    expect(pagedResults).toEqual(wholeAnswer.json['results']);
    expect(pagedResults).toHaveLength(wholeAnswer.json['total'] as number);
  });

  test('of JSON lines, in a batch, and after records are made of each', async () => {
    const body = { filters: [['x', 3]], limit: 2, fields: ['i'], target_fields: [x] };
    const lines = await ann.call('POST', `/v2/datasets/${sourceId}/data`, JSON.stringify(body), {
      accept: 'application/x-ndjson',
    });
    expect(lines.text).toBe('{"i":3,"x":3}\n{"i":13,"x":3}\n');
    const batch = await ann.post('/v2/batch_query', [{ ...body, dataset: sourceId }]);
    expect(batch.json).toMatchObject([{ status_code: 200, results: [{ i: 3, x: 3 }, { i: 13, x: 3 }] }]); // prettier-ignore
    const explodedAnswer = await query({
      ...body,
      target_fields: [x, { name: 'ad', expression: 'record.ad', is_list: true }],
      annotator_params: { post_annotation_expression: "explode(record, fields=['ad'])" },
    });
    expect((explodedAnswer.json['results'] as readonly { i: number }[]).map(({ i }) => i)).toEqual([3, 3, 13, 13]); // prettier-ignore
  });

  test('of an earlier version', async () => {
    const body = {
      filters: [
        ['x', 0],
        ['i__range', [30, 70]],
      ],
      fields: ['i'],
      target_fields: [x],
    };
    const { json } = await ann.get(`/v2/datasets/${sourceId}/commits`);
    const firstCommitId = (json['data'] as readonly { id: number }[]).at(-1)!.id;
    expect(summaryOf(await query(body))).toMatchObject({ rows: [30, 70] });
    expect(summaryOf(await query({ ...body, as_of: firstCommitId }))).toMatchObject({ rows: [30, 40, 50, 60, 70] }); // prettier-ignore
  });
});

describe('costs', () => {
  const x = { name: 'x', expression: 'record.i % 10', data_type: 'integer' };
  const costsOf = async (body: object): Promise<Record<string, unknown>> => {
    const { json } = await query({ limit: 1, explain: true, ...body });
    return (json['explain'] as { computed: Record<string, unknown> }).computed;
  };

  test('are explained: only the records that other filters leave are computed, once', async () => {
    const body = {
      filters: [
        ['i__lt', 30],
        ['x', 3],
      ],
      target_fields: [x],
    };
    const firstCosts = await costsOf(body);
    expect(firstCosts).toMatchObject({
      fields: ['x'],
      records: 30,
      is_cached: false,
      explain: { records: 30, nodes: [{ condition: expect.stringContaining('x'), matches: 3 }] },
    });
    expect(await costsOf({ ...body, offset: 1 })).toMatchObject({ records: 30, is_cached: true });
    const { json } = await query({ ...body, explain: true });
    expect(json['explain']).toMatchObject({
      records: 579,
      nodes: [{ path: 'filters[0]', matches: 30 }],
    });
    // Positions in the explanation of a query refer to the request.
    expect(json['explain']).toMatchObject({
      computed: { explain: { nodes: [{ path: 'filters[1]' }] } },
    });
  });

  test('are those of the fields that the query names, and of what these read', async () => {
    const target_fields = [
      { name: 'a', expression: 'record.i + 1', data_type: 'long' },
      { name: 'b', expression: 'record.a * 2', data_type: 'long', is_transient: true },
      { name: 'c', expression: 'dataset_query("nothing")' },
    ];
    expect(await costsOf({ filters: [['b__lt', 9]], target_fields })).toMatchObject({ fields: ['a', 'b'] }); // prettier-ignore
  });

  test('of expressions that depend on the user are paid by each request', async () => {
    const userField = { name: 'mine', expression: "user()['name']", data_type: 'string' };
    const body = { filters: [['mine', 'ann']], target_fields: [userField] };
    expect(await costsOf(body)).toMatchObject({ is_cached: false });
    const tableCount = readdirSync(server.data.fileTables).length;
    expect(await costsOf(body)).toMatchObject({ is_cached: false });
    expect(readdirSync(server.data.fileTables)).toHaveLength(tableCount);
    const bob = await server.user('bob');
    await grantPermission(server, vaultId, bob, 'read');
    expect([(await query(body)).json['total'], (await query(body, bob)).json['total']]).toEqual([579, 0]); // prettier-ignore
  });

  test('end when the client leaves', async () => {
    const expression = 'len([j for j in range(300000)])';
    const abortController = new AbortController();
    const sentQuery = fetch(`${server.url}/v2/datasets/${sourceId}/data`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ann.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ filters: [['x', 1]], target_fields: [{ name: 'x', expression }] }),
      signal: abortController.signal,
    }).catch((error: unknown) => (error as Error).name);
    const findWorkingTaskId = async (): Promise<number | undefined> =>
      server.scheduler.status().working[0];
    await pollUntil(async () => (await findWorkingTaskId()) !== undefined);
    const taskId = (await findWorkingTaskId())!;
    abortController.abort();
    expect(await sentQuery).toBe('AbortError');
    await pollUntil(async () => (await server.catalog.tasks.get(taskId))!.status === 'canceled');
  });
});

describe('400', () => {
  const x = { name: 'x', expression: 'record.i % 10', data_type: 'integer' };
  test.each<[object, object]>([
    [{ filters: [['x__gt', 'many']] }, { filters: [expect.stringContaining('many')] }],
    [{ filters: [['x', 1], ['genee', 'TP53']] }, { filters: [expect.stringContaining('Did you mean "gene"')] }],
    [{ filters: [['auto', 1], ['genee', 'TP53']], target_fields: [{ name: 'auto', expression: '1' }] }, { filters: [expect.stringContaining('at filters[1]')] }],
    [{ ordering: ['x', 'noted'] }, { ordering: [expect.stringContaining('noted')] }],
    [{ facets: { x: { facet_type: 'histogram', interval: 0 } } }, { facets: [expect.stringContaining('interval')] }],
    [{ filters: [['x', 1]], limit: -1 }, { limit: [expect.stringContaining('-1')] }],
    [{ filters: [['x', 1]], annotator_params: { pre_annotation_expression: 'record' } }, { filters: [expect.stringContaining('pre_annotation_expression')] }],
  ])('%j', async (body, expectedErrors) => {
    const { status, json } = await query({ target_fields: [x], ...body });
    expect([status, json]).toEqual([400, expectedErrors]);
  }); // prettier-ignore
});

test('tables end with their dataset', async () => {
  const id = await newDataset();
  const createdImport = await ann.post('/v2/dataset_imports', {
    dataset_id: id,
    data_records: [{ a: 1 }],
  });
  await waitForJob(ann, `/v2/dataset_imports/${idOf(createdImport)}`);
  const body = { filters: [['x', 2]], target_fields: [{ name: 'x', expression: 'record.a + 1' }] };
  expect((await ann.post(`/v2/datasets/${id}/data`, body)).json['total']).toBe(1);
  const listOwnTables = (): readonly string[] =>
    readdirSync(server.data.fileTables).filter((name) => name.startsWith(`${id}-`));
  expect(listOwnTables()).toHaveLength(1);
  expect((await ann.delete(`/v2/datasets/${id}`)).status).toBeLessThan(300);
  expect(listOwnTables()).toEqual([]);
});
