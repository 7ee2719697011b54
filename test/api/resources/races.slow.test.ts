import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { setImmediate } from 'node:timers/promises';
import { seededRandom } from '../../random.js';
import { seed } from '../../seed.js';
import { idOf, makeVaultFixture, sendRequest, startServer, type Answer, type Client, type VaultFixture, type TestServer } from '../server.js'; // prettier-ignore

let server: TestServer;
let ann: Client;
beforeAll(async () => {
  server = await startServer();
  ann = await server.user('ann');
});
afterAll(() => server.close());

/** A vault with resources of many kinds, a beacon set with a beacon on its dataset, a table file, and the address of an upload. */
interface RaceFixture extends VaultFixture {
  readonly setId: number;
  readonly beaconId: number;
  readonly tableId: number;
  readonly uploadUrl: string;
}

let raceFixtureCount = 0;
async function makeRaceFixture(): Promise<RaceFixture> {
  const createdFixture = await makeVaultFixture(ann, `World ${raceFixtureCount++}`);
  const setId = idOf(await ann.post('/v2/beacon_sets', { title: 'Set' }));
  const beacon = {
    beacon_set_id: setId,
    title: 'Beacon',
    vault_object_id: createdFixture.datasetId,
  };
  const file = {
    vault_id: createdFixture.vaultId,
    object_type: 'file',
    parent_object_id: createdFixture.folderId,
  };
  const table = await ann.post('/v2/objects', { ...file, filename: 'table.csv' });
  await sendRequest('', 'PUT', String(table.json['upload_url']), 'gene\nTP53\n');
  const emptyFile = await ann.post('/v2/objects', { ...file, filename: 'empty.csv' });
  return {
    ...createdFixture,
    setId,
    beaconId: idOf(await ann.post('/v2/beacons', beacon)),
    tableId: idOf(table),
    uploadUrl: String(emptyFile.json['upload_url']),
  };
}

type RaceAction = (fixture: RaceFixture) => Promise<Answer>;

/** Requests that create, read or change something that a deletion may remove meanwhile, requests for lists, and a search. */
const requestActions: Readonly<Record<string, RaceAction>> = {
  'import of records': ({ datasetId }) => ann.post('/v2/dataset_imports', { dataset_id: datasetId, records: [{ gene: 'x' }] }),
  'import of a file': ({ datasetId, fileId }) => ann.post('/v2/dataset_imports', { dataset_id: datasetId, object_id: fileId }),
  'dry run': ({ datasetId }) => ann.post('/v2/dataset_imports', { dataset_id: datasetId, records: [{ gene: 'x' }], dry_run: true }),
  query: ({ datasetId }) => ann.post(`/v2/datasets/${datasetId}/data`, { filters: [['gene', 'TP53']], facets: ['gene'] }),
  'explained query': ({ datasetId }) => ann.post(`/v2/datasets/${datasetId}/data`, { filters: [['gene', 'none']], explain: true }),
  'page with a cursor': ({ datasetId }) => ann.post(`/v2/datasets/${datasetId}/data`, { cursor: true, limit: 1 }),
  lookup: ({ datasetId }) => ann.get(`/v2/datasets/${datasetId}/data/x,y`),
  export: ({ datasetId }) => ann.post('/v2/dataset_exports', { dataset_id: datasetId, format: 'json' }),
  field: ({ datasetId }) => ann.post('/v2/dataset_fields', { dataset_id: datasetId, name: `f${Math.random()}`.replace('.', '') }),
  'facet of a field': ({ fieldId }) => ann.get(`/v2/dataset_fields/${fieldId}/facets`),
  'change of a field': ({ fieldId }) => ann.patch(`/v2/dataset_fields/${fieldId}`, { title: 'x' }),
  'list of fields': ({ datasetId }) => ann.get(`/v2/datasets/${datasetId}/fields`),
  'global beacon': ({ datasetId }) => ann.post(`/v2/objects/${datasetId}/beacon`),
  beacon: ({ datasetId, setId }) => ann.post('/v2/beacons', { beacon_set_id: setId, title: 'x', vault_object_id: datasetId }),
  'query of a beacon': ({ beaconId }) => ann.post(`/v2/beacons/${beaconId}/query`, { query: 'TP53' }),
  'query of a beacon set': ({ setId }) => ann.post(`/v2/beacon_sets/${setId}/query`, { query: 'TP53' }),
  'saved query': ({ datasetId }) => ann.post('/v2/saved_queries', { name: 'x', dataset: datasetId }),
  search: () => ann.post('/v2/search', { filters: [['type', 'dataset']] }),
  dataset: ({ vaultId, folderId }) => ann.post('/v2/datasets', { vault_id: vaultId, vault_parent_object_id: folderId, name: 'd', fields: [{ name: 'a' }] }),
  file: ({ vaultId, folderId }) => ann.post('/v2/objects', { vault_id: vaultId, parent_object_id: folderId, object_type: 'file', filename: 'f' }),
  'move into the folder': ({ datasetId, folderId }) => ann.patch(`/v2/objects/${datasetId}`, { parent_object_id: folderId }),
  upload: ({ uploadUrl }) => sendRequest('', 'PUT', uploadUrl, 'gene\nTP53\n'),
  'query of a file': ({ tableId }) => ann.post(`/v2/objects/${tableId}/data`, {}),
  download: async ({ fileId }) => {
    const downloadAnswer = await ann.get(`/v2/objects/${fileId}/download`);
    return downloadAnswer.status === 200 ? sendRequest('', 'GET', String(downloadAnswer.json['download_url'])) : downloadAnswer;
  },
  'view of the dataset': ({ datasetId }) => ann.get(`/v2/datasets/${datasetId}`),
  'change of the vault': ({ vaultId }) => ann.patch(`/v2/vaults/${vaultId}`, { description: 'x' }),
  ...Object.fromEntries(['vaults', 'objects', 'datasets', 'dataset_imports', 'dataset_exports', 'dataset_commits', 'tasks', 'beacons', 'beacon_sets'].map((kind): [string, RaceAction] => [`list of ${kind}`, () => ann.get(`/v2/${kind}`)])),
}; // prettier-ignore

const deleteActions: Readonly<Record<string, RaceAction>> = {
  dataset: ({ datasetId }) => ann.delete(`/v2/datasets/${datasetId}`),
  'object of the dataset': ({ datasetId }) => ann.delete(`/v2/objects/${datasetId}`),
  folder: ({ folderId }) => ann.delete(`/v2/objects/${folderId}`),
  file: ({ tableId }) => ann.delete(`/v2/objects/${tableId}`),
  vault: ({ vaultId }) => ann.delete(`/v2/vaults/${vaultId}`),
  import: ({ importId }) => ann.delete(`/v2/dataset_imports/${importId}`),
  export: ({ exportId }) => ann.delete(`/v2/dataset_exports/${exportId}`),
  commit: ({ commitId }) => ann.delete(`/v2/dataset_commits/${commitId}`),
  'beacon set': ({ setId }) => ann.delete(`/v2/beacon_sets/${setId}`),
};

/** The requests of a round start at random within this many turns of the event loop. */
const maxEventLoopTurns = 60;

/** If a body names a resource that does not exist, the answer is a 400 with that key (contract 10.2). */
const missingReferenceBodyPattern =
  /^\{"(dataset_id|dataset|vault_object_id|beacon_set_id|object_id|parent_object_id|vault_parent_object_id)":/;

test.each(Object.entries(deleteActions))(
  `deleting the %s beside every other request is never an error of the server (seed ${seed})`,
  async (deletedKind, remove) => {
    const random = seededRandom(seed);
    const roundCount = Number(process.env['STRANDLAKE_CASES'] ?? 12);
    for (let round = 0; round < roundCount; round++) {
      const fixture = await makeRaceFixture();
      const requests = [requestActions, requestActions].flatMap((each) => Object.entries(each));
      const actions = [
        ...requests,
        [`deletion of the ${deletedKind}`, remove] as const,
        [`second deletion of the ${deletedKind}`, remove] as const,
      ]; // prettier-ignore
      // Each request starts after a random number of turns of the event loop, so that earlier requests are at different points.
      const pendingAnswers = actions.map(async ([name, act]) => {
        const turns = Math.floor(random() * maxEventLoopTurns);
        for (let turn = 0; turn < turns; turn++) await setImmediate();
        return { name, answer: await act(fixture) };
      });
      const answers = await Promise.all(pendingAnswers);
      for (const { name, answer } of answers) {
        const isExpectedStatus = [200, 201, 404, 409].includes(answer.status);
        // A beacon query whose dataset has been deleted fails with a 400 (contract 14.3).
        const isFailedBeaconQuery = name === 'query of a beacon' && answer.status === 400;
        const isExpectedRefusal =
          isFailedBeaconQuery ||
          (answer.status === 400 && missingReferenceBodyPattern.test(answer.text));
        expect([name, answer.status, answer.text, isExpectedStatus || isExpectedRefusal]).toEqual([name, answer.status, answer.text, true]); // prettier-ignore
      }
    }
    const errors = server.logs.filter((line) => line.includes('"event":"error"'));
    expect(errors).toEqual([]);
  },
);
