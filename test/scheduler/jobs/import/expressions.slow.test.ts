import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { DuckDBInstance } from '@duckdb/node-api';
import { Lake } from '../../lake.js';
import { KillableServer } from '../../processes/killable.js';

/*
 * The last record of a file with several chunks changes the types of all: `n` becomes a field of strings, `rare` appears, and the results
 * in `late` become strings. Expressions must see the same values, and give the same results, in all chunks.
 */

let lake: Lake;
let root: string;
let fileId: number;
const rowCount = 60_000;

beforeAll(async () => {
  lake = await Lake.make();
  root = lake.data.root;
  const lastIndex = rowCount - 1;
  const lines = Array.from({ length: rowCount }, (_, i) =>
    JSON.stringify({ i, n: i === lastIndex ? 'x' : i, ...(i === lastIndex && { rare: 'r' }), pad: 'x'.repeat(100) }),
  ); // prettier-ignore
  // The file is compressed, so that it is divided into more chunks than there are threads.
  fileId = await lake.createFile('a.json.gz', gzipSync(`${lines.join('\n')}\n`, { level: 1 }));
});
afterAll(() => lake.remove());

const targetFields = [
  { name: 'pad', is_transient: true },
  { name: 'kind', expression: "'text' if isinstance(record.n, str) else 'number'" },
  { name: 'seldom', expression: "record.rare or 'none'" },
  { name: 'length', expression: 'len(record.pad)', data_type: 'integer' },
  { name: 'failed', expression: '100 // (record.i % 20000)' },
  { name: 'late', expression: `record.i if record.i < ${rowCount - 1} else 'end'` },
];

/** Returns the number of chunks of the commit and a summary of its records, read by DuckDB. */
async function summarizeCommit(datasetId: number): Promise<{ chunks: number; rows: unknown }> {
  const { files, segments } = await lake.store.snapshot(datasetId);
  const duckdb = await (await DuckDBInstance.create(':memory:')).connect();
  try {
    const list = files.map((file) => `'${file}'`).join(', ');
    const result = await duckdb.runAndReadAll(
      `SELECT count(*)::VARCHAR, string_agg(DISTINCT kind), string_agg(DISTINCT seldom ORDER BY seldom), min(length)::VARCHAR,
              count(failed)::VARCHAR, string_agg(DISTINCT _errors::VARCHAR), count(_errors)::VARCHAR,
              string_agg(late, ',' ORDER BY i) FILTER (i < 3 OR i >= ${rowCount - 2})
       FROM read_parquet([${list}], union_by_name = true)`,
    );
    return { chunks: segments.length, rows: result.getRows()[0] };
  } finally {
    duckdb.closeSync();
  }
}

const expectedSummary = [
  String(rowCount),
  'text',
  'none,r',
  '100',
  String(rowCount - 3),
  "{'failed': 'integer division or modulo by zero (line 1, column 5)'}",
  '3',
  `0,1,2,${rowCount - 2},end`,
];

test.each([
  ['', 0],
  ['journal.appended:2', 2],
  ['journal.appended:6', 6],
])(
  'chunks do not matter to expressions; kill at "%s"',
  async (crash, resumed) => {
    const datasetId = await lake.createDataset(`d${Math.random()}`);
    const task = await lake.queueFileImport(datasetId, fileId, { targetFields });
    await lake.close();
    await (crash === '' ? new KillableServer(root) : new KillableServer(root, crash, 'worker')).waitForExit();
    lake = await Lake.open(root);
    expect(await lake.readTaskRow(task.id)).toMatchObject({ status: 'completed', errorMessage: null });
    const summary = await summarizeCommit(datasetId);
    expect(summary.chunks).toBeGreaterThanOrEqual(3);
    expect(summary.rows).toEqual(expectedSummary);
    const { metadata } = (await lake.catalog.imports.get(task.resourceId))!;
    expect((metadata['receipt'] as Record<string, unknown>)['resumed_chunks']).toBe(
      Math.min(resumed, summary.chunks),
    );
    const { warnings } = metadata['validation'] as { warnings: Record<string, unknown>[] };
    expect(warnings.filter(({ code }) => code === 500)).toMatchObject([
      { field: 'failed', line: 1, count: 3, message: 'integer division or modulo by zero (line 1, column 5)' },
    ]);
    expect(await lake.findFolderDamage()).toEqual([]);
  },
); // prettier-ignore
