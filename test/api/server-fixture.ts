import { afterAll, expect } from '@jest/globals';
import { clientFor, idOf, sendRequest, startServer, waitForJob, type Client, type TestOptions, type TestServer } from './server.js'; // prettier-ignore

/** A server with a user, and a vault of the user, for all tests of a file. */
export interface ServerFixture {
  readonly server: TestServer;
  readonly ann: Client;
  readonly vaultId: number;
  /** Creates a dataset; returns its id. */
  newDataset(more?: object): Promise<number>;
  /** Creates a file and uploads its content; returns its id. */
  newFile(filename: string, content: string | Uint8Array): Promise<number>;
  /** Creates an import, waits until it ends and expects that it completes; returns the import. */
  runImport(body: object): Promise<Readonly<Record<string, unknown>>>;
  /** Restarts the server on its data folder; afterwards `server` and `ann` refer to the new server. */
  restart(): Promise<void>;
  /** Returns the number of records of a dataset. */
  countRecords(datasetId: number): Promise<unknown>;
}

/** Starts a server for the tests of a file, which must call this function at its top level; the server is closed after the tests. */
export async function startServerFixture(options?: TestOptions): Promise<ServerFixture> {
  let server = await startServer(options);
  afterAll(() => server.close());
  let ann = await server.user('ann');
  const vaultId = idOf(await ann.post('/v2/vaults', { name: 'Lab' }));
  let datasetCount = 0;
  return {
    get server() {
      return server;
    },
    get ann() {
      return ann;
    },
    vaultId,
    async restart() {
      server = await server.restart();
      ann = clientFor(server.url, ann.user, ann.token);
    },
    async newDataset(more = {}) {
      const name = `d${++datasetCount}`;
      return idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name, ...more }));
    },
    async newFile(filename, content) {
      const file = { vault_id: vaultId, object_type: 'file', filename };
      const createdObject = await ann.post('/v2/objects', file);
      const uploadAnswer = await sendRequest(
        '',
        'PUT',
        String(createdObject.json['upload_url']),
        content,
      );
      expect([filename, uploadAnswer.status]).toEqual([filename, 200]);
      return idOf(createdObject);
    },
    async runImport(body) {
      const createdImport = await ann.post('/v2/dataset_imports', body);
      expect([createdImport.status, createdImport.text]).toEqual([201, expect.any(String)]);
      const { json } = await waitForJob(ann, `/v2/dataset_imports/${idOf(createdImport)}`);
      expect([json['status'], json['error_message']]).toEqual(['completed', null]);
      return json;
    },
    async countRecords(datasetId) {
      return (await ann.post(`/v2/datasets/${datasetId}/data`, { limit: 0 })).json['total'];
    },
  };
}
