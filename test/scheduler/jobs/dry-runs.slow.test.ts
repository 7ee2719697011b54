import { afterEach, beforeAll, expect, test } from '@jest/globals';
import type { TaskRow } from '../../../engine/catalog/task-row.js';
import { findFolderInconsistencies } from '../../faults/differences.js';
import { Lake } from '../lake.js';
import { createDataTemplate } from '../processes/data-template.js';
import { KillableServer, recoverServer } from '../processes/killable.js';

/*
 * Kills dry runs of imports and migrations at each of their steps (C1, C2). They report what dry runs report that were not interrupted, and
 * change no dataset.
 */

type DryRunKind = 'import' | 'migration';
type DryRunMode = 'append' | 'upsert' | 'delete';

/** The steps of each kind, each with the process that is killed. */
const pointsByKind: Readonly<Record<DryRunKind, readonly (readonly [point: string, victim: 'server' | 'worker'])[]>> = {
  import: [
    ['segment.partial', 'worker'],
    ['segment.flushed', 'worker'],
    ['journal.appended', 'worker'],
    ['rejected.renamed', 'server'],
    ['task.before-done', 'server'],
  ],
  migration: [
    ['segment.partial', 'worker'],
    ['segment.flushed', 'worker'],
    ['migration.written', 'worker'],
    ['task.before-done', 'server'],
  ],
}; // prettier-ignore

/** What each dry run counts: the dataset has n = 0 to 199, the file every second n up to 598 but 20, the other dataset up to 298. */
const countsByDryRun: Readonly<Record<DryRunKind, Readonly<Record<DryRunMode, object>>>> = {
  import: {
    append: { records: 300 },
    upsert: { records_added: 200, records_changed: 99 },
    delete: { records_deleted: 99, ids_not_found: 200 },
  },
  migration: {
    append: { records: 150 },
    upsert: { records_added: 50, records_changed: 100 },
    delete: { records_deleted: 100, ids_not_found: 50 },
  },
};

const kinds = ['import', 'migration'] as const;
const modes = ['append', 'upsert', 'delete'] as const;
const template = await createDataTemplate(Array.from({ length: 200 }, (_, n) => `{"n":${n},"v":-1}\n`)); // prettier-ignore
const rejectedLine = 11;
let otherDatasetId: number;
let fileId: number;
let lake: Lake;
/** The reports of dry runs that were not interrupted, by `<kind> <mode>`. */
const wholeReports = new Map<string, unknown>();

beforeAll(async () => {
  lake = await Lake.open(template.root);
  const lines = Array.from({ length: 300 }, (_, i) => `{"n":${i + 1 === rejectedLine ? '"none"' : 2 * i},"v":${i}}\n`); // prettier-ignore
  fileId = await lake.createFile('given.json', lines.join(''));
  otherDatasetId = await lake.createDataset('other');
  const otherLines = Array.from({ length: 150 }, (_, i) => `{"n":${2 * i},"v":${i}}\n`);
  await lake.queueInlineImport(otherDatasetId, otherLines.join(''));
  await lake.close();
  await recoverServer(template.root);

  const root = await template.copy();
  lake = await Lake.open(root);
  const queuedTasks: (readonly [DryRunKind, DryRunMode, TaskRow])[] = [];
  for (const kind of kinds)
    for (const mode of modes) queuedTasks.push([kind, mode, await queueDryRun(kind, mode)]);
  await lake.close();
  await recoverServer(root);
  lake = await Lake.open(root);
  for (const [kind, mode, task] of queuedTasks) {
    expect(await lake.readTaskRow(task.id)).toMatchObject({ status: 'completed', attempts: 1 });
    const report = await readReport(kind, task);
    expect(report).toMatchObject({
      dry_run: countsByDryRun[kind][mode],
      receipt: { is_committed: false, records_rejected: kind === 'import' ? 1 : 0 },
    });
    wholeReports.set(`${kind} ${mode}`, report);
  }
  await lake.close();
});
afterEach(() => lake.close());

/** Queues a dry run in the folder of `lake`: of an import of the file, or of a migration of the other dataset. */
function queueDryRun(kind: DryRunKind, commitMode: DryRunMode): Promise<TaskRow> {
  const job = { commitMode, idFields: commitMode === 'append' ? null : ['n'], isDryRun: true };
  if (kind === 'migration') return lake.queueMigration(otherDatasetId, template.datasetId, job);
  const validationParams = { on_error: 'reject', max_rejected: 1 };
  return lake.queueFileImport(template.datasetId, fileId, { ...job, validationParams });
}

/** Returns what a dry run has reported, but for what depends on interruptions. */
async function readReport(kind: DryRunKind, { resourceId }: TaskRow): Promise<object> {
  const { imports, datasetMigrations } = lake.catalog;
  const row = await (kind === 'import' ? imports.get(resourceId) : datasetMigrations.get(resourceId)); // prettier-ignore
  const { dry_run, validation, receipt } = row!.metadata;
  const { resumed_chunks: _, ...report } = receipt as Readonly<Record<string, unknown>>;
  return { dry_run, validation, receipt: report };
}

/** Returns the versions, the numbers of records and the commits of both datasets. */
async function readDatasetStates(): Promise<readonly unknown[]> {
  const states: unknown[] = [];
  for (const id of [template.datasetId, otherDatasetId]) {
    const row = await lake.catalog.datasets.get(id);
    const page = { limit: 100, offset: 0 };
    const commits = await lake.catalog.commits.list({ viewer: null, datasetIds: [id] }, page);
    const commitIds = commits.rows.map((commit) => commit.id);
    states.push([await lake.store.version(id), row?.logVersion, row?.documentsCount, commitIds]);
  }
  return states;
}

// A deletion differs from the other modes only in how its result is published.
const cases = kinds.flatMap((kind) =>
  modes.flatMap((mode) =>
    pointsByKind[kind]
      .filter(([point]) => mode !== 'delete' || point === 'task.before-done')
      .map(([point, victim]) => [kind, mode, point, victim] as const),
  ),
);

test.each(cases)(
  'a dry run (%s, commit_mode %s) that is killed at %s reports the same as a whole one, and changes nothing',
  async (kind, mode, point, victim) => {
    const root = await template.copy();
    lake = await Lake.open(root);
    const statesBefore = await readDatasetStates();
    const task = await queueDryRun(kind, mode);
    await lake.close();
    const crashingServer = new KillableServer(root, point, victim);
    await crashingServer.waitForExit();
    expect([point, crashingServer.isIdle]).toEqual([point, victim === 'worker']);
    if (victim === 'server') await recoverServer(root);
    lake = await Lake.open(root);
    // At `task.before-done`, the catalogue has the report already, so the task does not run again.
    const attempts = point === 'task.before-done' ? 1 : 2;
    expect(await lake.readTaskRow(task.id)).toMatchObject({ status: 'completed', attempts });
    expect(await readReport(kind, task)).toEqual(wholeReports.get(`${kind} ${mode}`));
    expect(await readDatasetStates()).toEqual(statesBefore);
    expect(await findFolderInconsistencies(lake)).toEqual([]);
  },
);
