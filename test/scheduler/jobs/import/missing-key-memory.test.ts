import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { codes } from '../../../../engine/ingest/validation-codes.js';
import type { ChunkJob, ChunkResult } from '../../../../scheduler/jobs/import/chunk-types.js';
import type { ThreadJob } from '../../../../scheduler/jobs/thread-pool.js';
import { openPool } from '../../../../scheduler/worker/pool.js';

const folder = mkdtempSync(join(tmpdir(), 'strandlake-missing-keys-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('a thread rejects a chunk of records without the key although its heap has no room for an object for each', async () => {
  const rows = 400_000;
  const job: ChunkJob = {
    ref: { kind: 'bytes', name: 'a.json', bytes: new Uint8Array(Buffer.from('{"n":1}\n'.repeat(rows))) },
    index: 0,
    reader: 'json',
    header: null,
    params: {},
    columns: [
      { name: 'key', physical: 'key', type: 'string', isList: false },
      { name: 'n', physical: 'n', type: 'long', isList: false },
    ],
    isFinal: true,
    validation: { disable: false, raiseOnErrors: false, strict: false, allowNewFields: true, maxRejected: 1_000 },
    transient: [],
    requiredKey: { fields: ['n', 'key'], mode: 'overwrite', isEnforced: true },
    sampling: null,
    commitId: 123_456_789_012_345,
    isDryRun: false,
    isIntermediate: false,
    rejectedBytes: 1 << 20,
    file: join(folder, 'chunk.parquet'),
  };
  const parse = 'parse' as ThreadJob<ChunkJob, ChunkResult>;
  const pool = openPool({ threads: 1, heapMb: 64 });
  try {
    const result = await pool.run(parse, () => job, new AbortController().signal);
    expect(result).toMatchObject({ read: rows, stored: 0, rejected: rows, segment: null });
    expect(result.lateFindings).toMatchObject({
      errors: rows,
      records: rows,
      examples: [{ code: codes.invalidValue, line: 1, field: 'key', count: rows }],
    });
    expect(result.rejectedPart!.bytes).toBeLessThanOrEqual(job.rejectedBytes);
    expect(result.rejectedPart!.records).toBeGreaterThan(1_000);
  } finally {
    await pool.close();
  }
}); // prettier-ignore
