import { afterEach, beforeAll, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { readFile, readdir, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { ExportRow } from '../../../engine/catalog/exports.js';
import { seededRandom } from '../../random.js';
import { seed } from '../../seed.js';
import { pollUntil } from '../../until.js';
import { createDataTemplate } from '../processes/data-template.js';
import { isProcessAlive, KillableServer, recoverServer } from '../processes/killable.js';
import { Lake } from '../lake.js';

/*
 * Kills exports at each of their steps (C2). They resume from the recorded parts, and their files equal those of uninterrupted exports,
 * except for the provenance that some formats contain.
 */

const exportFormats = ['json', 'csv', 'csv-expand', 'parquet', 'arrow', 'excel'] as const;
type ExportFormat = (typeof exportFormats)[number];
const datasetRecordCount = 50_000;

/** The digests of the files of uninterrupted exports, by format. */
const expectedDigestByFormat = new Map<ExportFormat, string>();
let lake: Lake;

function noisyLines(): readonly string[] {
  const next = seededRandom(7);
  const noise = (): string => Math.floor(next() * 2 ** 48).toString(36);
  return Array.from({ length: datasetRecordCount }, (_, n) => {
    const tags = Array.from({ length: n % 4 }, noise);
    return `${JSON.stringify({ n, tags, text: Array.from({ length: 80 }, noise).join('') })}\n`;
  });
}

const templateFolder = await createDataTemplate(noisyLines());

beforeAll(async () => {
  lake = await Lake.open(templateFolder.root);
  const tasks = new Map<ExportFormat, number>();
  for (const format of exportFormats)
    tasks.set(format, (await lake.queueExport(templateFolder.datasetId, format)).resourceId);
  await lake.close();
  await recoverServer(templateFolder.root);
  lake = await Lake.open(templateFolder.root);
  for (const [format, id] of tasks)
    expectedDigestByFormat.set(format, await exportDigestOf(format, id));
  await lake.close();
});
afterEach(() => lake.close());

/** Creates a copy of the data folder with a queued export; returns its path, and the ids of the export and of its task. */
async function queueExportInCopy(
  format: ExportFormat,
): Promise<{ root: string; id: number; taskId: number }> {
  const root = await templateFolder.copy();
  lake = await Lake.open(root);
  const task = await lake.queueExport(templateFolder.datasetId, format);
  await lake.close();
  return { root, id: task.resourceId, taskId: task.id };
}

/** Returns a digest of the records in an export file, without the provenance. */
async function exportDigestOf(format: ExportFormat, id: number): Promise<string> {
  const row = (await lake.catalog.exports.get(id))!;
  expect([format, row.status]).toEqual([format, 'completed']);
  const file = lake.data.export(id, row.filename!.split(`-${id}.`)[1]!);
  const bytes = await readFile(file);
  expect(row.provenance).toMatchObject({
    sha256: createHash('sha256').update(bytes).digest('hex'),
  });
  expect(bytes).toHaveLength(row.bytes!);
  // The bytes that contain the time of the export are left out: those after the records, and in Arrow those before them.
  const comparedBytes =
    format === 'json'
      ? gunzipSync(bytes)
      : format === 'arrow'
        ? bytes.subarray(4_096)
        : format === 'parquet'
          ? bytes.subarray(0, bytes.length - 65_536)
          : format === 'excel'
            ? bytes.subarray(0, bytes.indexOf('xl/worksheets/sheet2.xml')) // the length of the provenance may differ
            : bytes;
  return createHash('sha256').update(comparedBytes).digest('hex');
}

/** Checks that an export has the same result as an uninterrupted one, and that no other files remain. */
async function checkCompleted(root: string, format: ExportFormat, id: number): Promise<ExportRow> {
  lake = await Lake.open(root);
  expect(await exportDigestOf(format, id)).toBe(expectedDigestByFormat.get(format));
  expect(await lake.findFolderDamage()).toEqual([]);
  expect((await readdir(join(root, 'scratch'))).filter((name) => /^\d/.test(name))).toEqual([]);
  const row = (await lake.catalog.exports.get(id))!;
  expect(row.documentsCount).toBe(datasetRecordCount);
  return row;
}

const resumedPartCount = (row: ExportRow): number => Number(row.metadata['resumed_parts'] ?? 0);

test.each(exportFormats)(
  '%s goes on from its recorded parts after a kill of the worker',
  async (format) => {
    const { root, id } = await queueExportInCopy(format);
    const server = new KillableServer(root, 'journal.appended', 'worker');
    await server.waitForExit();
    expect(server.isIdle).toBe(true);
    const row = await checkCompleted(root, format, id);
    expect(resumedPartCount(row)).toBeGreaterThan(0);
  },
);

/**
 * Kills the worker after the first part has been recorded, and then the server before another worker continues; returns the file of the
 * attempt.
 */
async function interruptExport(root: string, taskId: number): Promise<string> {
  lake = await Lake.open(root);
  const scratch = lake.data.taskScratch(taskId, 1);
  await lake.close();
  const server = new KillableServer(root, 'journal.appended', 'worker');
  const worker = await server.waitUntilReady();
  await pollUntil(() => worker === undefined || !isProcessAlive(worker));
  await server.killWithWorker(undefined);
  expect(server.isIdle).toBe(false);
  return join(scratch, 'export.json.gz');
}

test('a kill of server and worker resumes as well', async () => {
  const { root, id, taskId } = await queueExportInCopy('json');
  await interruptExport(root, taskId);
  await recoverServer(root);
  const row = await checkCompleted(root, 'json', id);
  expect(resumedPartCount(row)).toBeGreaterThan(0);
});

test.each(['export.partial', 'journal.partial', 'export.finished'])(
  'a worker that is killed at %s leaves nothing that is not whole',
  async (point) => {
    const { root, id } = await queueExportInCopy('csv');
    const server = new KillableServer(root, point, 'worker');
    await server.waitForExit();
    expect(server.isIdle).toBe(true);
    const row = await checkCompleted(root, 'csv', id);
    expect(resumedPartCount(row) > 0).toBe(point === 'export.finished');
  },
);

test.each(['export.renamed', 'task.before-done'])(
  'a server that is killed at %s recovers',
  async (point) => {
    const { root, id } = await queueExportInCopy('csv');
    const server = new KillableServer(root, point);
    await server.waitForExit();
    expect(server.isIdle).toBe(false);
    await recoverServer(root);
    await checkCompleted(root, 'csv', id);
  },
);

test(`parts whose bytes have changed since are encoded again, seed ${seed}`, async () => {
  const { root, id, taskId } = await queueExportInCopy('json');
  const file = await interruptExport(root, taskId);
  const bytes = await readFile(file);
  const next = seededRandom(seed);
  bytes[Math.floor(next() * bytes.length)]! ^= 1 + Math.floor(next() * 255);
  await writeFile(file, bytes);
  if (next() < 0.5) await truncate(file, Math.floor(next() * bytes.length));
  await recoverServer(root);
  await checkCompleted(root, 'json', id);
});
