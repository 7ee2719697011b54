import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { AppError } from '../../../engine/core/errors.js';
import { countNodes } from '../../../engine/query/sql/count-statement.js';
import { parseQuery } from '../../../engine/query/request/query-request.js';
import { runQuery } from '../../../engine/query/plan/run-query.js';
import { newStatement } from '../../../engine/query/sql/dialect/statement.js';
import { openEngineFixture, type EngineFixture, type TestDataset } from './dataset.js';
import { hostileTexts } from './hostile.js';
import { createSixRecordDataset } from './six-records.js';

let engineFixture: EngineFixture;
let dataset: TestDataset;
beforeAll(async () => {
  engineFixture = await openEngineFixture();
  dataset = await createSixRecordDataset(engineFixture);
});
afterAll(() => engineFixture.close());

/** Requests with a hostile text in every part that an explanation repeats. */
const hostileRequests: Readonly<Record<string, (text: string) => object>> = {
  value: (text) => ({ filters: [['gene', text]] }),
  'list value': (text) => ({ filters: [['significance__in', [text, `x${text}`]]] }),
  pattern: (text) => ({ filters: [['gene__regexp', text]] }),
  part: (text) => ({ filters: [{ or: [['gene__contains', text], ['gene__prefix', text]] }] }),
  words: (text) => ({ filters: [{ not: ['abstract', text] }] }),
  'number and date': (text) => ({ filters: [['stars', text], ['date_created', text]] }),
  query: (text) => ({ query: text }),
  phrase: (text) => ({ query: `gene:"${text.replaceAll(/["\\]/g, '\\$&')}"` }),
  entity: (text) => ({ entities: [['variant', text]] }),
}; // prettier-ignore

test.each(Object.keys(hostileRequests))('hostile text as %s is explained as text (Q1)', async (part) => {
  const body = hostileRequests[part]!;
  // Only a quarter of the hostile texts is used in each part of a request: explaining an empty answer takes a dozen statements.
  const partIndex = Object.keys(hostileRequests).indexOf(part);
  const waitingTexts = hostileTexts.filter((_, i) => (i + partIndex) % 4 === 0);
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      for (let text = waitingTexts.pop(); text !== undefined; text = waitingTexts.pop())
        await explainHostileText(text, body(text));
    }),
  );
}); // prettier-ignore

async function explainHostileText(text: string, body: object): Promise<void> {
  try {
    const request = parseQuery({ ...body, explain: true }, dataset.fields);
    const statements: string[] = [];
    await countNodes(newStatement(dataset.snapshot), request.explain!.root, async ({ sql }) => {
      statements.push(sql);
      return [];
    });
    // A short hostile text may occur in a statement by coincidence, so only long ones are checked.
    if (text.length > 18) expect(statements.join('')).not.toContain(text);
    const { explain } = await runQuery(
      engineFixture.engine,
      dataset.snapshot,
      dataset.fields,
      request,
    );
    JSON.parse(explain!);
  } catch (error) {
    if (!(error instanceof AppError))
      throw new Error(`for ${JSON.stringify(text)}`, { cause: error });
    expect(['invalid', 'budget']).toContain(error.code);
  }
}
