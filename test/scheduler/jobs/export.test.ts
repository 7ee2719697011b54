import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { tableFromIPC } from 'apache-arrow';
import { parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import type { ExportRow } from '../../../engine/catalog/exports.js';
import { queryEngine } from '../../../engine/query/plan/query-engine.js';
import type { SqlEngine } from '../../../engine/query/sql/sql-engine.js';
import { exportJob } from '../../../scheduler/jobs/export/export.js';
import { jobs, type Jobs } from '../../../scheduler/jobs/index.js';
import type { Scheduler } from '../../../scheduler/queue/scheduler.js';
import { startWorkerInProcess } from '../../faults/in-process.js';
import { Lake, vcfTextOf } from '../lake.js';
import { byTier } from '../../tier.js';
import { pollUntil } from '../../until.js';

/** In the slow tier, the dataset has more records than one part of any format, so that threads encode several parts at the same time. */
const largeRecordCount = byTier(3_000, 34_000);

let lake: Lake;
let scheduler: Scheduler;
let currentTime = Date.now();

beforeEach(async () => {
  lake = await Lake.make();
  await startScheduler();
});
afterEach(async () => {
  await scheduler.close();
  await lake.remove();
});

async function startScheduler(): Promise<void> {
  scheduler = await lake.startScheduler({
    report: () => undefined,
    now: () => currentTime,
  });
}

/** Imports records, given as JSON, into a new dataset; returns its id. */
async function importNewDataset(records: readonly object[]): Promise<number> {
  const datasetId = await lake.createDataset();
  const task = await lake.queueInlineImport(
    datasetId,
    records.map((record) => JSON.stringify(record)).join('\n'),
  );
  scheduler.wake();
  expect(await scheduler.wait(task.id)).toMatchObject({ status: 'completed' });
  return datasetId;
}

async function exportDataset(...request: Parameters<Lake['queueExport']>): Promise<ExportRow> {
  const task = await lake.queueExport(...request);
  scheduler.wake();
  await scheduler.wait(task.id);
  return (await lake.catalog.exports.get(task.resourceId)) as ExportRow;
}

const exportFileOf = (row: ExportRow): string =>
  lake.data.export(row.id, row.filename?.split(`-${row.id}.`)[1] as string);

const exportedRecords = [
  { name: 'a', n: 1, tags: ['x', 'y'], place: { start: 5 } },
  { name: 'with, comma', n: 2, tags: [], place: { start: 6 } },
  { name: null, n: -3 },
];

test('json contains every record, in order, and the export has the counts of its file', async () => {
  const datasetId = await importNewDataset(exportedRecords);
  const row = await exportDataset(datasetId, 'json');
  expect(row).toMatchObject({
    status: 'completed',
    filename: `variants-${row.id}.json.gz`,
    documentsCount: 3,
    logVersion: 0,
    metadata: { progress: { processed_records: 3, percent: 100 } },
  });
  expect(row.expiresAt).toBe(currentTime + 24 * 3_600_000);
  const bytes = await readFile(exportFileOf(row));
  expect(bytes).toHaveLength(row.bytes as number);
  const lines = gunzipSync(bytes)
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as object);
  expect(lines).toMatchObject(
    exportedRecords.map((record) => ({ name: record.name, n: record.n })),
  );
  expect(lines[0]).toMatchObject({ tags: ['x', 'y'], place: { start: 5 } });
  expect(new Set(lines.map((line) => (line as Record<string, string>)['_id'])).size).toBe(3);
  expect(await lake.findFolderDamage()).toEqual([]);
});

test('csv contains the titles and the exact values of the selected fields', async () => {
  const datasetId = await importNewDataset(exportedRecords);
  const row = await exportDataset(datasetId, 'csv', {
    params: { fields: ['name', 'n', 'tags', 'place.start'] },
  });
  expect(row).toMatchObject({ status: 'completed', filename: `variants-${row.id}.csv` });
  expect((await readFile(exportFileOf(row))).toString().split('\r\n')).toEqual([
    'name,n,tags,place.start',
    'a,1,"[""x"",""y""]",5',
    '"with, comma",2,[],6',
    ',-3,,',
    '',
  ]);
});

test('an export that gives each element of a list its own column runs its query once', async () => {
  const datasetId = await importNewDataset(exportedRecords);
  await scheduler.close();
  let statementCount = 0;
  const statementCountingEngine = (sql: SqlEngine): SqlEngine => ({
    language: sql.language,
    run: (...statement) => ((statementCount += 1), sql.run(...statement)),
    stream: (...statement) => ((statementCount += 1), sql.stream(...statement)),
    close: () => sql.close(),
  });
  const statementCountingJob: typeof exportJob = {
    ...exportJob,
    run: (params, context) =>
      exportJob.run(params, {
        ...context,
        queryEngine: queryEngine(statementCountingEngine(context.queryEngine.sql.engine)),
      }),
  };
  const jobsCountingStatements: Jobs = jobs.map((job) =>
    job === exportJob ? statementCountingJob : job,
  );
  scheduler = await lake.startScheduler({
    jobs: jobsCountingStatements,
    startWorker: (...args) => startWorkerInProcess(...args, jobsCountingStatements),
  });
  const countStatementsOf = async (format: string, lines: readonly string[]): Promise<number> => {
    statementCount = 0;
    const params = { filters: [['n__gt', 0]], ordering: ['-name'], fields: ['n', 'tags'] };
    const row = await exportDataset(datasetId, format, { params });
    expect((await readFile(exportFileOf(row))).toString().split('\r\n')).toEqual([...lines, '']);
    return statementCount;
  };
  const csvStatementCount = await countStatementsOf('csv', ['n,tags', '2,[]', '1,"[""x"",""y""]"']);
  expect(csvStatementCount).toBeGreaterThan(0);
  expect(await countStatementsOf('csv-expand', ['n,tags.0,tags.1', '2,,', '1,x,y'])).toBe(
    csvStatementCount,
  );
});

test('the progress of an export tells its total at once if the log does', async () => {
  const datasetId = await importNewDataset(exportedRecords);
  await scheduler.close();
  const totals: (number | null)[] = [];
  const progressCollectingJob: typeof exportJob = {
    ...exportJob,
    run: (params, context) => {
      const progress: typeof context.progress = (values) =>
        totals.push(values.recordsTotal ?? null);
      return exportJob.run(params, { ...context, progress });
    },
  };
  const jobsCollectingProgress: Jobs = jobs.map((job) =>
    job === exportJob ? progressCollectingJob : job,
  );
  scheduler = await lake.startScheduler({
    jobs: jobsCollectingProgress,
    startWorker: (...args) => startWorkerInProcess(...args, jobsCollectingProgress),
  });
  for (const [params, total] of [
    [{}, 3],
    [{ limit: 2 }, 2],
    [{ filters: [['n__gt', 1_000_000]] }, 0],
  ] as const) {
    totals.length = 0;
    await exportDataset(datasetId, 'csv', { params });
    expect([params, totals[0]]).toEqual([params, total]);
  }
});

test('a list has as many columns as the longest of the exported records, wherever that is', async () => {
  const generatedRecords = Array.from({ length: largeRecordCount }, (_, i) => ({ n: i, l: i === largeRecordCount - 1 ? [1, 2, 3, 4, 5] : i === 3 ? [7, 8] : i % 2 === 0 ? [i] : null })); // prettier-ignore
  const datasetId = await importNewDataset(generatedRecords);
  const exportTitleLine = async (params: object): Promise<string> => {
    const row = await exportDataset(datasetId, 'csv-expand', { params: { fields: ['n', 'l'], ...params } }); // prettier-ignore
    expect([row.status, row.errorMessage]).toEqual(['completed', null]);
    const text = (await readFile(exportFileOf(row))).toString();
    const lines = text.trimEnd().split('\r\n');
    const cellsByRow = lines.slice(1).map((line) => line.split(','));
    const columns = lines[0]!.split(',').length;
    const expectedRows = cellsByRow.map(([n]) => [n, ...Array.from({ length: columns - 1 }, (_, i) => String(generatedRecords[Number(n)]!.l?.[i] ?? ''))]); // prettier-ignore
    expect(cellsByRow).toEqual(expectedRows);
    return lines[0]!;
  };
  expect(await exportTitleLine({})).toBe('n,l.0,l.1,l.2,l.3,l.4');
  expect(await exportTitleLine({ filters: [['n__lt', largeRecordCount / 2]] })).toBe('n,l.0,l.1');
  expect(await exportTitleLine({ limit: 3 })).toBe('n,l.0');
  expect(await exportTitleLine({ filters: [['n', 1]], ordering: '-n' })).toBe('n,l.0');
});

test('a workbook warns in the metadata of its task of texts that it cuts', async () => {
  const datasetId = await importNewDataset([{ t: 'x'.repeat(40_000) }, { t: 'y' }]);
  const row = await exportDataset(datasetId, 'excel');
  expect(row).toMatchObject({ status: 'completed', filename: `variants-${row.id}.xlsx`, metadata: { warnings: [{ field: 't', count: 1 }] } }); // prettier-ignore
});

test('names the version, the query and the checksum of a file, in the catalogue and where the format can', async () => {
  const datasetId = await importNewDataset(exportedRecords);
  const params = { filters: [['n__gt', 0]], fields: ['name', 'n'] };
  const row = await exportDataset(datasetId, 'parquet', { params });
  const bytes = await readFile(exportFileOf(row));
  const commit = await lake.catalog.commits.lastBefore(datasetId, 1);
  const embeddedProvenance = { export_id: row.id, format: 'parquet', dataset_id: datasetId, dataset_version: 0, commit_id: commit!.id, content: 'query', query: params, exported_at: new Date(currentTime).toISOString(), software: 'strandlake', software_version: (JSON.parse(await readFile('package.json', 'utf8')) as { version: string }).version }; // prettier-ignore
  expect(row.provenance).toMatchObject({ ...embeddedProvenance, filename: row.filename, documents_count: 2, bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }); // prettier-ignore
  expect(row.provenance!['dataset_full_path']).toMatch(/^[^:]+:[^:]+:\/variants/);
  const { key_value_metadata: metadata } = await parquetMetadataAsync(arrayBufferOf(bytes));
  expect(metadata!.map(({ key }) => key)).toEqual(['strandlake.provenance']);
  expect(JSON.parse(metadata![0]!.value!)).toMatchObject(embeddedProvenance);
  const arrowExport = await exportDataset(datasetId, 'arrow', { params });
  const table = tableFromIPC(await readFile(exportFileOf(arrowExport)));
  expect(JSON.parse(table.schema.metadata.get('strandlake.provenance')!)).toMatchObject({ ...embeddedProvenance, export_id: arrowExport.id, format: 'arrow' }); // prettier-ignore
});

test('Parquet files have the records of whole segments and of parts of them', async () => {
  const manyTexts = Array.from({ length: largeRecordCount }, (_, i) => ({
    n: i,
    s: `text ${i % 700}`,
  }));
  const datasetId = await importNewDataset(manyTexts);
  const readGroupSizes = async (
    params: object,
    expectedRecords: readonly object[],
  ): Promise<readonly number[]> => {
    const row = await exportDataset(datasetId, 'parquet', {
      params: { fields: ['n', 's'], ...params },
    });
    expect([row.status, row.documentsCount]).toEqual(['completed', expectedRecords.length]);
    const file = arrayBufferOf(await readFile(exportFileOf(row)));
    expect(await parquetReadObjects({ file, compressors: { ZSTD: (bytes, length) => zstdDecompressSync(bytes, { maxOutputLength: Math.max(length, 1) }) } })).toEqual(expectedRecords); // prettier-ignore
    const { row_groups: rowGroups } = await parquetMetadataAsync(file);
    return rowGroups.map(({ num_rows: rows }) => Number(rows));
  };
  const wideRecords = manyTexts.map(({ n, s }) => ({ n: BigInt(n), s }));
  expect(await readGroupSizes({}, wideRecords)).toEqual([largeRecordCount]);
  expect(await readGroupSizes({ limit: largeRecordCount - 1 }, wideRecords.slice(0, -1))).toEqual([
    largeRecordCount - 1,
  ]);
  expect(await readGroupSizes({ filters: [['n__gte', 100]] }, wideRecords.slice(100))).toEqual([
    largeRecordCount - 100,
  ]);
});

function arrayBufferOf({ buffer, byteOffset, length }: Buffer): ArrayBuffer {
  return buffer.slice(byteOffset, byteOffset + length) as ArrayBuffer;
}

test('filters, ordering and limit select the records', async () => {
  const datasetId = await importNewDataset(Array.from({ length: 50 }, (_, i) => ({ n: i })));
  const params = { filters: [['n__gte', 10]], ordering: '-n', limit: 3, fields: ['n'] };
  const row = await exportDataset(datasetId, 'json', { params });
  expect(gunzipSync(await readFile(exportFileOf(row))).toString()).toBe(
    '{"n":49}\n{"n":48}\n{"n":47}\n',
  );
});

test('keeps the order of the dataset, or has the one that is asked for', async () => {
  const datasetId = await importNewDataset([]);
  const file = await lake.createFile('a.vcf', vcfTextOf(largeRecordCount));
  const task = await lake.queueFileImport(datasetId, file);
  scheduler.wake();
  await scheduler.wait(task.id);
  const orderedExport = await exportDataset(datasetId, 'json', { params: { fields: ['_id'] } });
  const ids = gunzipSync(await readFile(exportFileOf(orderedExport)))
    .toString()
    .trimEnd()
    .split('\n');
  expect(ids).toHaveLength(largeRecordCount);
  expect(ids.every((id, i) => i === 0 || id > (ids[i - 1] as string))).toBe(true);
  const params = { fields: ['genomic_coordinates.start'], ordering: '-genomic_coordinates.start' };
  const reversedExport = await exportDataset(datasetId, 'csv', { params });
  const starts = (await readFile(exportFileOf(reversedExport)))
    .toString()
    .trimEnd()
    .split('\r\n')
    .slice(1);
  expect(starts.map(Number)).toEqual(
    Array.from({ length: largeRecordCount }, (_, i) => largeRecordCount - i),
  );
});

test('target_full_path creates a file object and its folders, which remain when the export expires', async () => {
  const datasetId = await importNewDataset(exportedRecords);
  const row = await exportDataset(datasetId, 'csv', { targetFullPath: `~/out/2026/all` });
  expect(row).toMatchObject({ status: 'completed', errorMessage: null });
  const object = await lake.catalog.objects.byPath(lake.vault.id, '/out/2026/all.csv');
  expect(object).toMatchObject({
    id: row.targetObjectId,
    availability: 'available',
    size: row.bytes,
    documentsCount: 3,
  });
  const secondExport = await exportDataset(datasetId, 'csv', {
    targetFullPath: '~/out/2026/all.csv',
  });
  const secondObject = await lake.catalog.objects.get(secondExport.targetObjectId as number);
  expect(secondObject?.path).toBe('/out/2026/all-1.csv');
  const bytes = await readFile(exportFileOf(row));
  currentTime += 25 * 3_600_000;
  await scheduler.close();
  await startScheduler();
  expect(await readdir(lake.data.exports)).toEqual([]);
  expect((await lake.catalog.exports.get(row.id))?.filename).toBeNull();
  expect(await readFile(lake.data.object(object?.id as number, 1))).toEqual(bytes);
});

test('fails with a reason if the user may not write to the target, and leaves no file (A5)', async () => {
  const datasetId = await importNewDataset(exportedRecords);
  const row = await exportDataset(datasetId, 'csv', {
    targetFullPath: `nobody:${randomUUID()}:/x`,
  });
  expect(row).toMatchObject({ status: 'failed', filename: null });
  expect(row.errorMessage).toContain('You cannot write to');
  expect(await readdir(lake.data.exports)).toEqual([]);
  expect(await lake.findFolderDamage()).toEqual([]);
});

test('a canceled export leaves nothing (D12)', async () => {
  const datasetId = await lake.createDataset();
  const task = await lake.queueFileImport(
    datasetId,
    await lake.createFile('a.vcf', vcfTextOf(50_000)),
  );
  scheduler.wake();
  await scheduler.wait(task.id);
  const exportTask = await lake.queueExport(datasetId, 'json');
  scheduler.wake();
  await pollUntil(async () => (await lake.readTaskRow(exportTask.id))?.status === 'running');
  expect(await scheduler.cancel(exportTask.id)).toMatchObject({ status: 'canceled' });
  expect(await readdir(lake.data.exports)).toEqual([]);
  expect(await lake.findFolderDamage()).toEqual([]);
});
