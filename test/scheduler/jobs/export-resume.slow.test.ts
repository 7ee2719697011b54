import { afterEach, beforeAll, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { readFile, readdir, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { ExportRow } from '../../../engine/catalog/exports.js';
import { random } from '../../random.js';
import { seed } from '../../seed.js';
import { until } from '../../until.js';
import { dataTemplate } from '../processes/data-template.js';
import { isAlive, KillableServer, recoverServer } from '../processes/killable.js';
import { Lake } from '../lake.js';

/*
 * Kills exports at their steps (C2). They go on from the parts that were recorded, and their files have the bytes of those that nothing
 * interrupted, but for the provenance within some of them.
 */

const formats = ['json', 'csv', 'csv-expand', 'parquet', 'arrow', 'excel'] as const;
type Format = (typeof formats)[number];
const records = 50_000;

/** The digests of the files of uninterrupted exports. */
const expectedDigests = new Map<Format, string>();
let lake: Lake;

function noisyLines(): readonly string[] {
  const next = random(7);
  const noise = (): string => Math.floor(next() * 2 ** 48).toString(36);
  return Array.from({ length: records }, (_, n) => {
    const tags = Array.from({ length: n % 4 }, noise);
    return `${JSON.stringify({ n, tags, text: Array.from({ length: 80 }, noise).join('') })}\n`;
  });
}

const template = await dataTemplate(noisyLines());

beforeAll(async () => {
  lake = await Lake.open(template.root);
  const tasks = new Map<Format, number>();
  for (const format of formats)
    tasks.set(format, (await lake.export(template.datasetId, format)).resourceId);
  await lake.close();
  await recoverServer(template.root);
  lake = await Lake.open(template.root);
  for (const [format, id] of tasks) expectedDigests.set(format, await digestOf(format, id));
  await lake.close();
});
afterEach(() => lake.close());

/** A copy of the data folder with a queued export; the ids of the export and of its task. */
async function queued(format: Format): Promise<{ root: string; id: number; taskId: number }> {
  const root = await template.copy();
  lake = await Lake.open(root);
  const task = await lake.export(template.datasetId, format);
  await lake.close();
  return { root, id: task.resourceId, taskId: task.id };
}

/** A digest of a file's records, without its provenance. */
async function digestOf(format: Format, id: number): Promise<string> {
  const row = (await lake.catalog.exports.get(id))!;
  expect([format, row.status]).toEqual([format, 'completed']);
  const file = lake.data.export(id, row.filename!.split(`-${id}.`)[1]!);
  const bytes = await readFile(file);
  expect(row.provenance).toMatchObject({
    sha256: createHash('sha256').update(bytes).digest('hex'),
  });
  expect(bytes).toHaveLength(row.bytes!);
  // The bytes after the records, and in Arrow those before, contain the time of the export.
  const keptMembers =
    format === 'json'
      ? gunzipSync(bytes)
      : format === 'arrow'
        ? bytes.subarray(4_096)
        : format === 'parquet'
          ? bytes.subarray(0, bytes.length - 65_536)
          : format === 'excel'
            ? bytes.subarray(0, bytes.indexOf('xl/worksheets/sheet2.xml')) // the length of the provenance differs
            : bytes;
  return createHash('sha256').update(keptMembers).digest('hex');
}

/** Checks that the export has the result of an uninterrupted one, and that nothing is left over. */
async function checkCompleted(root: string, format: Format, id: number): Promise<ExportRow> {
  lake = await Lake.open(root);
  expect(await digestOf(format, id)).toBe(expectedDigests.get(format));
  expect(await lake.damage()).toEqual([]);
  expect((await readdir(join(root, 'scratch'))).filter((name) => /^\d/.test(name))).toEqual([]);
  const row = (await lake.catalog.exports.get(id))!;
  expect(row.documentsCount).toBe(records);
  return row;
}

const resumedParts = (row: ExportRow): number => Number(row.metadata['resumed_parts'] ?? 0);

test.each(formats)(
  '%s goes on from its recorded parts after a kill of the worker',
  async (format) => {
    const { root, id } = await queued(format);
    const server = new KillableServer(root, 'journal.appended', 'worker');
    await server.exit();
    expect(server.isIdle).toBe(true);
    const row = await checkCompleted(root, format, id);
    expect(resumedParts(row)).toBeGreaterThan(0);
  },
);

/** Kills the worker once something is recorded, and the server before another worker has gone on; returns the file of the attempt. */
async function interruptExport(root: string, taskId: number): Promise<string> {
  lake = await Lake.open(root);
  const scratch = lake.data.taskScratch(taskId, 1);
  await lake.close();
  const server = new KillableServer(root, 'journal.appended', 'worker');
  const worker = await server.ready();
  await until(() => worker === undefined || !isAlive(worker));
  await server.kill(undefined);
  expect(server.isIdle).toBe(false);
  return join(scratch, 'export.json.gz');
}

test('a kill of server and worker resumes as well', async () => {
  const { root, id, taskId } = await queued('json');
  await interruptExport(root, taskId);
  await recoverServer(root);
  const row = await checkCompleted(root, 'json', id);
  expect(resumedParts(row)).toBeGreaterThan(0);
});

test.each(['export.partial', 'journal.partial', 'export.finished'])(
  'a worker that is killed at %s leaves nothing that is not whole',
  async (point) => {
    const { root, id } = await queued('csv');
    const server = new KillableServer(root, point, 'worker');
    await server.exit();
    expect(server.isIdle).toBe(true);
    const row = await checkCompleted(root, 'csv', id);
    expect(resumedParts(row) > 0).toBe(point === 'export.finished');
  },
);

test.each(['export.renamed', 'task.before-done'])(
  'a server that is killed at %s recovers',
  async (point) => {
    const { root, id } = await queued('csv');
    const server = new KillableServer(root, point);
    await server.exit();
    expect(server.isIdle).toBe(false);
    await recoverServer(root);
    await checkCompleted(root, 'csv', id);
  },
);

test(`parts whose bytes have changed since are encoded again, seed ${seed}`, async () => {
  const { root, id, taskId } = await queued('json');
  const file = await interruptExport(root, taskId);
  const bytes = await readFile(file);
  const next = random(seed);
  bytes[Math.floor(next() * bytes.length)]! ^= 1 + Math.floor(next() * 255);
  await writeFile(file, bytes);
  if (next() < 0.5) await truncate(file, Math.floor(next() * bytes.length));
  await recoverServer(root);
  await checkCompleted(root, 'json', id);
});
