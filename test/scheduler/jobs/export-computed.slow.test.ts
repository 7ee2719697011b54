import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { cp, mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KillableServer, recovered } from '../processes/killable.js';
import { Lake } from '../lake.js';

/*
 * Kills exports that compute fields (C2). Nothing that expressions have made is used again: the file is that of an export that nothing
 * interrupted.
 */

const records = 40_000;
let template: string;
let datasetId: number;
let lake: Lake;
const folders: string[] = [];

beforeAll(async () => {
  const made = await Lake.make();
  template = made.data.root;
  folders.push(template);
  datasetId = await made.dataset();
  const lines = Array.from({ length: records }, (_, n) => `{"n":${n},"s":"text ${n % 7}"}\n`);
  await made.import(datasetId, await made.file('a.json', lines.join('')));
  await made.close();
  await recovered(template);
});
afterEach(() => lake.close());
afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

test.each([
  ['segment.partial', 'worker'],
  ['segment.flushed', 'worker'],
  ['export.partial', 'worker'],
  ['export.renamed', 'server'],
] as const)(
  'a kill at %s of the %s leaves a whole file and nothing else',
  async (point, target) => {
    const root = await mkdtemp(join(tmpdir(), 'strandlake-export-'));
    folders.push(root);
    await cp(template, root, { recursive: true });
    lake = await Lake.open(root);
    const field = { name: 'x', expression: 'record.n % 1000', data_type: 'integer', is_list: null, ordering: 0, depends_on: [], is_transient: false }; // prettier-ignore
    const { resourceId: id } = await lake.export(datasetId, 'csv', {
      params: { fields: ['n'], filters: [['x__gte', 500]], ordering: ['-n'] },
      targetFields: [field],
      annotatorParams: { data: {}, include_errors: true },
    });
    await lake.close();
    const server = new KillableServer(root, point, target);
    await server.exit();
    expect(server.isIdle).toBe(target === 'worker');
    await recovered(root);
    lake = await Lake.open(root);
    const row = (await lake.catalog.exports.get(id))!;
    expect([row.status, row.documentsCount]).toEqual(['completed', records / 2]);
    const wanted = Array.from({ length: records }, (_, i) => records - 1 - i).filter((n) => n % 1000 >= 500).map((n) => `${n},${n % 1000}\r\n`); // prettier-ignore
    expect((await readFile(lake.data.export(id, 'csv'))).toString()).toBe(`n,x\r\n${wanted.join('')}`); // prettier-ignore
    expect(row.metadata).not.toHaveProperty('resumed_parts');
    expect(await lake.damage()).toEqual([]);
    expect((await readdir(join(root, 'scratch'))).filter((name) => /^\d/.test(name))).toEqual([]);
  },
);
