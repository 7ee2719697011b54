import { RecordBatchStreamWriter } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { MemoryExecutor } from '../../../engine/query/memory/memory-executor.js';
import { readRecordsOfShards } from '../../../engine/query/memory/shard-records.js';
import { openShardThread, type ShardThread } from '../../../engine/query/memory/shard-thread.js';
import { Shards } from '../../../engine/query/memory/shards.js';
import { type RowRef, segmentFiles } from '../../../engine/store/store.js';
import type { QueryEngine } from '../../../engine/query/plan/query-engine.js';
import { runPage, runQueryAsLines, streamQuery } from '../../../engine/query/plan/run-query.js';
import { parseQuery, type QueryRequest } from '../../../engine/query/request/query-request.js';
import { delimitedCell } from '../../../engine/query/results/delimited.js';
import { materialise } from '../../../engine/query/results/materialise.js';
import { openSegments } from '../../../engine/query/results/row-blocks.js';
import { project } from '../../../engine/query/results/projection.js';
import {
  readPageBytes,
  column,
  listColumn,
  openEngineFixture,
  type EngineFixture,
  type TestDataset,
} from './dataset.js';
import { Random } from './random.js';

const seed = Number(process.env['STRANDLAKE_SEED'] ?? 20_261_123);
const columns = [
  column('gene', 'string'),
  column('pos', 'integer'),
  column('big', 'long'),
  column('flag', 'boolean'),
  column('when', 'date'),
  column('info', 'object', [column('AF', 'double'), listColumn(column('CSQ', 'string'))]),
  listColumn(
    column('samples', 'object', [column('GT', 'string'), listColumn(column('AD', 'integer'))]),
  ),
];
const columnOrders = [columns, columns.slice(0, 5), [...columns].reverse()];

let threadsFixture: EngineFixture;
let singleThreadFixture: EngineFixture;
let sqlFixture: EngineFixture;
beforeAll(async () => {
  [threadsFixture, singleThreadFixture, sqlFixture] = [
    await openEngineFixture(2),
    await openEngineFixture(0),
    await openEngineFixture(),
  ];
});
afterAll(() =>
  Promise.all(
    [threadsFixture, singleThreadFixture, sqlFixture].map((engineFixture) => engineFixture.close()),
  ),
);

/** Writes a dataset of nine segments with up to 600 records each; some segments lack columns. */
function writeDataset(engineFixture: EngineFixture): Promise<TestDataset> {
  const random = new Random(seed);
  const maybeNull = <T>(value: T): T | null => (random.chance(0.2) ? null : value);
  const sample = (): object => ({
    GT: maybeNull(random.pick(['0/1', '1/1'])),
    AD: maybeNull(random.list(random.integerBelow(3), () => maybeNull(random.integerBelow(100)))),
  });
  const segments = Array.from({ length: 9 }, () =>
    random.list(1 + random.integerBelow(600), () => ({
      gene: maybeNull(
        random.pick(['', 'BRCA2', 'a,"b"\r\n', '=1+1', 'é\t😀', `G${random.integerBelow(9)}`]),
      ),
      pos: maybeNull(random.integerBelow(1000)),
      big: maybeNull(BigInt(random.integerBelow(2 ** 30)) ** 2n),
      flag: maybeNull(random.chance(0.5)),
      when: maybeNull(
        random.pick(['2016-05-01T12:30:00.500', '0099-12-31', '1969-12-31T23:59:59']),
      ),
      info: maybeNull({
        AF: maybeNull(random.integerBelow(1 << 20) / 7),
        CSQ: maybeNull(
          random.list(random.integerBelow(4), () => maybeNull(random.pick(['stop', 'none']))),
        ),
      }),
      samples: maybeNull(random.list(random.integerBelow(3), () => maybeNull(sample()))),
    })),
  );
  const storedColumns = segments.map((_, i) => columnOrders[i % columnOrders.length]!);
  const rows = segments.map((records, i) =>
    records.map((record) =>
      Object.fromEntries(
        storedColumns[i]!.map(({ name }) => [name, record[name as keyof typeof record]]),
      ),
    ),
  );
  return engineFixture.newDataset(columns, rows as never, { stored: storedColumns });
}

type PageFormat = 'array' | 'json' | 'csv' | 'arrow';
const pageFormats: readonly PageFormat[] = ['array', 'json', 'csv', 'arrow'];

async function readPageOf(
  engine: QueryEngine,
  { snapshot, fields }: TestDataset,
  request: QueryRequest,
  format: PageFormat,
  signal?: AbortSignal,
): Promise<Uint8Array | AsyncIterable<Uint8Array>> {
  const options = { signal };
  if (format !== 'array')
    return (await runPage(engine, snapshot, fields, request, format, options)).results;
  const { results } = await streamQuery(engine, snapshot, fields, request, options);
  return typeof results === 'string' ? Buffer.from(results) : results;
}

/** Returns a page written record by record; for Arrow, in batches of 500 records. */
function expectedPage({ snapshot, fields }: TestDataset, request: QueryRequest, rows: readonly RowRef[], format: PageFormat): Buffer {
  const source = openSegments(segmentFiles(snapshot));
  const projection = project(snapshot.columns, fields, request);
  try {
    if (format === 'arrow') {
      const starts = Array.from({ length: Math.max(1, Math.ceil(rows.length / 500)) }, (_, i) => 500 * i);
      const batches = starts.map((from) => materialise(source, rows.slice(from, from + 500), projection, 'arrow'));
      return Buffer.from(RecordBatchStreamWriter.writeAll(batches).toUint8Array(true));
    }
    if (format === 'csv') {
      const cells = materialise(source, rows, projection, 'cells');
      const titles = projection.flatMap(({ column: { name, children, isList } }) => (children && !isList ? children.map((child) => `${name}.${child.name}`) : [name]));
      const lines = [titles, ...cells].map((line) => `${line.map((cell) => delimitedCell(cell, false, ',')).join(',')}\r\n`);
      return Buffer.from(lines.join(''));
    }
    const texts = materialise(source, rows, projection, 'json');
    return Buffer.from(format === 'array' ? `[${texts.join(',')}]` : texts.map((text) => `${text}\n`).join(''));
  } finally {
    source.close();
  }
} // prettier-ignore

async function findRowRefs(
  { snapshot }: TestDataset,
  engine: QueryEngine,
  request: QueryRequest,
): Promise<readonly RowRef[]> {
  const selectedRows = await engine.memory!.select(snapshot, request, {});
  if ('unsupported' in selectedRows) throw new Error(selectedRows.unsupported);
  return selectedRows.rows;
}

const wholePageRequest = { limit: 10_000 };
const pageOrderedByGene = { limit: 10_000, ordering: ['gene', '-pos'] };
/** Matches about nine records in all segments; threads return so few records together with their rows. */
const fewRecordsRequest = { limit: 100, filters: [['pos__range', [500, 503]]] };
const pageRequests = [
  wholePageRequest,
  pageOrderedByGene,
  fewRecordsRequest,
  { ...fewRecordsRequest, ordering: ['-gene'] },
  { ...fewRecordsRequest, offset: 2, limit: 3 },
];

describe('pages', () => {
  test(`of every format are the same bytes, whichever threads make them (STRANDLAKE_SEED=${seed})`, async () => {
    const random = new Random(seed);
    const engineFixtures = [threadsFixture, singleThreadFixture, sqlFixture] as const;
    const datasets = await Promise.all(engineFixtures.map(writeDataset));
    const maxRecords = datasets[0]!.snapshot.rows;
    expect(maxRecords).toBeGreaterThan(1_500);
    const bodies = Array.from({ length: 6 }, () => ({
      limit: random.pick([
        0,
        1,
        20,
        499,
        500,
        501,
        1_000,
        1 + random.integerBelow(maxRecords),
        10_000,
      ]),
      offset: random.pick([0, 0, 0, random.integerBelow(maxRecords)]),
      ...(random.chance(0.5) && { ordering: [random.pick(['gene', '-pos', 'info.AF', '-when'])] }),
      ...(random.chance(0.4) && { filters: [['pos__gt', random.integerBelow(1000)]] }),
      ...(random.chance(0.3) && { fields: ['samples.AD', 'pos', 'info.CSQ'] }),
    }));
    for (const body of [...pageRequests, ...bodies]) {
      const request = parseQuery(body, datasets[0]!.fields);
      const rows = await findRowRefs(datasets[0]!, threadsFixture.engine, request);
      for (const format of pageFormats) {
        const expectedBytes = expectedPage(datasets[0]!, request, rows, format);
        for (const [i, { engine }] of engineFixtures.entries()) {
          const page = await readPageBytes(await readPageOf(engine, datasets[i]!, request, format));
          expect([body, format, i, page.equals(expectedBytes)]).toEqual([body, format, i, true]);
        }
      }
      const titledPage = expectedPage(datasets[0]!, request, rows, 'csv').toString();
      const { snapshot, fields } = datasets[0]!;
      const lines = await runQueryAsLines(threadsFixture.engine, snapshot, fields, request, ',');
      const head = titledPage.slice(0, titledPage.indexOf('\r\n'));
      expect([head, ...lines.results, ''].join('\r\n')).toBe(titledPage);
    }
  });

  test('are complete when a thread that makes them is killed, and when the threads refuse to read', async () => {
    const dataset = await writeDataset(threadsFixture);
    const request = parseQuery(pageOrderedByGene, dataset.fields);
    const rows = await findRowRefs(dataset, threadsFixture.engine, request);
    const entry = new URL('./memory/mortal-shard.js', import.meta.url).href;
    const openedThreads: ShardThread[] = [];
    const shards = new Shards(2, async (events) => {
      openedThreads.push(await openShardThread(1 << 20, events, undefined, entry));
      return openedThreads.at(-1)!;
    });
    for (const format of pageFormats) {
      let refusalCount = 0;
      const engine = withRecordReader(threadsFixture.engine, async (...[snapshot, rowRefs, layout, isContinuation, options]) => {
        const recordsRead = await readRecordsOfShards(shards, snapshot, rowRefs, layout, isContinuation, options);
        if ('unsupported' in recordsRead) refusalCount++;
        return recordsRead;
      }); // prettier-ignore
      const page = await readPageOf(engine, dataset, request, format);
      const pieces: Uint8Array[] = [];
      for await (const piece of page as AsyncIterable<Uint8Array>) {
        pieces.push(piece);
        // The thread exits while it still has parts of the page to write; another thread replaces it.
        if (pieces.length === 2) await openedThreads[1]!.run({ kind: 'cancel', id: 0 }).catch(() => undefined); // prettier-ignore
      }
      const expectedBytes = expectedPage(dataset, request, rows, format);
      expect([format, Buffer.concat(pieces).equals(expectedBytes)]).toEqual([format, true]);
      const refusingEngine = withRecordReader(threadsFixture.engine, async () => {
        refusalCount++;
        return { unsupported: 'a test' };
      });
      const otherBytes = await readPageBytes(
        await readPageOf(refusingEngine, dataset, request, format),
      );
      expect([format, otherBytes.equals(expectedBytes), refusalCount > 0]).toEqual([
        format,
        true,
        true,
      ]);
    }
    await shards.close();
  });

  test('fail if one piece does, and are not made further than they are taken', async () => {
    const dataset = await writeDataset(threadsFixture);
    const request = parseQuery(pageOrderedByGene, dataset.fields);
    const partCount = Math.ceil(dataset.snapshot.rows / 500);
    for (const format of pageFormats) {
      let readCount = 0;
      const { records } = threadsFixture.engine.memory!;
      const failingEngine = withRecordReader(threadsFixture.engine, (...args) => {
        if (++readCount === 3) throw new Error('for a test');
        return records(...args);
      });
      await expect(readPageOf(failingEngine, dataset, request, format).then(readPageBytes)).rejects.toThrow('for a test'); // prettier-ignore

      readCount = 0;
      const endedReads: Promise<unknown>[] = [];
      const countingEngine = withRecordReader(threadsFixture.engine, (...args) => {
        readCount++;
        const recordsRead = records(...args);
        endedReads.push(recordsRead.catch(() => undefined));
        return recordsRead;
      });
      const controller = new AbortController();
      const page = await readPageOf(countingEngine, dataset, request, format, controller.signal);
      await Promise.all(endedReads);
      expect([format, readCount < partCount]).toEqual([format, true]);
      const readCountBefore = readCount;
      const iterator = (page as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
      await iterator.next();
      controller.abort();
      await expect(readToEnd(iterator)).rejects.toMatchObject({ code: 'canceled' });
      expect([format, readCount]).toEqual([format, readCountBefore]);
    }
  });
});

async function readToEnd(iterator: AsyncIterator<Uint8Array>): Promise<void> {
  while (!(await iterator.next()).done);
}

/** Returns a copy of the engine that calls `records` to have records written in threads. */
function withRecordReader(engine: QueryEngine, records: MemoryExecutor['records']): QueryEngine {
  return { ...engine, memory: { ...engine.memory!, records } };
}
