import { expect, test } from '@jest/globals';
import { startServerFixture } from '../server-fixture.js';
import { idOf, waitForJob } from '../server.js';

/* Tests the entity types of fields that migrations compute or copy (specification, "Dataset migration": `entity_params` as for imports). */

const { ann, newDataset } = await startServerFixture();

type Json = Readonly<Record<string, unknown>>;

const genes = ['BRCA1', 'BRCA2', 'TP53', 'EGFR', 'MLH1', 'MSH2'];

/** Creates a dataset whose fields have no entity type, although `gene` has only genes. */
async function newSource(): Promise<number> {
  const dataset_id = await newDataset();
  const body = {
    dataset_id,
    entity_params: { disable: true },
    data_records: genes.map((gene, i) => ({ gene, info: `${gene}:${i}`, allele: 'ACGT'[i % 4] })),
  };
  await runJob('dataset_imports', body);
  expect(await entitiesOf(dataset_id)).toEqual({});
  return dataset_id;
}

async function runJob(kind: string, body: object): Promise<Json> {
  const createdJob = await ann.post(`/v2/${kind}`, body);
  expect([createdJob.status, createdJob.text]).toEqual([201, expect.any(String)]);
  const { json } = await waitForJob(ann, `/v2/${kind}/${idOf(createdJob)}`);
  expect([json['error_message'], json['status']]).toEqual([null, 'completed']);
  return json;
}

/** Returns the entity types of a dataset's fields by the names of the fields that have one. */
async function entitiesOf(datasetId: number): Promise<Json> {
  const { json } = await ann.get(`/v2/datasets/${datasetId}/fields`);
  const fields = json['data'] as Json[];
  return Object.fromEntries(fields.flatMap((field) => field['entity_type'] === null ? [] : [[field['name'], field['entity_type']]])); // prettier-ignore
}

const symbolField = { name: 'symbol', expression: "record.info.split(':')[0]" };
const variantField = { name: 'id', expression: "'GRCh38-13-' + str(32316461 + int(record.info.split(':')[1])) + '-32316461-A'" }; // prettier-ignore

test.each([
  ['computed fields by default', { target_fields: [symbolField, variantField] }, { symbol: 'gene', id: 'variant' }],
  ['only the wanted types', { target_fields: [symbolField, variantField], entity_params: { entity_types: ['gene'] } }, { gene: 'gene', symbol: 'gene' }],
  ['all fields without an entity type on request', { entity_params: { entity_types: ['gene', 'variant'] } }, { gene: 'gene' }],
  ['no field that is copied otherwise', {}, {}],
  ['no field if detection is disabled', { target_fields: [symbolField], entity_params: { disable: true } }, {}],
  ['no field if a detected type is only to be reported', { target_fields: [symbolField], entity_params: { apply_detection: false } }, {}],
  ['no field whose entity type is requested', { target_fields: [{ ...symbolField, entity_type: 'sample' }] }, { symbol: 'sample' }],
  ['the fields of records that expressions produce', { annotator_params: { pre_annotation_expression: "{'gene_symbol': record.gene}" } }, { gene_symbol: 'gene' }],
])('a migration detects the entity types of %s', async (_, more, expected) => {
  const source_id = await newSource();
  const target_id = await newDataset();
  const dryRun = await runJob('dataset_migrations', { source_id, target_id, ...more, dry_run: true });
  const migration = await runJob('dataset_migrations', { source_id, target_id, ...more });
  expect(await entitiesOf(target_id)).toEqual(expected);
  const validationOf = ({ metadata }: Json): unknown => (metadata as Json)['validation'];
  expect(validationOf(dryRun)).toEqual(validationOf(migration));
}); // prettier-ignore

test('a migration reports what it has detected, and leaves fields with data as they are', async () => {
  const id = await newSource();
  const body = { source_id: id, target_id: id, commit_mode: 'upsert' };
  const { metadata } = await runJob('dataset_migrations', { ...body, target_fields: [symbolField, { name: 'gene', expression: 'record.gene' }] }); // prettier-ignore
  expect(((metadata as Json)['validation'] as Json)['detections']).toEqual([
    { field: 'symbol', entity_type: 'gene', sampled: genes.length, matched: genes.length },
  ]);
  expect(await entitiesOf(id)).toEqual({ symbol: 'gene' });
});
