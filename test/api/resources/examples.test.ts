import { beforeAll, expect, test } from '@jest/globals';
import { sixColumns, sixRows } from '../../engine/query/six-records.js';
import { startServerFixture } from '../server-fixture.js';
import { expectRequestCase, readCaseLines } from '../request-cases.js';
import { idOf, listOf } from '../server.js';

const entityTypeByField: Readonly<Record<string, string>> = { gene: 'gene', variant: 'variant', pmid: 'literature' }; // prettier-ignore

let idsByName: Readonly<Record<string, number>>;
const { ann, vaultId } = await startServerFixture();
beforeAll(async () => {
  const fields = sixColumns.map(({ name, type, isList }) => ({
    name,
    data_type: type,
    ...(isList && { is_list: true }),
    entity_type: entityTypeByField[name] ?? null,
  }));
  const id = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'six', fields }));
  const records = sixRows.map(({ _id, ...record }) => record);
  const importAnswer = await ann.post('/v2/dataset_imports', {
    dataset_id: id,
    data_records: records,
  });
  expect(importAnswer.json['status']).toBe('completed');
  const listedFields = listOf(await ann.get(`/v2/datasets/${id}/fields`));
  const fieldIdOf = (name: string): number => listedFields.find((view) => view['name'] === name)!['id'] as number; // prettier-ignore
  const callsId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'calls' }));
  const callsRecord =
    (...genotypes: readonly string[]) => ({ sample: genotypes.map((GT, i) => ({ name: `S${i + 1}`, GT })) }); // prettier-ignore
  const callsImport = await ann.post('/v2/dataset_imports', { dataset_id: callsId, data_records: [callsRecord('0/1', '1/1'), callsRecord('1/1', '0/0')] }); // prettier-ignore
  expect(callsImport.json['status']).toBe('completed');
  idsByName = {
    D: id,
    G: fieldIdOf('gene'),
    S: fieldIdOf('stars'),
    A: fieldIdOf('abstract'),
    L: callsId,
  };
});

test.each(readCaseLines('test/api/resources/examples.txt'))('%s', (line) =>
  expectRequestCase(line, { ann }, idsByName),
);
