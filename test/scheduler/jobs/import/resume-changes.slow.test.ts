import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import type { TaskRow } from '../../../../engine/catalog/task-row.js';
import { Lake } from '../../lake.js';
import { KillableServer } from '../../processes/killable.js';

/*
 * Imports that change records are killed after some chunks and resume (C1): they read only the other chunks, and the records, the report
 * and the rejected records are those of an import that was not interrupted.
 */

const storedCount = 2_000;
const givenCount = 40_000;
/** Numbers of the lines whose records are rejected, in the first and the last chunk. */
const rejectedLines = [11, 39_990];

let lake: Lake;
let root: string;
let fileId: number;

beforeAll(async () => {
  lake = await Lake.make();
  root = lake.data.root;
  const lines = Array.from({ length: givenCount }, (_, i) => {
    const n = rejectedLines.includes(i + 1) ? '"none"' : 2 * i; // the first 1,000 numbers are those of every second stored record
    return `{"n":${n},"v":${i},"pad":"${'x'.repeat(200)}"}\n`;
  });
  fileId = await lake.createFile('changes.json', lines.join(''));
});
afterAll(() => lake.remove());

/** Closes the data folder while a server works on it until it is idle. */
async function runServer(crashPoint?: string): Promise<void> {
  await lake.close();
  try {
    const server = new KillableServer(root, crashPoint, 'worker');
    await server.waitForExit();
    expect(server.isIdle).toBe(true);
  } finally {
    lake = await Lake.open(root);
  }
}

type ChangeMode = 'overwrite' | 'upsert' | 'delete';

/** Changes a new dataset by an import; returns its numbers of attempts and resumed chunks, and what does not depend on ids and times. */
async function runChange(mode: ChangeMode, crashPoint?: string) {
  const datasetId = await lake.createDataset(`${mode} ${crashPoint === undefined ? 'whole' : 'killed'}`); // prettier-ignore
  const storedLines = Array.from(
    { length: storedCount },
    (_, n) => `{"n":${n},"v":-1,"kept":${n}}`,
  );
  await lake.queueInlineImport(datasetId, storedLines.join('\n'));
  await runServer();
  const validationParams = { on_error: 'reject', max_rejected: 5 };
  const change = { commitMode: mode, idFields: ['n'], validationParams };
  const task = await lake.queueFileImport(datasetId, fileId, change);
  await runServer(crashPoint);
  const { status, attempts } = (await lake.readTaskRow(task.id))!;
  const { metadata, errorMessage } = (await lake.catalog.imports.get(task.resourceId))!;
  expect([errorMessage, status]).toEqual([null, 'completed']);
  const { resumed_chunks: resumedChunks, ...receipt } = metadata['receipt'] as Readonly<Record<string, unknown>>; // prettier-ignore
  const [commit] = await lake.catalog.commits.ofImport(task.resourceId);
  const { recordsTotal, recordsAdded, recordsChanged, recordsRemoved } = commit!;
  const rejectedText = gunzipSync(
    await readFile(lake.data.rejectedLines(task.resourceId)),
  ).toString();
  const records = await exportRecords(await lake.queueExport(datasetId, 'json', { params: { exclude_fields: ['_id', '_commit', 'pad'] } })); // prettier-ignore
  expect(await lake.store.verify(datasetId)).toEqual([]);
  const { validation } = metadata;
  const counts = { recordsTotal, recordsAdded, recordsChanged, recordsRemoved };
  return {
    attempts,
    resumedChunks,
    outcome: { receipt, validation, counts, rejected: rejectedText, records },
  };
}

async function exportRecords(task: TaskRow): Promise<string> {
  await runServer();
  return gunzipSync(await readFile(lake.data.export(task.resourceId, 'json.gz'))).toString();
}

test.each<[ChangeMode, object]>([
  ['overwrite', { recordsTotal: storedCount + givenCount - 1_000 - 1, recordsAdded: 39_000 - 1, recordsChanged: 999, recordsRemoved: 0 }], // prettier-ignore
  ['upsert', { recordsTotal: storedCount + givenCount - 1_000 - 1, recordsAdded: 39_000 - 1, recordsChanged: 999, recordsRemoved: 0 }], // prettier-ignore
  ['delete', { recordsTotal: 1_001, recordsAdded: 0, recordsChanged: 0, recordsRemoved: 999 }],
])('an import with commit_mode %s that was killed after two chunks reads only the others, and does the same as a whole one', async (mode, counts) => {
  const wholeChange = await runChange(mode);
  expect(wholeChange).toMatchObject({ attempts: 1, resumedChunks: 0 });
  const { outcome } = wholeChange;
  expect(outcome).toMatchObject({
    counts,
    receipt: { records_read: givenCount, records_stored: givenCount - 2, records_rejected: 2, is_committed: true, rejected_file: { records: 2, left_out: 0 } },
  });
  const rejectedRecords = outcome.rejected.trimEnd().split('\n').map((line) => JSON.parse(line) as { readonly line: number });
  expect(rejectedRecords.map(({ line }) => line)).toEqual(rejectedLines);
  const resumedChange = await runChange(mode, 'journal.appended:2');
  expect(resumedChange).toMatchObject({ attempts: 2, resumedChunks: 2 });
  expect(resumedChange.outcome).toEqual(outcome);
}); // prettier-ignore
