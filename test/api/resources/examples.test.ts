import { readFileSync } from 'node:fs';
import { beforeAll, expect, test } from '@jest/globals';
import { sixColumns, sixRows } from '../../engine/query/six-records.js';
import { startLab } from '../lab.js';
import { idOf, listOf } from '../server.js';

const lines = readFileSync('test/api/resources/examples.txt', 'utf8').split('\n');
const cases = lines.filter((line) => line !== '' && !line.startsWith('#'));
const entities: Readonly<Record<string, string>> = { gene: 'gene', variant: 'variant', pmid: 'literature' }; // prettier-ignore

let names: Readonly<Record<string, number>>;
const { ann, vaultId } = await startLab();
beforeAll(async () => {
  const fields = sixColumns.map(({ name, type, isList }) => ({
    name,
    data_type: type,
    ...(isList && { is_list: true }),
    entity_type: entities[name] ?? null,
  }));
  const id = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'six', fields }));
  const records = sixRows.map(({ _id, ...record }) => record);
  const importAnswer = await ann.post('/v2/dataset_imports', {
    dataset_id: id,
    data_records: records,
  });
  expect(importAnswer.json['status']).toBe('completed');
  const listedFields = listOf(await ann.get(`/v2/datasets/${id}/fields`));
  const field = (name: string): number => listedFields.find((view) => view['name'] === name)!['id'] as number; // prettier-ignore
  const callsId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'calls' }));
  const calls = (...genotypes: readonly string[]) => ({ sample: genotypes.map((GT, i) => ({ name: `S${i + 1}`, GT })) }); // prettier-ignore
  const callsImport = await ann.post('/v2/dataset_imports', { dataset_id: callsId, data_records: [calls('0/1', '1/1'), calls('1/1', '0/0')] }); // prettier-ignore
  expect(callsImport.json['status']).toBe('completed');
  names = { D: id, G: field('gene'), S: field('stars'), A: field('abstract'), L: callsId };
});

test.each(cases)('%s', async (line) => {
  const filledLine = line.replaceAll(/\$([DGSAL])\b/g, (_, name: string) => String(names[name]));
  const match = /^([A-Z]+) (\S+)( .*)? ==> (\d+)(?: (.*))?$/.exec(filledLine)!;
  const [, method, path, body, status, part] = match as unknown as [string, string, string, string | undefined, string, string | undefined]; // prettier-ignore
  const sentBody: unknown = body === undefined ? undefined : JSON.parse(body);
  const answer = await ann.call(method, path, sentBody);
  expect([answer.text.slice(0, 300), answer.status]).toEqual([answer.text.slice(0, 300), Number(status)]); // prettier-ignore
  if (part !== undefined) expect(answer.json).toMatchObject(JSON.parse(part) as object);
});
