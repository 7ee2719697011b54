import { beforeAll, describe, expect, test } from '@jest/globals';
import { AppContext } from '../../../api/http/app-context.js';
import { answerHostRequest } from '../../../api/resources/expressions/dataset-functions.js';
import type { FunctionScope } from '../../../api/resources/expressions/function-scope.js';
import { loadPrincipal } from '../../../engine/catalog/access.js';
import { packStrings } from '../../../engine/core/packed-strings.js';
import { unpackAnswers } from '../../../scheduler/expressions/packed-answers.js';
import {
  callText,
  type BatchAnswers,
  type HostCallResult,
  type HostCall,
  type PackedAnswers,
} from '../../../scheduler/expressions/host-call-protocol.js';
import { startServerFixture } from '../server-fixture.js';
import { idOf, waitForJob, type Client } from '../server.js';
import { seededRandom } from '../../random.js';
import { seed } from '../../seed.js';

/* Tests that calls of dataset functions are answered together by few queries (contract 19; threat E8). */

const { server, ann, vaultId } = await startServerFixture();
const randomNumber = seededRandom(seed);
const randomBelow = (limit: number): number => Math.floor(randomNumber() * limit);
const pickRandom = <T>(values: readonly T[]): T => values[randomBelow(values.length)]!;

const words = ['a', 'A', 'b', 'ab', 'Ab', 'ß', 'SS', 'İ', 'i', 'K', '\u212a', 'ſ', 's', '', ' ', 'x y', '"', '7', '07', 'Ünï', 'ünÏ', '😀']; // prettier-ignore
const genes = ['BRCA1', 'brca1', 'TP53', 'P53', 'EGFR', 'nope'];
const variants = ['GRCH38-1-100-100-A', 'GRCH38-1-100-101-T', 'GRCH38-2-5-5-C', 'rs12', 'RS13'];
const longValues = [0, 7, -3, 9007199254740991];

/** Returns random records; all members except `id` may be missing. */
function randomRecords(count: number): readonly Record<string, unknown>[] {
  const optionalKey = (name: string, make: () => unknown, share = 0.85): object =>
    randomNumber() < share ? { [name]: make() } : {};
  const makeList = <T>(make: () => T): T[] => Array.from({ length: randomBelow(4) }, make);
  return Array.from({ length: count }, (_, id) => ({
    id,
    ...optionalKey('word', () => pickRandom(words)),
    ...optionalKey('number', () => pickRandom(longValues)),
    ...optionalKey('tags', () => makeList(() => pickRandom(words))),
    ...optionalKey('gene', () => pickRandom(genes)),
    ...optionalKey('variant', () => pickRandom(variants)),
    ...optionalKey('parts', () =>
      makeList(() => ({ name: pickRandom(words), size: randomBelow(3) })),
    ),
    ...optionalKey('inner', () => ({ word: pickRandom(words), score: randomBelow(8) / 4 })),
    ...optionalKey('prose', () => `${pickRandom(words)} and ${pickRandom(words)}`),
  }));
}

const targetFields = [
  { name: 'number', data_type: 'long' },
  { name: 'gene', entity_type: 'gene' },
  { name: 'variant', entity_type: 'variant' },
  { name: 'prose', data_type: 'text' },
];

async function newDataset(client: Client, parentVaultId: number, name: string, records: readonly object[]) {
  const datasetId = idOf(await client.post('/v2/datasets', { vault_id: parentVaultId, name }));
  await addRecords(client, datasetId, records);
  return datasetId;
} // prettier-ignore

async function addRecords(client: Client, datasetId: number, records: readonly object[]) {
  const body = { dataset_id: datasetId, data_records: records, target_fields: targetFields };
  const { json } = await waitForJob(client, `/v2/dataset_imports/${idOf(await client.post('/v2/dataset_imports', body))}`);
  expect([json['status'], json['error_message']]).toEqual(['completed', null]);
} // prettier-ignore

let datasetId: number;
let functionScope: FunctionScope;
let queryCount = 0;

beforeAll(async () => {
  datasetId = await newDataset(ann, vaultId, 'known', randomRecords(400));
  const context = server.app.nest.get(AppContext);
  const queryEngine = { ...context.queryEngine, onPlan: () => void queryCount++ };
  functionScope = {
    context: Object.create(context, { queryEngine: { value: queryEngine } }) as AppContext,
    caller: (await loadPrincipal(context.catalog, ann.user.id))!,
    signal: new AbortController().signal,
  };
});

/** Returns the result of a single call: the answer, or the message of its error. */
async function answerAlone(call: HostCall): Promise<HostCallResult | string> {
  return answerHostRequest(functionScope, call).then(
    (answer) => answer as HostCallResult,
    (error: unknown) => (error as Error).message,
  );
}

async function answerTogether(batch: readonly HostCall[]): Promise<BatchAnswers> {
  return answerBatchFor(functionScope, batch);
}

async function answerBatchFor(
  caller: FunctionScope,
  batch: readonly HostCall[],
): Promise<BatchAnswers> {
  const reply = await answerHostRequest(caller, { batch: packStrings(batch.map(callText)) });
  return unpackAnswers(reply as PackedAnswers);
}

/** Creates a call from a selection, with the arguments in the order of the declaration. */
type CreateHostCall = (selection: { entities?: unknown; filters?: unknown }) => HostCall;

const hostCallCreators: readonly CreateHostCall[] = [
  ...[[null, 1], [['id', 'word'], 3], ['parts', 2], [['inner.score'], 50]].flatMap(([fields, limit]) =>
    [null, '-number', ['word', 'id'], ['inner.score']].map((ordering): CreateHostCall => ({ entities = null, filters = null }) => ({
      name: 'dataset_query',
      args: JSON.stringify([datasetId, fields, limit, entities, filters, null, ordering]),
    }))),
  ...['id', 'word', 'tags', 'parts.size', 'inner', 'inner.score', 'word'].flatMap((field) =>
    [null, 1, 4].map((limit): CreateHostCall => ({ entities = null, filters = null }) => ({
      name: 'dataset_field_values',
      args: JSON.stringify([datasetId, field, limit, entities, filters, null]),
    }))),
  ({ entities = null, filters = null }) => ({
    name: 'dataset_count',
    args: JSON.stringify([datasetId, entities, filters, null]),
  }),
]; // prettier-ignore

/** Each function returns selections of one form, which differ only in their values. */
const selectionForms: readonly (() => { entities?: unknown; filters?: unknown })[] = [
  () => ({ filters: [['word', pickRandom(words)]] }),
  () => ({ filters: ['word__exact', pickRandom(words)] }),
  () => ({ filters: [['word__iexact', pickRandom(words)]] }),
  () => ({ filters: [['word__in', [pickRandom(words), pickRandom(words)]]] }),
  () => ({ filters: [['word', pickRandom([...words, null])]] }),
  () => ({ filters: [['number', pickRandom([...longValues, '7', 7.5, 'x'])]] }),
  () => ({ filters: [['tags', pickRandom(words)]] }),
  () => ({ filters: [['tags__exact', pickRandom(words)], ['number__gte', 0]] }),
  () => ({ filters: [['parts.name', pickRandom(words)], ['parts.size', randomBelow(3)]] }),
  () => ({ filters: [{ any: { path: 'parts', filters: [['name', pickRandom(words)]] } }] }),
  () => ({ filters: [['inner.word', pickRandom(words)], ['number', pickRandom(longValues)]] }),
  () => ({ filters: [{ or: [['word', pickRandom(words)], ['inner.word', pickRandom(words)]] }] }),
  () => ({ filters: [{ not: ['word', pickRandom(words)] }] }),
  () => ({ filters: [['prose', pickRandom(words)]] }),
  () => ({ filters: [['inner.score', randomBelow(8) / 4]] }),
  () => ({ filters: [['id', randomBelow(450)]] }),
  () => ({ entities: [['gene', pickRandom(genes)]] }),
  () => ({ entities: [['gene', [pickRandom(genes), pickRandom(genes)]]], filters: [['tags', pickRandom(words)]] }),
  () => ({ entities: [['variant', pickRandom(variants)]] }),
  () => ({ entities: [['gene', pickRandom(genes)], ['variant', pickRandom(variants)]] }),
  () => ({ filters: [['missing', pickRandom(words)]] }),
  () => ({}),
]; // prettier-ignore

describe(`answers to calls together are those to the calls alone (seed ${seed})`, () => {
  test.each(Array.from({ length: Number(process.env['STRANDLAKE_CASES'] ?? 12) }, (_, i) => i))(
    'batch %i',
    async () => {
      const calls = new Map<string, HostCall>();
      for (let group = 0; group < 12; group++) {
        const [createCall, makeSelection] = [
          pickRandom(hostCallCreators),
          pickRandom(selectionForms),
        ];
        for (let i = 0; i < 8; i++) {
          const call = createCall(makeSelection());
          calls.set(call.name + call.args, call);
        }
      }
      const batch = [...calls.values()];
      const answers = await answerTogether(batch);
      expect(answers).toHaveLength(batch.length);
      for (const [i, call] of batch.entries())
      if (answers[i] !== null) expect({ ...call, answer: answers[i] }).toEqual({ ...call, answer: await answerAlone(call) }); // prettier-ignore
    },
  );
});

/** Each function returns a selection that contains a text, at a different position. */
const selectionTemplates: readonly ((text: string) => { entities?: unknown; filters?: unknown })[] = [
  (text) => ({ filters: [['word__exact', text]] }),
  (text) => ({ filters: [['word__exact', [text]]] }),
  (text) => ({ filters: [['word', text]] }),
  (text) => ({ filters: [['word__iexact', text]] }),
  (text) => ({ filters: ['word__exact', text] }),
  (text) => ({ filters: [['tags__exact', text], ['number__gte', 0]] }),
  (text) => ({ filters: [['gene', 'BRCA1'], ['word__exact', text]] }),
  (text) => ({ filters: [['inner.word__exact', text]] }),
  (text) => ({ filters: [['parts.name__exact', text]] }),
  (text) => ({ filters: [{ or: [['word__exact', text], ['tags', 'a']] }] }),
  (text) => ({ filters: [{ not: ['word__exact', text] }] }),
  (text) => ({ filters: [['number', text]] }),
  (text) => ({ filters: [[text, 'a']] }),
  (text) => ({ entities: [['gene', text]] }),
]; // prettier-ignore

describe(`answers to calls that share a template are those to the calls alone (seed ${seed})`, () => {
  test.each(Array.from({ length: selectionTemplates.length }, (_, i) => i))(
    'template %i',
    async (i) => {
      for (const createCall of hostCallCreators) {
        const placeholder = 'a text that no value is';
        const selectionOf = selectionTemplates[i]!;
        const [before, after] =
          callText(createCall(selectionOf(placeholder))).split(JSON.stringify(placeholder)) as [string, string]; // prettier-ignore
        const someValues = [...words, ...genes].filter(
          () => randomNumber() < (createCall === hostCallCreators[0] ? 1 : 0.5),
        );
        const literals = someValues.map((text) => JSON.stringify(text));
        const request = { batch: packStrings(literals), template: { before, after } };
        const answers = unpackAnswers(
          (await answerHostRequest(functionScope, request)) as PackedAnswers,
        );
        expect(answers).toHaveLength(someValues.length);
        for (const [k, text] of someValues.entries())
        if (answers[k] !== null) expect({ ...createCall(selectionOf(text)), answer: answers[k] }).toEqual({ ...createCall(selectionOf(text)), answer: await answerAlone(createCall(selectionOf(text))) }); // prettier-ignore
      }
    },
  );
});

test('records that calls sharing a template look up are read once, as they are in each version', async () => {
  const targetId = await newDataset(ann, vaultId, 'looked up', [{ word: 'a', tags: ['x'] }]);
  const template = { before: `dataset_field_values[${targetId},"tags",null,null,[["word",`, after: ']],null]' }; // prettier-ignore
  const ownScope = { ...functionScope, signal: new AbortController().signal };
  const askEach = async (...texts: readonly string[]) => {
    const batch = packStrings(texts.map((text) => JSON.stringify(text)));
    const reply = (await answerHostRequest(ownScope, { batch, template })) as PackedAnswers;
    return unpackAnswers(reply).map((answer) => answer!.json);
  };
  queryCount = 0;
  expect(await askEach('A', 'b', 'c')).toEqual(['["x"]', '[]', '[]']);
  expect(await askEach('b', 'a')).toEqual(['[]', '["x"]']);
  expect(queryCount).toBe(1);
  await addRecords(ann, targetId, [
    { word: 'B', tags: ['y', 'z'] },
    { word: 'a', tags: ['w'] },
  ]);
  expect(await askEach('b', 'a')).toEqual(['["y","z"]', '["x","w"]']);
  expect(queryCount).toBe(2);
  await ann.delete(`/v2/datasets/${targetId}`);
  expect(unpackAnswers((await answerHostRequest(ownScope, { batch: packStrings(['"a"', '"b"']), template })) as PackedAnswers)).toEqual([null, null]); // prettier-ignore
});

test('calls that differ in one value become one query', async () => {
  const callFor = (id: number): HostCall => ({
    name: 'dataset_query',
    args: JSON.stringify([datasetId, ['word'], 1, null, [['id', id]], null, null]),
  });
  queryCount = 0;
  const answers = await answerTogether(Array.from({ length: 1000 }, (_, id) => callFor(id)));
  expect(queryCount).toBe(1);
  expect(answers.filter((answer) => answer !== null && answer.json !== '[]')).toHaveLength(400);
});

test('calls of every function are answered together, in all forms of equality', async () => {
  for (const makeSelection of [selectionForms[0]!, selectionForms[2]!, selectionForms[6]!, selectionForms[8]!, selectionForms[10]!, selectionForms[16]!, selectionForms[15]!])
    for (const createCall of [hostCallCreators[0]!, hostCallCreators.at(-3)!, hostCallCreators.at(-1)!]) {
      const calls = new Map(Array.from({ length: 30 }, () => createCall(makeSelection())).map((call) => [call.args, call]));
      const answers = await answerTogether([...calls.values()]);
      expect([...calls.keys()].filter((_, i) => answers[i] === null)).toEqual([]);
    }
}); // prettier-ignore

test('calls that fail, that nothing is like, and of other functions are left to be made alone', async () => {
  const callOf = (name: string, ...args: readonly unknown[]): HostCall => ({ name, args: JSON.stringify(args) }); // prettier-ignore
  const wordFilter = (word: string) => [['word', word]];
  const answers = await answerTogether([
    callOf('dataset_count', datasetId, null, wordFilter('a'), null),
    callOf('dataset_count', datasetId, null, [['nope', 1]], null),
    callOf('dataset_count', datasetId, null, [['nope', 2]], null),
    callOf('dataset_count', 1, null, wordFilter('a'), null),
    callOf('dataset_count', 1, null, wordFilter('b'), null),
    callOf('dataset_field_stats', datasetId, 'number', null, wordFilter('a'), null),
    callOf('dataset_field_stats', datasetId, 'number', null, wordFilter('b'), null),
    callOf('dataset_query', datasetId, null, -1, null, wordFilter('a'), null, null),
    callOf('dataset_query', datasetId, null, -1, null, wordFilter('b'), null, null),
  ]);
  expect(answers).toEqual(answers.map(() => null));
});

test('a batch has the rights of its caller', async () => {
  const bob = await server.user('bob');
  const secretVaultId = idOf(await bob.post('/v2/vaults', { name: 'secret' }));
  const secretDatasetId = await newDataset(bob, secretVaultId, 'secret', randomRecords(20));
  const calls = [0, 1, 2].map((id) => ({
    name: 'dataset_count',
    args: JSON.stringify([secretDatasetId, null, [['id', id]], null]),
  }));
  expect(await answerTogether(calls)).toEqual([null, null, null]);
  const caller = (await loadPrincipal(functionScope.context.catalog, bob.user.id))!;
  const ownAnswers = await answerBatchFor({ ...functionScope, caller }, calls);
  expect(ownAnswers).toEqual(calls.map(() => ({ json: '1', floats: [] })));
});
