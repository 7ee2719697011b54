import { existsSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { idOf, startServer, waitForJob, type Client, type TestServer } from '../server.js';

/** A line of `docs/bad-input.md`. */
interface ExpectedOutcome {
  readonly name: string;
  readonly isRefused: boolean;
  readonly message: string;
  readonly recordCount: number;
}

const expectedOutcomes: readonly ExpectedOutcome[] = readFileSync('docs/bad-input.md', 'utf8')
  .split('\n')
  .filter((line) => /^\| (?:vcf|json|csv|tsv|xml|gff3|gtf)/.test(line))
  .map((line) => {
    const [name, outcome, text, countText] = line.slice(2, -2).split(/ +\| /) as [
      string,
      string,
      string,
      string,
    ];
    const message = text.replace(/^`|`$/g, '').replaceAll('\\|', '|').replaceAll('<TAB>', '\t');
    return { name, isRefused: outcome === 'refused', message, recordCount: Number(countText) };
  });

const extraSamplesFolder = process.env.STRANDLAKE_BAD_SAMPLES;
const fixtureFolders = [
  'test/fixtures/vcf',
  'test/fixtures/bad',
  'test/fixtures/csv/bad',
  ...(extraSamplesFolder === undefined ? [] : [extraSamplesFolder]),
];

function fixturePathOf(name: string): string | undefined {
  return fixtureFolders.map((folder) => `${folder}/${name}`).find((path) => existsSync(path));
}

let server: TestServer;
let owner: Client;
beforeAll(async () => {
  server = await startServer();
  owner = await server.user('ann');
});
afterAll(() => server.close());

const presentOutcomes = expectedOutcomes.filter(({ name }) => fixturePathOf(name) !== undefined);

test('the page lists every malformed fixture, and they are many', () => {
  expect(presentOutcomes.length).toBeGreaterThanOrEqual(
    extraSamplesFolder === undefined ? 26 : expectedOutcomes.length,
  );
});

test.each(presentOutcomes)('$name: $message', async ({ name, isRefused, message, recordCount }) => {
  const bytes = readFileSync(fixturePathOf(name)!);
  const vaultId = idOf(await owner.post('/v2/vaults', { name: `for ${name}` }));
  const place = { vault_id: vaultId, parent_object_id: null };
  const file = { ...place, object_type: 'file', filename: name, size: bytes.length };
  const object = await owner.post('/v2/objects', file);
  const upload = await fetch(object.json.upload_url as string, { method: 'PUT', body: bytes });
  expect(upload.status).toBe(200);
  const datasetId = idOf(
    await owner.post('/v2/objects', { ...place, object_type: 'dataset', filename: 'd' }),
  );
  const earlierImport = { dataset_id: datasetId, data_records: [{ kept: 1 }] };
  expect((await owner.post('/v2/dataset_imports', earlierImport)).json.status).toBe('completed');

  const importAnswer = await owner.post('/v2/dataset_imports', {
    dataset_id: datasetId,
    object_id: idOf(object),
  });
  expect(importAnswer.status).toBe(201);
  const { json } = await waitForJob(owner, `/v2/dataset_imports/${idOf(importAnswer)}`);

  expect(json.status).toBe(isRefused ? 'failed' : 'completed');
  if (isRefused) {
    expect(json.error_message).toBe(message);
    expect(json.error_message).toContain(name);
  }
  const { json: dataset } = await owner.get(`/v2/datasets/${datasetId}`);
  expect(dataset.documents_count).toBe(1 + (isRefused ? 0 : recordCount));
  const { json: page } = await owner.post(`/v2/datasets/${datasetId}/data`, {
    filters: [['kept', 1]],
  });
  expect(page.total).toBe(1);
});
