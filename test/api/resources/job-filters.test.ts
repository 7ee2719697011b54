import { beforeAll, expect, test } from '@jest/globals';
import { startServerFixture } from '../server-fixture.js';
import { idOf, listOf, waitForJob } from '../server.js';

/* Tests that a repeated parameter of a list of jobs or tasks, and one with commas, means "any of" (contract.md, section 1.2). */

const { ann, newDataset } = await startServerFixture();

interface ImportedDataset {
  readonly id: number;
  readonly vaultId: number;
  /** The completed import of the dataset, and one that failed. */
  readonly imports: readonly [completed: number, failed: number];
}

async function newImportedDataset(): Promise<ImportedDataset> {
  const id = await newDataset();
  const { json } = await ann.get(`/v2/datasets/${id}`);
  const importRecord = async (record: object): Promise<number> => {
    const body = { dataset_id: id, data_records: [record], target_fields: [{ name: 'n', data_type: 'long' }] }; // prettier-ignore
    const importId = idOf(await ann.post('/v2/dataset_imports', body));
    await waitForJob(ann, `/v2/dataset_imports/${importId}`);
    return importId;
  };
  const imports = [
    await importRecord({ n: 1 }),
    await importRecord({ n: 'not a number' }),
  ] as const;
  return { id, vaultId: json['vault_id'] as number, imports };
}

let datasets: readonly ImportedDataset[];
beforeAll(async () => {
  datasets = [await newImportedDataset(), await newImportedDataset(), await newImportedDataset()];
});

async function fetchIds(path: string, key = 'id'): Promise<ReadonlySet<unknown>> {
  return new Set(listOf(await ann.get(`/v2/${path}`)).map((one) => one[key]));
}

test('jobs and tasks are listed for any of several datasets', async () => {
  const [a, , c] = datasets as readonly [ImportedDataset, ImportedDataset, ImportedDataset];
  for (const several of [`${a.id},${c.id}`, null]) {
    const queryOf =
      (name: string): string => several === null ? `${name}=${a.id}&${name}=${c.id}` : `${name}=${several}`; // prettier-ignore
    expect(await fetchIds(`dataset_imports?${queryOf('dataset_id')}`)).toEqual(new Set([...a.imports, ...c.imports])); // prettier-ignore
    expect(await fetchIds(`dataset_commits?${queryOf('dataset_id')}`, 'dataset_id')).toEqual(new Set([a.id, c.id])); // prettier-ignore
    const targets = listOf(await ann.get(`/v2/tasks?${queryOf('target_object_id')}`)).map((one) => one['target_object'] as { id: number }); // prettier-ignore
    expect(new Set(targets.map(({ id }) => id))).toEqual(new Set([a.id, c.id]));
  }
});

test('jobs are listed for any of several vaults', async () => {
  const vaultIds = new Set(datasets.map(({ vaultId }) => vaultId));
  const everyImport = new Set(datasets.flatMap(({ imports }) => imports));
  expect(await fetchIds(`dataset_imports?vault_id=999999999,${[...vaultIds].join(',')}`)).toEqual(everyImport); // prettier-ignore
  expect(await fetchIds('dataset_imports?vault_id=999999999,999999998')).toEqual(new Set());
});

test('the jobs of one dataset are filtered as those of all', async () => {
  const { id, imports } = datasets[0]!;
  const path = `datasets/${id}/imports`;
  expect(await fetchIds(path)).toEqual(new Set(imports));
  expect(await fetchIds(`${path}?status=failed`)).toEqual(new Set([imports[1]]));
  expect(await fetchIds(`${path}?status=failed&status=completed`)).toEqual(new Set(imports));
  expect(await fetchIds(`${path}?id=${imports[0]},${datasets[1]!.imports[0]}`)).toEqual(new Set([imports[0]])); // prettier-ignore
  // The dataset of the path counts, whatever the query says.
  expect(await fetchIds(`${path}?dataset_id=${datasets[1]!.id}`)).toEqual(new Set(imports));
  expect(await fetchIds(`datasets/${id}/commits?status=failed`)).toEqual(new Set());
});
