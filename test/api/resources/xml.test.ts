import { gzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { startServerFixture } from '../server-fixture.js';
import { idOf, sendRequest, waitForJob } from '../server.js';

// With four threads, a file of the size of `xmlText` is split into several chunks.
const { ann, server, vaultId } = await startServerFixture({
  scheduler: { config: { threads: 4, workerMemoryMb: 512 } },
});

// Enough elements for several chunks, in groups of which some have many elements and some none.
const itemCount = 30_000;
const itemTexts = Array.from({ length: itemCount }, (_, i) => {
  const border = i % 1000 === 999 ? '</group>\n<group/><group name="g">' : '';
  return `<item n="${i}"><symbol>GENE${i % 7}</symbol><note>${'some words '.repeat(12)}</note></item>${border}\n`;
});
const xmlText = `<?xml version="1.0"?>\n<set><group>\n${itemTexts.join('')}</group></set>\n`;

async function importFile(filename: string, content: string | Buffer, readerParams: object) {
  const datasetId = idOf(
    await ann.post('/v2/datasets', { vault_id: vaultId, name: `${filename} records` }),
  );
  const file = await ann.post('/v2/objects', { vault_id: vaultId, object_type: 'file', filename });
  await sendRequest('', 'PUT', String(file.json['upload_url']), content);
  const createdImport = await ann.post('/v2/dataset_imports', {
    dataset_id: datasetId,
    object_id: idOf(file),
    reader_params: readerParams,
  });
  const { json } = await waitForJob(ann, `/v2/dataset_imports/${idOf(createdImport)}`);
  const query = async (body: object) =>
    (await ann.post(`/v2/datasets/${datasetId}/data`, body)).json as Record<string, unknown>;
  return { json, query, datasetId };
}

test.each([
  ['a.xml', xmlText],
  ['b.xml.gz', gzipSync(xmlText, { level: 1 })],
])('%s is read in pieces, each from the depth at which it begins', async (name, content) => {
  const { json, query, datasetId } = await importFile(name, content, { item_depth: 2 });
  expect(json).toMatchObject({ status: 'completed', error_message: null });
  expect((await server.store.snapshot(datasetId)).segments.length).toBeGreaterThan(1);
  expect((await query({ limit: 0 }))['total']).toBe(itemCount);
  const matchingPage = await query({ filters: [['@n', '29999']] });
  expect(matchingPage['results']).toMatchObject([{ '@n': '29999', symbol: 'GENE4' }]);
  expect((await query({ filters: [['symbol', 'GENE3']], limit: 0 }))['total']).toBe(4286);
});

test('an error names its line and column far behind the first piece', async () => {
  const offset = xmlText.indexOf('<note>', 5_000_000);
  const badText = `${xmlText.slice(0, offset)}&x;${xmlText.slice(offset)}`;
  const line = xmlText.slice(0, offset).split('\n').length;
  const column = offset - xmlText.lastIndexOf('\n', offset);
  const { json, query } = await importFile('c.xml', badText, { item_depth: 2 });
  expect(json['status']).toBe('failed');
  expect(json['error_message']).toContain(`c.xml, line ${line}: column ${column}: the entity &x;`);
  expect((await query({ limit: 0 }))['total']).toBe(0);
});
