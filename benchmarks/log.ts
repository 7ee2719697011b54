import { copyFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DataFolder } from '../engine/core/data-folder.js';
import { makeFolder, openDataFolder } from '../engine/core/files.js';
import type { Columns } from '../engine/core/types.js';
import { batchOfRows } from '../engine/parquet/plain-rows.js';
import { parquetColumns } from '../engine/store/arrow-columns.js';
import { writeCheckpoint } from '../engine/store/checkpoints.js';
import { deletionVector } from '../engine/store/deletion-vector.js';
import { emptyState } from '../engine/store/log-state.js';
import { openStore } from '../engine/store/open-store.js';
import { flushSegment, writeSegmentUnflushed } from '../engine/store/segment.js';
import { replayLog } from '../engine/store/replay-log.js';
import type { Segment, Store } from '../engine/store/store.js';
import { seededRandom } from './random.js';
import { machineText, markdownTable, median, writeResult, type ResultLine } from './table.js';

const runsPerMeasurement = 5;
/** Each commit whose number is a multiple of this also removes all earlier segments, as a compaction does. */
const commitsPerMerge = 50;
const columns: Columns = [{ name: 'n', physical: 'n', type: 'long', isList: false }];

/** `npm run bench -- log`: opens datasets of many commits, with and without the checkpoint of the last version. */
export async function runLog(flags: ReadonlySet<string>): Promise<void> {
  const share = flags.has('--quick') ? 0.02 : 1;
  const root = await mkdtemp(join(tmpdir(), 'strandlake-log-'));
  try {
    const folder = await openDataFolder(root);
    const store = openStore(folder);
    const setup = { folder, store, segment: await writeOneSegment(folder) };
    const lines = [
      await measureReplayTime(setup, 1, 'small commits', 5_000 * share, appendCommit),
      await measureReplayTime(setup, 2, 'deletes of 25,000 random rows', 200 * share, deleteCommit),
    ];
    const text = `${markdownTable(lines)}\n\n${machineText({}).replace(/, $/, '')}`;
    process.stdout.write(`${text}\n`);
    if (flags.has('--write')) writeResult('log', text);
  } finally {
    await rm(root, { recursive: true });
  }
}

interface LogSetup {
  readonly folder: DataFolder;
  readonly store: Store;
  /** The segment that each append adds; its file is in the scratch folder. */
  readonly segment: Segment;
}

async function writeOneSegment(folder: DataFolder): Promise<Segment> {
  const data = batchOfRows(parquetColumns(columns), [{ _id: 'a', _commit: '1', n: 1 }]);
  const file = join(folder.scratch, 'one.parquet');
  const segment = await writeSegmentUnflushed({ columns, data, rows: 1 }, file);
  await flushSegment(file);
  return segment;
}

async function measureReplayTime(
  setup: LogSetup,
  datasetId: number,
  what: string,
  commits: number,
  commit: (setup: LogSetup, datasetId: number, i: number) => Promise<void>,
): Promise<ResultLine> {
  const { folder, store } = setup;
  for (let i = 0; i < commits; i++) await commit(setup, datasetId, i);
  const version = await store.version(datasetId);
  const scratch = folder.taskScratch(datasetId, 2);
  await makeFolder(scratch);
  const file = join(scratch, 'checkpoint.parquet');
  await store.publishCheckpoint(datasetId, file, await writeCheckpoint(folder, datasetId, version, file)); // prettier-ignore
  const wholeReplayMs = await timeWork(() => replayLog(folder, datasetId, Infinity, emptyState));
  const shortReplayMs = await timeWork(() => replayLog(folder, datasetId));
  return {
    measurement: `${commits.toLocaleString('en')} ${what}`,
    ours: `${shortReplayMs.toFixed(1)} ms`,
    peer: `the whole log ${wholeReplayMs.toFixed(0)} ms`,
    ratio: shortReplayMs / wholeReplayMs,
    limit: 0.25,
  };
}

/** Commits a segment; every `commitsPerMerge` commits it also replaces all earlier segments, as in a compaction. */
async function appendCommit({ folder, store, segment }: LogSetup, id: number, i: number) {
  const scratch = folder.taskScratch(id, 1);
  await makeFolder(scratch);
  copyFileSync(join(folder.scratch, segment.path), join(scratch, segment.path));
  const { segments } = await store.snapshot(id);
  const remove = i % commitsPerMerge === 0 ? segments.map(({ path }) => path) : [];
  await store.commit(id, { columns, add: [segment], remove, info: {} }, scratch);
}

/** Commits the deletion of random rows of one large segment, which the first commit adds. */
async function deleteCommit(setup: LogSetup, id: number, i: number) {
  const { store } = setup;
  if (i === 0)
    await appendCommit({ ...setup, segment: { ...setup.segment, rows: 1_000_000 } }, id, i);
  const { segments, version } = await store.snapshot(id);
  const random = seededRandom(i);
  const rows = new Set(Array.from({ length: 25_000 }, () => random.below(1_000_000)));
  const deletion = deletionVector(Int32Array.from(rows).sort());
  const change = { columns, add: [], remove: [], update: [{ ...segments[0]!, deletion }], info: {}, base: version }; // prettier-ignore
  await store.commit(id, change, '');
}

async function timeWork(work: () => Promise<unknown>): Promise<number> {
  const runTimes: number[] = [];
  for (let run = 0; run < runsPerMeasurement; run++) {
    const start = performance.now();
    await work();
    runTimes.push(performance.now() - start);
  }
  return median(runTimes);
}
