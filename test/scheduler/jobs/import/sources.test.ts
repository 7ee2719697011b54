import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { DuckDBInstance } from '@duckdb/node-api';
import type { JsonObject } from '../../../../engine/core/types.js';
import type { Scheduler } from '../../../../scheduler/queue/scheduler.js';
import type { FetchedFile, RunContext } from '../../../../scheduler/jobs/job.js';
import type { ImportSource } from '../../../../scheduler/jobs/import/import-source.js';
import { SourceFiles } from '../../../../scheduler/jobs/import/source-files.js';
import { Lake } from '../../lake.js';

let lake: Lake;
let scheduler: Scheduler;
beforeAll(async () => {
  lake = await Lake.make();
  scheduler = await lake.startScheduler({
    config: { threads: 2, workerMemoryMb: 512 },
  });
});
afterAll(async () => {
  await scheduler.close();
  await lake.remove();
});

let datasetId: number;
beforeEach(async () => {
  datasetId = await lake.createDataset(`d${Math.random()}`);
});
afterEach(async () => expect(await lake.findFolderDamage()).toEqual([]));

/** Imports the files of a manifest; returns the row of the import after it has ended. */
async function importManifest(fileEntries: readonly JsonObject[], more: object = {}) {
  const manifest = { files: fileEntries };
  const task = await lake.queueFileImport(datasetId, 0, {
    source: 'manifest',
    objectId: null,
    manifest,
    ...more,
  });
  scheduler.wake();
  await scheduler.wait(task.id);
  const row = await lake.catalog.imports.get(task.resourceId);
  return row!;
}

/** Returns some columns of the records, ordered by `_id`, read from the files by DuckDB. */
async function selectColumns(columns: string): Promise<readonly unknown[]> {
  const { files } = await lake.store.snapshot(datasetId);
  const duckdb = await (await DuckDBInstance.create(':memory:')).connect();
  try {
    const list = files.map((file) => `'${file}'`).join(', ');
    const result = await duckdb.runAndReadAll(
      `SELECT ${columns} FROM read_parquet([${list}], union_by_name = true) ORDER BY _id`,
    );
    return result.getRowsJson();
  } finally {
    duckdb.closeSync();
  }
}

describe('several files in one import', () => {
  test('are stored in order, each read with its reader and parameters, and types are unified over all of them', async () => {
    const jsonFileId = await lake.createFile('a.json', '{"n":1,"who":"a1"}\n{"n":2,"who":"a2"}\n');
    const csvFileId = await lake.createFile('b.csv', 'n;who\n2.5;b1\n');
    const tsvFileId = await lake.createFile('c.tsv', 'who\textra\nc1\tx\n');
    const { status, errorMessage, metadata } = await importManifest([
      { object_id: jsonFileId },
      { object_id: csvFileId, reader_params: { delimiter: ';' } },
      { object_id: tsvFileId, reader_params: null },
    ]);
    expect([status, errorMessage]).toEqual(['completed', null]);
    expect(await selectColumns('who, n, extra')).toEqual([
      ['a1', 1, null],
      ['a2', 2, null],
      ['b1', 2.5, null],
      ['c1', null, 'x'],
    ]);
    const { columns } = await lake.store.snapshot(datasetId);
    expect(columns.find(({ name }) => name === 'n')?.type).toBe('double');
    expect(metadata['progress']).toMatchObject({ processed_records: 4, percent: 100 });
    const commits = await lake.catalog.commits.list(
      { viewer: null, datasetIds: [datasetId] },
      { limit: 10, offset: 0 },
    );
    expect(commits.rows.map(({ recordsModified }) => recordsModified)).toEqual([4]);
  });

  test('of many chunks keep the order of their records, in whatever order threads finish', async () => {
    const sizes = [30_000, 1, 0, 20_000, 3];
    const fileIds = await Promise.all(
      sizes.map((size, file) => {
        const line = (i: number) => JSON.stringify({ file, i, pad: 'x'.repeat(150) });
        return lake.createFile(
          `f${file}.json`,
          Array.from({ length: size }, (_, i) => line(i) + '\n').join(''),
        );
      }),
    );
    const { status } = await importManifest(fileIds.map((id) => ({ object_id: id })));
    expect(status).toBe('completed');
    const expectedRows = sizes.flatMap((size, file) =>
      Array.from({ length: size }, (_, i) => `${file} ${i}`),
    );
    const actualRows = (await selectColumns('file, i')) as readonly (readonly [unknown, unknown])[];
    expect(actualRows.map(([file, i]) => `${file} ${i}`)).toEqual(expectedRows);
    expect((await lake.store.snapshot(datasetId)).segments.length).toBeGreaterThan(4);
  });

  test('are validated by their own rules, and findings name the file', async () => {
    await importManifest([{ object_id: await lake.createFile('first.json', '{"n":1}\n') }]);
    const goodFileId = await lake.createFile('good.json', '{"n":2}\n{"n":3}\n');
    const badFileId = await lake.createFile('bad.json', '{"n":4}\n{"n":"many"}\n');
    const failedImport = await importManifest([
      { object_id: goodFileId },
      { object_id: badFileId },
    ]);
    expect(failedImport.status).toBe('failed');
    expect(failedImport.errorMessage).toMatch(/^bad\.json, line 2: .*\(code 301/);
    expect(failedImport.metadata['validation']).toMatchObject({
      errors: [{ code: 301, field: 'n', file: 'bad.json', line: 2 }],
    });
    const lenientEntry = { object_id: badFileId, validation_params: { disable: true } };
    expect((await importManifest([{ object_id: goodFileId }, lenientEntry])).status).toBe(
      'completed',
    );
    expect(await selectColumns('n')).toEqual([['1'], ['2'], ['3'], ['4'], [null]]);
  });

  test('stop at the first error of a file with raise_on_errors', async () => {
    await importManifest([{ object_id: await lake.createFile('first2.json', '{"n":1}\n') }]);
    const badFileId = await lake.createFile('bad2.json', '{"n":"x"}\n{"n":"y"}\n');
    const brokenFileId = await lake.createFile('broken.json', '{"n":');
    const raisingEntry = { object_id: badFileId, validation_params: { raise_on_errors: true } };
    const { errorMessage } = await importManifest([raisingEntry, { object_id: brokenFileId }]);
    expect(errorMessage).toMatch(/^bad2\.json, line 1: /);
  });

  test('fail as a whole if one was deleted or may not be read', async () => {
    const goodFileId = await lake.createFile('good3.json', '{"n":1}\n');
    const failedImport = await importManifest([{ object_id: goodFileId }, { object_id: 17 }]);
    expect(failedImport).toMatchObject({
      status: 'failed',
      errorMessage: 'the source file has been deleted',
    });
    const oddFile = await lake.createFile('no.vcf', 'chr1\t1\n');
    expect(
      (await importManifest([{ object_id: goodFileId }, { object_id: oddFile }])).errorMessage,
    ).toMatch(/^no\.vcf/);
    expect((await lake.store.snapshot(datasetId)).rows).toBe(0);
  });
});

test('C9: a file that is deleted while an import reads it can be read to its end', async () => {
  const scratch = lake.data.taskScratch(99_999, 1);
  mkdirSync(scratch);
  const paths = ['a', 'b'].map((name) => join(scratch, `${name}.json`));
  for (const path of paths) writeFileSync(path, path);
  const context = { scratch, signal: new AbortController().signal } as unknown as RunContext;
  const createSourceFiles = (): SourceFiles =>
    new SourceFiles(paths.map((file) => ({ name: basename(file), location: { kind: 'file', file, identity: file, md5: null } }) as unknown as ImportSource), context, null); // prettier-ignore
  const source = createSourceFiles();
  expect(await source.open()).toEqual(paths.map((path) => path.length));
  for (const path of paths) rmSync(path);
  for (const [i, path] of paths.entries())
    expect(readFileSync((await source.file(i)).completeFile, 'utf8')).toBe(path);
  await expect(createSourceFiles().open()).rejects.toThrow('the source file a.json has been deleted: upload it again'); // prettier-ignore
  rmSync(scratch, { recursive: true });
});

describe('files on other hosts', () => {
  const sourceOf = (name: string): ImportSource => ({
    location: { kind: 'url', url: `https://example.org/${name}` },
    isReaderNamed: false,
    name,
    reader: 'json',
    readerParams: {},
    validation: { disable: false, raiseOnErrors: false, strict: false, allowNewFields: false },
    entityParams: {},
    expected: { md5: null, bytes: name === 'b' ? 7 : null },
  });

  /** Returns source files whose simulated downloads end when the test says so, and the names of those that have begun. */
  function createSourceFiles(names: readonly string[]) {
    const begun: string[] = [];
    const arrivals = new Map<string, { arrive(): void; fail(): void }>();
    const fetchSource: RunContext['fetchSource'] = ({ name }, _file, signal) => {
      begun.push(name);
      return new Promise<FetchedFile>((resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('aborted')));
        const fail = () => reject(new Error(`${name} is not there`));
        arrivals.set(name, { arrive: () => resolve({ bytes: 3, md5: `md5 of ${name}` }), fail });
      });
    };
    const { signal } = new AbortController();
    const context = { fetchSource, signal, scratch: '/nowhere' } as unknown as RunContext;
    return { begun, arrivals, source: new SourceFiles(names.map(sourceOf), context, null) };
  }

  test('are downloaded once, one file ahead of the one that is read', async () => {
    const { begun, arrivals, source } = createSourceFiles(['a', 'b', 'c']);
    expect(await source.open()).toEqual([0, 7, 0]);
    const firstFile = source.file(0);
    expect(begun).toEqual(['a']);
    arrivals.get('a')!.arrive();
    expect(await firstFile).toMatchObject({
      completeFile: '/nowhere/source-0000',
      bytes: 3,
      md5: 'md5 of a',
    });
    expect(begun).toEqual(['a', 'b']);
    arrivals.get('b')!.arrive();
    await source.file(1);
    expect(begun).toEqual(['a', 'b', 'c']);
    await source.close();
  });

  test('fail when they are needed, and are aborted with the import', async () => {
    const { begun, arrivals, source } = createSourceFiles(['a', 'b', 'c']);
    const firstFile = source.file(0);
    arrivals.get('a')!.arrive();
    await firstFile;
    arrivals.get('b')!.fail();
    await expect(source.file(1)).rejects.toThrow('b is not there');
    expect(begun).toEqual(['a', 'b']);
    const otherFiles = createSourceFiles(['a', 'b']);
    const waitingFile = otherFiles.source.file(0);
    const closedSource = otherFiles.source.close();
    await expect(waitingFile).rejects.toThrow('aborted');
    await closedSource;
  });
});
