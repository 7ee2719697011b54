import { afterEach, expect, test } from '@jest/globals';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createDataTemplate } from '../processes/data-template.js';
import { KillableServer, recoverServer } from '../processes/killable.js';
import { Lake } from '../lake.js';

/*
 * Kills exports that compute fields (C2). Parts that contain results of expressions are not reused after a kill, and the file equals that
 * of an uninterrupted export.
 */

const datasetRecordCount = 40_000;
const templateFolder = await createDataTemplate(
  Array.from({ length: datasetRecordCount }, (_, n) => `{"n":${n},"s":"text ${n % 7}"}\n`),
);
let lake: Lake;

afterEach(() => lake.close());

test.each([
  ['segment.partial', 'worker'],
  ['segment.flushed', 'worker'],
  ['export.partial', 'worker'],
  ['export.renamed', 'server'],
] as const)(
  'a kill at %s of the %s leaves a whole file and nothing else',
  async (point, target) => {
    const root = await templateFolder.copy();
    lake = await Lake.open(root);
    const field = { name: 'x', expression: 'record.n % 1000', data_type: 'integer', is_list: null, ordering: 0, depends_on: [], is_transient: false }; // prettier-ignore
    const { resourceId: id } = await lake.queueExport(templateFolder.datasetId, 'csv', {
      params: { fields: ['n'], filters: [['x__gte', 500]], ordering: ['-n'] },
      targetFields: [field],
      annotatorParams: { data: {}, include_errors: true },
    });
    await lake.close();
    const server = new KillableServer(root, point, target);
    await server.waitForExit();
    expect(server.isIdle).toBe(target === 'worker');
    await recoverServer(root);
    lake = await Lake.open(root);
    const row = (await lake.catalog.exports.get(id))!;
    expect([row.status, row.documentsCount]).toEqual(['completed', datasetRecordCount / 2]);
    const expectedNumbers = Array.from({ length: datasetRecordCount }, (_, i) => datasetRecordCount - 1 - i).filter((n) => n % 1000 >= 500).map((n) => `${n},${n % 1000}\r\n`); // prettier-ignore
    expect((await readFile(lake.data.export(id, 'csv'))).toString()).toBe(`n,x\r\n${expectedNumbers.join('')}`); // prettier-ignore
    expect(row.metadata).not.toHaveProperty('resumed_parts');
    expect(await lake.findFolderDamage()).toEqual([]);
    expect((await readdir(join(root, 'scratch'))).filter((name) => /^\d/.test(name))).toEqual([]);
  },
);
