import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { openStore } from '../../../engine/store/open-store.js';
import { startServerFixture } from '../server-fixture.js';

const { server, ann, newDataset, runImport } = await startServerFixture();

const fieldCount = 120;

/** Returns a record with a value for each field. */
function wideRecord(n: number): Record<string, unknown> {
  const values = Array.from({ length: fieldCount }, (_, i) => [`field_${i}`, `${n} ${i}`]);
  return { n, ...Object.fromEntries(values) };
}

/** Creates a dataset whose log has an append, an upsert of one record, a delete of one record, and the rollback of the upsert. */
async function newChangedDataset(): Promise<number> {
  const id = await newDataset();
  const records = Array.from({ length: 50 }, (_, n) => wideRecord(n));
  await runImport({ dataset_id: id, records });
  const json = await runImport({ dataset_id: id, commit_mode: 'upsert', id_fields: ['n'], records: [{ n: 7, field_0: 'x' }] }); // prettier-ignore
  await runImport({
    dataset_id: id,
    commit_mode: 'delete',
    id_fields: ['n'],
    records: [{ n: 30 }],
  });
  const [upsert] = json['dataset_commits'] as { id: number }[];
  const rollback = await ann.post(`/v2/dataset_commits/${upsert!.id}/rollback`, {});
  expect([rollback.status, rollback.text]).toEqual([201, rollback.text]);
  await server.scheduler.compacted();
  return id;
}

type Action = Record<string, unknown>;

async function readActions(id: number, version: number): Promise<Record<string, Action>[]> {
  const lines = (await readFile(server.data.logEntry(id, version), 'utf8')).trim().split('\n');
  return lines.map((line) => JSON.parse(line) as Record<string, Action>);
}

test('the entry of a commit has the schema and statistics of what it adds only', async () => {
  const id = await newChangedDataset();
  const sizes = await Promise.all([0, 1, 2, 3].map(async (version) => (await readFile(server.data.logEntry(id, version))).length)); // prettier-ignore
  const [appendActions, upsertActions, deleteActions, rollbackActions] =
    await Promise.all([0, 1, 2, 3].map((version) => readActions(id, version))); // prettier-ignore
  const [, { metaData }] = appendActions as [object, { metaData: Action }];
  const schemaBytes = String(metaData!['schemaString']).length;
  const statsBytes = String(appendActions!.find(({ add }) => add)!['add']!['stats']).length;
  expect(Math.min(schemaBytes, statsBytes)).toBeGreaterThan(5_000);
  // The first entry that deletes rows repeats the `metaData`, because it changes the protocol.
  expect(upsertActions!.map((action) => Object.keys(action)[0])).toEqual(['protocol', 'metaData', 'remove', 'add', 'add', 'commitInfo']); // prettier-ignore
  expect(sizes[1]).toBeLessThan(schemaBytes + statsBytes + 8_000);
  expect(deleteActions!.map((action) => Object.keys(action)[0])).toEqual([
    'remove',
    'add',
    'commitInfo',
  ]);
  expect(sizes[2]).toBeLessThan(4_000);
  expect(rollbackActions!.map((action) => Object.keys(action)[0])).toEqual(['remove', 'remove', 'add', 'commitInfo']); // prettier-ignore
  expect(sizes[3]).toBeLessThan(4_000);
  const updatedAdd = deleteActions![1]!['add'];
  expect(JSON.parse(String(updatedAdd!['stats']))).toEqual({ numRecords: 50 });
});

test('a log as early releases wrote it, with schemas and statistics in every entry, says the same', async () => {
  const id = await newChangedDataset();
  const versions = [0, 1, 2, 3];
  const expectedSnapshots = await Promise.all(versions.map((version) => openStore(server.data).snapshot(id, version))); // prettier-ignore
  expect(expectedSnapshots.map(({ rows }) => rows)).toEqual([50, 50, 49, 49]);
  const { columns } = expectedSnapshots[0]!;
  const schema = JSON.parse(String((await readActions(id, 0))[1]!['metaData']!['schemaString'])) as { fields: object[] }; // prettier-ignore
  const rowIdField =
    { name: '_strandlake_row_id', type: 'long', nullable: true, metadata: { 'strandlake.type': 'long' } }; // prettier-ignore
  const fields = [...schema.fields.slice(0, 2), rowIdField, ...schema.fields.slice(2)];
  const ownSchema = JSON.stringify({ ...schema, fields });
  /** The first `add` of each segment, by path. */
  const firstAdds = new Map<string, Action>();
  for (const version of versions) {
    const actions = await readActions(id, version);
    for (const action of actions) {
      const { add } = action;
      if (add === undefined) continue;
      const path = String(add['path']);
      const firstAdd = firstAdds.get(path);
      const tags = { ...((firstAdd ?? add)['tags'] as Record<string, string>) };
      if (firstAdd === undefined && tags['strandlake.rowIds'] !== undefined) {
        if (tags['strandlake.rowIds'] === 'stored') delete tags['strandlake.rowIds'];
        tags['strandlake.columns'] = ownSchema;
      }
      action['add'] = { ...add, stats: (firstAdd ?? add)['stats'], tags };
      if (firstAdd === undefined) firstAdds.set(path, action['add']);
    }
    const { commitInfo } = actions.pop()!;
    const body = actions.map((action) => `${JSON.stringify(action)}\n`).join('');
    const strandlake = commitInfo!['strandlake'] as Action & { info: { publication: object } };
    const checksum = createHash('sha256').update(body).digest('hex');
    const info = { publication: { ...strandlake.info.publication, columns } };
    const lastAction = {
      commitInfo: { ...commitInfo, strandlake: { ...strandlake, checksum, info } },
    };
    await writeFile(server.data.logEntry(id, version), `${body}${JSON.stringify(lastAction)}\n`);
  }
  expect([...firstAdds.values()].filter(({ tags }) => 'strandlake.columns' in (tags as object)).length).toBe(1); // prettier-ignore
  for (const version of versions)
    expect(await openStore(server.data).snapshot(id, version)).toEqual(expectedSnapshots[version]);
});
