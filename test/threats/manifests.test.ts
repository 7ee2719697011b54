import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createServer, type Server } from 'node:net';
import { idOf, startServer, type Client, type TestServer } from '../api/server.js';

/*
 * Until manifests fetch addresses, every one is refused at creation and nothing is contacted: N1, N2, N3 (no packet to
 * any spelling) and N4 (schemes, credentials, ports).
 */

let server: TestServer;
let ann: Client;
let datasetId: number;
let listener: Server;
let contacts = 0;
beforeAll(async () => {
  server = await startServer();
  ann = await server.user('ann');
  const vaultId = idOf(await ann.post('/v2/vaults', { name: 'Lab' }));
  datasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'd' }));
  listener = createServer((socket) => {
    contacts += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => listener.listen(0, '0.0.0.0', () => resolve()));
});
afterAll(async () => {
  await new Promise((resolve) => listener.close(resolve));
  await server.close();
});

const hosts = [
  '127.0.0.1',
  'localhost',
  'localhost.',
  '2130706433',
  '0x7f.1',
  '0177.0.0.1',
  '127.1',
  '0.0.0.0',
  '[::1]',
  '[::ffff:7f00:1]',
  '①②⑦.0.0.1',
  '10.0.0.1',
  '172.16.0.1',
  '192.168.0.1',
  '100.64.0.1',
  '169.254.169.254',
  '169.254.169.254.',
  '[fe80::1]',
  '[fc00::1]',
  '[64:ff9b::7f00:1]',
  'example.org',
];

test('N1, N2, N3, N4: no address of a manifest is taken, and none is contacted', async () => {
  const { port } = listener.address() as { port: number };
  const urls = [
    ...hosts.map((host) => `http://${host}:${port}/a.vcf.gz`),
    `https://user:secret@127.0.0.1:${port}/a.json`,
    'file:///etc/passwd',
    'ftp://example.org/a.json',
    'gopher://127.0.0.1:70/_',
    'data:application/json,{}',
    'javascript:alert(1)',
    'http://example.org:22/a.json',
    '//127.0.0.1/a.json',
    '/etc/passwd',
    'not a url',
    '\u0000',
  ];
  const before = (await ann.get('/v2/tasks')).json['total'];
  for (const url of urls) {
    for (const file of [{ url }, { url, object_id: null, name: 'a.json' }]) {
      const manifest = { files: [file] };
      const answer = await ann.post('/v2/dataset_imports', { dataset_id: datasetId, manifest });
      expect([url, answer.status, Object.keys(answer.json)]).toEqual([url, 400, ['manifest']]);
      expect(answer.text).not.toContain('secret');
    }
  }
  expect((await ann.get('/v2/tasks')).json['total']).toBe(before);
  expect(contacts).toBe(0);
});
