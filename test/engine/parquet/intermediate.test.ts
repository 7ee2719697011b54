import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { readFooter } from '../../../engine/store/footer.js';
import { seed } from '../../seed.js';
import { readValues, writeRecords } from '../change/random-segments.js';
import { random, randomColumns } from '../store/random.js';
import { firstValueDifference } from './oracles.js';

const folder = mkdtempSync(join(tmpdir(), 'strandlake-intermediate-'));
afterAll(() => rmSync(folder, { recursive: true }));

test(`hyparquet reads intermediate segments as they were written (STRANDLAKE_SEED=${seed})`, async () => {
  let stringChunkCount = 0;
  for (let round = 0; round < 10; round++) {
    const next = random(seed + round);
    const columns = randomColumns(next, 5, 2);
    const rows = 1 + Math.floor(next() * (next() < 0.2 ? 9_000 : 400));
    const { segment, values } = await writeRecords(join(folder, `${round}.parquet`), next, columns, rows, 1, [], true); // prettier-ignore
    const foundValues = await readValues(segment, columns);
    for (const [i, { name, physical }] of columns.entries()) {
      const caseText = `STRANDLAKE_SEED=${seed}, round ${round}, ${name}`;
      expect([caseText, firstValueDifference(values[i]!, foundValues.get(physical)!)]).toEqual([
        caseText,
        undefined,
      ]);
    }
    const { row_groups } = await readFooter(segment.path);
    for (const { meta_data: chunk } of row_groups.flatMap((group) => group.columns)) {
      expect(chunk!.codec).toBe('UNCOMPRESSED');
      if (chunk!.type === 'BYTE_ARRAY') stringChunkCount++;
      if (chunk!.type === 'BYTE_ARRAY') expect(chunk!.encodings).toContain('DELTA_BYTE_ARRAY');
    }
  }
  expect(stringChunkCount).toBeGreaterThan(10);
});
