import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withData } from '../../cli/data.js';
import { main } from '../../cli/main.js';
import { createUser } from '../../engine/catalog/create-user.js';
import { parseConfig } from '../../engine/core/config.js';
import { clientFor, idOf, send, type Client } from '../api/server.js';
import { collect } from '../cli/collect.js';

/* The API process kills itself in the middle of an upload or a deletion (threats C2), and another starts on what is left. */

let root: string;
let data: string;
let child: ChildProcess | undefined;
let client: (port: number) => Client;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'strandlake-killed-'));
  data = join(root, 'data');
  const made = await withData(data, ({ catalog, key }) =>
    catalog.transaction((tx) =>
      createUser(tx, { email: 'a@acme.org', domain: 'acme', token: { name: 'test' } }, key),
    ),
  );
  client = (port) => clientFor(`http://127.0.0.1:${port}`, made.user, made.token?.secret ?? '');
});
afterEach(() => void child?.kill('SIGKILL'));
afterAll(() => rm(root, { recursive: true, force: true }));

async function start(crashPoint?: string): Promise<Client> {
  const flags = ['--data', data, '--threads', '1', '--port', '0', '--multipart-mb', '1'];
  const config = parseConfig(flags, {});
  const env = { ...process.env, ...(crashPoint && { STRANDLAKE_CRASH_POINT: crashPoint }) };
  child = fork('dist/api/main.js', [JSON.stringify(config)], {
    env,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const [message] = (await once(child, 'message')) as [{ port: number }];
  return client(message.port);
}

async function stop(): Promise<void> {
  const exit = once(child as ChildProcess, 'exit');
  child?.kill('SIGTERM');
  await exit;
}

async function expectWhole(): Promise<void> {
  await stop();
  const terminal = collect();
  expect([await main(['verify', data], {}, terminal), terminal.outs]).toEqual([0, []]);
  const scratch = await readdir(join(data, 'scratch'));
  expect(scratch.filter((name) => !name.startsWith('spill-'))).toEqual([]);
}

test.each(['upload.partial', 'upload.renamed'])(
  'C2: killed at %s, the file is as before and can be sent again',
  async (point) => {
    const ann = await start(point);
    const vaultId = idOf(await ann.post('/v2/vaults', { name: point }));
    const file = { vault_id: vaultId, object_type: 'file', filename: 'a.txt' };
    const id = idOf(await ann.post('/v2/objects', file));
    const uploadUrl = async (from: Client): Promise<string> =>
      String((await from.post('/v2/objects', { ...file, filename: 'b.txt' })).json['upload_url']);
    const exit = once(child as ChildProcess, 'exit');
    const url = await uploadUrl(ann);
    await expect(send('', 'PUT', url, 'ACGT')).rejects.toThrow();
    expect(await exit).toEqual([null, 'SIGKILL']);
    const again = await start();
    expect((await again.get(`/v2/objects/${id}`)).status).toBe(200);
    expect(await readdir(join(data, 'objects'))).toEqual([]);
    const { status } = await send('', 'PUT', await uploadUrl(again), 'ACGT');
    expect(status).toBe(200);
    expect((await again.delete(`/v2/vaults/${vaultId}`)).status).toBe(200);
    await expectWhole();
  },
);

/** Sends those parts of a file that have not arrived, and completes it; returns the status. */
async function finishParts(ann: Client, upload_id: unknown, bytes: Buffer): Promise<number> {
  const asked = await ann.post('/v2/presigned_urls', { upload_id });
  if (asked.status !== 200) return (await ann.post('/v2/complete_multi_part', { upload_id, parts: [] })).status; // prettier-ignore
  const parts: object[] = [];
  type Part = { part_number: number; start_byte: number; end_byte: number; upload_url: string; etag: string | null }; // prettier-ignore
  for (const { part_number, start_byte, end_byte, upload_url, etag } of asked.json[
    'presigned_urls'
  ] as Part[]) {
    // prettier-ignore
    const piece = bytes.subarray(start_byte, end_byte + 1);
    const sent = etag ?? (await send('', 'PUT', upload_url, piece)).headers.get('etag');
    parts.push({ part_number, etag: sent });
  }
  return (await ann.post('/v2/complete_multi_part', { upload_id, parts })).status;
}

test.each(['part.stored', 'multipart.joined', 'upload.renamed', 'multipart.published'])(
  'C2: killed at %s, an upload in parts goes on, and nothing is left of its parts',
  async (point) => {
    const ann = await start(point);
    const vaultId = idOf(await ann.post('/v2/vaults', { name: `parts ${point}` }));
    const bytes = Buffer.alloc(2_500_000, 'ACGT');
    const file = { vault_id: vaultId, object_type: 'file', filename: 'a.txt', size: bytes.length };
    const made = await ann.post('/v2/objects', file);
    expect((made.json['presigned_urls'] as unknown[]).length).toBe(3);
    const exit = once(child as ChildProcess, 'exit');
    const uploadId = made.json['upload_id'];
    await expect(finishParts(ann, uploadId, bytes)).rejects.toThrow();
    expect(await exit).toEqual([null, 'SIGKILL']);
    const again = await start();
    expect(await finishParts(again, uploadId, bytes)).toBe(200);
    const { json } = await again.get(`/v2/objects/${idOf(made)}`);
    expect(json).toMatchObject({ availability: 'available', size: bytes.length });
    expect(await readdir(join(data, 'parts'))).toEqual([]);
    const { download_url: url } = (await again.get(`/v2/objects/${idOf(made)}/download`)).json;
    const stored = Buffer.from(await (await fetch(String(url))).arrayBuffer());
    expect(stored.equals(bytes)).toBe(true);
    await again.delete(`/v2/vaults/${vaultId}`);
    await expectWhole();
  },
);

test.each(['delete.before-drop', 'delete.dropped'])(
  'C2: killed at %s, the dataset is gone with its files after the next start',
  async (point) => {
    const ann = await start(point);
    const vaultId = idOf(await ann.post('/v2/vaults', { name: point }));
    const id = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'd' }));
    await ann.post('/v2/dataset_imports', { dataset_id: id, records: [{ a: 1 }] });
    const exit = once(child as ChildProcess, 'exit');
    await expect(ann.delete(`/v2/datasets/${id}`)).rejects.toThrow();
    expect(await exit).toEqual([null, 'SIGKILL']);
    const again = await start();
    expect((await again.get(`/v2/datasets/${id}`)).status).toBe(404);
    await stop();
    // The first start only marks the dataset as dropped, because queries may use its files; the second start deletes them.
    await start();
    expect(await readdir(join(data, 'datasets'))).not.toContain(String(id));
    await expectWhole();
  },
);
