import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { parseQuery } from '../../../engine/query/request/query-request.js';
import { runQuery } from '../../../engine/query/plan/run-query.js';
import type { AppError } from '../../../engine/core/errors.js';
import { column, enginesUnderTest, listColumn, openEngineFixture } from './dataset.js';

test.each(enginesUnderTest)(
  'a segment of which any bit is flipped gives no wrong answer by %s (R7)',
  async (__, threads) => {
    const columns = [
      column('gene', 'string'),
      column('depth', 'long'),
      column('note', 'text'),
      listColumn(column('tags', 'string')),
    ];
    const rows = Array.from({ length: 3_000 }, (_row, i) => ({
      gene: `gene${i % 7}`,
      depth: BigInt((i * 7919) % 3_001),
      note: `seen ${i % 97} times in sample${(i * 31) % 1_009}`,
      tags: i % 3 === 0 ? [] : [`t${i % 11}`, `u${i}`],
    }));
    const requests = [
      { limit: 50, offset: 1_000 },
      { filters: [['gene', 'gene3'], ['depth__lt', 100]], limit: 100 }, // prettier-ignore
      { filters: [['note__contains', 'sample44']], limit: 5 },
      { limit: 0, facets: { tags: { limit: 5 }, depth: { facet_type: 'stats' } } },
      { ordering: ['-depth'], limit: 3 },
    ];
    const answersOf = async (flip?: (file: string) => void): Promise<readonly unknown[]> => {
      const engineFixture = await openEngineFixture(threads);
      try {
        const { snapshot, fields } = await engineFixture.newDataset(columns, [rows]);
        flip?.(snapshot.files[1]!);
        const answers: unknown[] = [];
        for (const request of requests) {
          const pendingQuery = runQuery(
            engineFixture.engine,
            snapshot,
            fields,
            parseQuery(request, fields),
          );
          answers.push(
            await pendingQuery.then(
              ({ total, results, facets }) => [total, results, facets],
              (error: unknown) => (error as AppError).code,
            ),
          );
        }
        return answers;
      } finally {
        await engineFixture.close();
      }
    };
    const undamagedAnswers = await answersOf();
    let refusedCount = 0;
    let flipCount = 0;
    for (let at = 100; ; at += 4_096) {
      let isBeyondEnd = false;
      const answers = await answersOf((path) => {
        const bytes = readFileSync(path);
        isBeyondEnd = at >= bytes.length;
        if (isBeyondEnd) return;
        bytes[at]! ^= 1 << ((at / 4_096) % 8);
        writeFileSync(path, bytes);
      });
      if (isBeyondEnd) break;
      flipCount++;
      for (const [i, answer] of answers.entries())
        if (answer === 'damaged') refusedCount++;
        else expect(answer).toEqual(undamagedAnswers[i]);
    }
    expect(flipCount).toBeGreaterThan(8);
    expect(refusedCount).toBeGreaterThan(flipCount);
  },
);
