import { beforeAll, expect, test } from '@jest/globals';
import { startServerFixture } from '../api/server-fixture.js';
import { idOf } from '../api/server.js';

let datasetId: number;
const { ann, vaultId } = await startServerFixture();
beforeAll(async () => {
  datasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'd' }));
});

test('N4: a URL that no manifest may have is refused at creation, and makes no task', async () => {
  const urls = [
    'https://user:secret@example.org/a.json',
    'https://user@example.org/a.json',
    'https://:secret@example.org/a.json',
    'file:///etc/passwd',
    'ftp://example.org/a.json',
    'gopher://example.org:70/_',
    'data:application/json,{}',
    'javascript:alert(1)',
    'ws://example.org/a.json',
    'http://example.org:22/a.json',
    'https://example.org:25/a.json',
    'http://example.org:1023/a.json',
    'http://example.org:0/a.json',
    'http://example.org:99999/a.json',
    'http://[fe80::1%25eth0]/a.json',
    '//example.org/a.json',
    '/etc/passwd',
    'not a url',
    'http://',
    '\u0000',
  ];
  const taskCountBefore = (await ann.get('/v2/tasks')).json['total'];
  for (const url of urls) {
    for (const file of [{ url }, { url, object_id: null, name: 'a.json' }]) {
      const manifest = { files: [{ url: 'https://example.org/fine.json' }, file] };
      const answer = await ann.post('/v2/dataset_imports', { dataset_id: datasetId, manifest });
      expect([url, answer.status, Object.keys(answer.json)]).toEqual([url, 400, ['manifest']]);
      expect(answer.json['manifest']).toEqual([
        expect.stringMatching(/^File 2( "a\.json")?, url: /),
      ]);
      expect(answer.text).not.toContain('secret');
    }
  }
  expect((await ann.get('/v2/tasks')).json['total']).toBe(taskCountBefore);
});
