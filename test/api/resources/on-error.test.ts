import { describe, expect, test } from '@jest/globals';
import { gunzipSync } from 'node:zlib';
import { startLab } from '../lab.js';
import { idOf, waitFor } from '../server.js';

let datasetId: number;
const { server, ann, vaultId } = await startLab();

interface Outcome {
  readonly id: number;
  readonly status: unknown;
  readonly error: unknown;
  readonly receipt: {
    readonly records_stored: number;
    readonly records_rejected: number;
    readonly is_committed: boolean;
  };
  readonly errors: readonly { readonly line: number; readonly field: string | null }[];
}

async function imported(
  source: readonly object[] | readonly [name: string, text: string],
  validation_params: object,
  more: object = {},
): Promise<Outcome> {
  const name = `d${Math.random()}`;
  datasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name }));
  let of: object = { data_records: source };
  if (typeof source[0] === 'string') {
    const file = { vault_id: vaultId, object_type: 'file', filename: source[0] };
    const made = await ann.post('/v2/objects', file);
    await fetch(String(made.json['upload_url']), { method: 'PUT', body: source[1] as string });
    of = { object_id: idOf(made) };
  }
  const body = { dataset_id: datasetId, ...of, validation_params, ...more };
  const made = await ann.post('/v2/dataset_imports', body);
  expect([made.status, made.text]).toEqual([201, expect.any(String)]);
  const { json } = await waitFor(ann, `/v2/dataset_imports/${idOf(made)}`);
  const { receipt, validation } = json['metadata'] as never;
  const { errors } = validation as { errors: Outcome['errors'] };
  return { id: idOf(made), status: json['status'], error: json['error_message'], receipt, errors };
}

async function total(): Promise<unknown> {
  return (await ann.post(`/v2/datasets/${datasetId}/data`, { limit: 0 })).json['total'];
}

async function rejectedOf({ id }: Outcome): Promise<readonly Record<string, unknown>[]> {
  const answer = await fetch(`${server.url}/v2/dataset_imports/${id}/rejected`, {
    headers: { authorization: `Bearer ${ann.token}` },
  });
  const lines = gunzipSync(Buffer.from(await answer.arrayBuffer()))
    .toString()
    .trim()
    .split('\n');
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

const reject = { on_error: 'reject' };
const vcfHead =
  '##fileformat=VCFv4.2\n##reference=GRCh38\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n';
const feature = '1\tx\tgene\t5\t9\t.\t+\t.\tID=a\n';

describe('records with errors are rejected, and the others stored', () => {
  test.each<[string, string, object, number, string | null]>([
    ['a.json', '{"n":1}\n{"n":NaN}\n{"n":"x"}\n{"n":[2]}\n', {}, 2, 'n'],
    ['a.csv', 'n,s\n1,a\nx,b\n3,c\n', { target_fields: [{ name: 'n', data_type: 'long' }] }, 3, 'n'],
    ['a.vcf', `${vcfHead}1\t5\t.\tA\tC\t.\t.\t.\n1\tx\t.\tA\tC\t.\t.\t.\n1\t7\t.\tA\tC\t.\t.\t.\n`, {}, 5, 'POS'],
    ['a.gff3', `##gff-version 3\n${feature}1\tx\n${feature}`, {}, 3, null],
    ['a.bed', '1\t5\t9\n1\tx\t9\n1\t6\t9\n', {}, 2, 'chromStart'],
    ['a.xml', '<r>\n<i><n>1</n></i>\n<i><n>x</n></i>\n<i><n>3</n></i></r>', { target_fields: [{ name: 'n', data_type: 'long' }] }, 3, 'n'],
  ])('%s', async (name, text, more, line, field) => {
    const done = await imported([name, text], reject, more);
    expect([done.status, done.error]).toEqual(['completed', null]);
    const stored = name === 'a.json' ? 3 : 2;
    expect(done.receipt).toMatchObject({ records_stored: stored, records_rejected: 1, is_committed: true });
    expect(done.errors).toMatchObject([{ line, field, count: 1 }]);
    expect(await total()).toBe(stored);
    expect(await rejectedOf(done)).toMatchObject([{ file: name, line, field, errors: 1 }]);
    const failed = await imported([name, text], {}, more);
    expect([failed.status, await total()]).toEqual(['failed', 0]);
    expect(failed.error).toContain(field === null ? `line ${line}: ` : `line ${line}: field ${field}: `);
  }); // prettier-ignore

  test('of inline records, and in dry runs', async () => {
    const records = [{ n: 1 }, { n: 'x' }, { n: 3 }];
    const more = { target_fields: [{ name: 'n', data_type: 'long' }] };
    const done = await imported(records, { ...reject, max_rejected: 1 }, more);
    expect([done.status, await total()]).toEqual(['completed', 2]);
    const dry = await imported(records, reject, { ...more, dry_run: true });
    expect([dry.status, dry.receipt.records_rejected, await total()]).toEqual(['completed', 1, 0]);
    expect((await rejectedOf(dry)).length).toBe(1);
  });
});

test('more than max_rejected fail the import, and nothing is stored', async () => {
  const text = Array.from({ length: 10 }, (_, i) => `{"n":${i % 2 ? 'NaN' : i}}\n`).join('');
  const failed = await imported(['a.json', text], { ...reject, max_rejected: 4 });
  expect([failed.status, await total()]).toEqual(['failed', 0]);
  expect(failed.error).toContain('5 records are rejected, validation_params.max_rejected is 4');
  expect((await rejectedOf(failed)).length).toBe(5);
  const done = await imported(['a.json', text], { ...reject, max_rejected: 5 });
  expect([done.status, await total()]).toEqual(['completed', 5]);
});

test('what cannot be told apart fails the import', async () => {
  for (const source of [
    ['a.csv', 'n,s\n1,a\n2,"b\n3,c\n'],
    ['a.xml', '<r><i><n>1</n></i><i><n>2</i></r>'],
  ] as const) {
    const failed = await imported(source, reject);
    expect([source[0], failed.status, await total()]).toEqual([source[0], 'failed', 0]);
  }
});

test.each([
  [{ on_error: 'ignore' }, 'on_error'],
  [{ on_error: 'reject', strict_validation: true }, 'strict_validation'],
  [{ on_error: 'reject', raise_on_errors: true }, 'raise_on_errors'],
  [{ max_rejected: 5 }, 'max_rejected'],
  [{ on_error: 'reject', max_rejected: -1 }, 'max_rejected'],
])('%j is a 400', async (validation_params, named) => {
  const body = { dataset_id: datasetId, data_records: [], validation_params };
  const answer = await ann.post('/v2/dataset_imports', body);
  expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(named)]);
});
