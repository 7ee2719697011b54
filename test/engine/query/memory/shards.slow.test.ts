import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openInlineShard, openShardThread, type ShardEvents, type ShardThread, type ThreadExit } from '../../../../engine/query/memory/shard-thread.js'; // prettier-ignore
import type { ShardQuery } from '../../../../engine/query/memory/shard-protocol.js';
import { Shards } from '../../../../engine/query/memory/shards.js';
import { all } from '../../../../engine/query/predicate/predicate.js';
import type { Unsupported } from '../../../../engine/query/unsupported.js';
import { parseQuery } from '../../../../engine/query/request/query-request.js';
import type { SelectedRows } from '../../../../engine/query/executor/executor.js';
import type { PageLayout, RecordBytes } from '../../../../engine/query/results/page-format.js';
import { project } from '../../../../engine/query/results/projection.js';
import { runQuery } from '../../../../engine/query/plan/run-query.js';
import {
  column,
  listColumn,
  openEngineFixture,
  type EngineFixture,
  type TestDataset,
} from '../dataset.js';
import { Random } from '../random.js';

const seed = Number(process.env['STRANDLAKE_SEED'] ?? 20_261_121);
let threadsFixture: EngineFixture;
let sqlFixture: EngineFixture;
beforeAll(async () => {
  [threadsFixture, sqlFixture] = [await openEngineFixture(2), await openEngineFixture()];
});
afterAll(async () => {
  await threadsFixture.close();
  await sqlFixture.close();
});

const columns = [
  column('gene', 'string'),
  column('depth', 'integer'),
  column('info', 'object', [column('AF', 'double'), listColumn(column('CSQ', 'string'))]),
];

/** Writes a dataset of seven segments with up to 400 records each. */
async function writeSegments(engineFixture: EngineFixture): Promise<TestDataset> {
  const random = new Random(seed);
  const maybe = <T>(value: T): T | null => (random.chance(0.1) ? null : value);
  const segments = Array.from({ length: 7 }, () =>
    random.list(1 + random.integerBelow(400), () => ({
      gene: maybe(`GENE${random.integerBelow(20)}`),
      depth: maybe(random.integerBelow(100)),
      info: {
        // The values are multiples of 1/1024, so that their sums are exact in any order of addition, which may differ in the SQL engine.
        AF: maybe(random.integerBelow(1024) / 1024),
        CSQ: maybe(
          random.list(random.integerBelow(4), () => random.pick(['stop', 'missense', 'none'])),
        ),
      },
    })),
  );
  return engineFixture.newDataset(columns, segments);
}

describe('shards in threads', () => {
  test(`answer as the SQL engine does (STRANDLAKE_SEED=${seed})`, async () => {
    const random = new Random(seed);
    const [threadsDataset, sqlDataset] = [
      await writeSegments(threadsFixture),
      await writeSegments(sqlFixture),
    ];
    for (let i = 0; i < 60; i++) {
      const body = {
        filters: [
          [`depth__${random.pick(['gt', 'lte'])}`, random.integerBelow(100)],
          ...(random.chance(0.5) ? [['info.CSQ', random.pick(['stop', 'missense'])]] : []),
        ],
        limit: random.integerBelow(40),
        offset: random.pick([0, 0, 3, 500, 2_100]),
        ...(random.chance(0.4) && { ordering: [random.pick(['-depth', 'gene', '-info.AF'])] }),
        ...(random.chance(0.4) && { facets: { gene: {}, 'info.AF': { facet_type: 'stats' } } }),
      };
      const request = parseQuery(body, threadsDataset.fields);
      const { took: _, ...answer } = await runQuery(threadsFixture.engine, threadsDataset.snapshot, threadsDataset.fields, request); // prettier-ignore
      const { took: __, ...sqlAnswer } = await runQuery(sqlFixture.engine, sqlDataset.snapshot, sqlDataset.fields, request); // prettier-ignore
      expect({ body, answer }).toEqual({ body, answer: sqlAnswer });
    }
  });

  test('send the records of a page along with its rows where one shard is known to have them all', async () => {
    const rowsFrom = (from: number): { depth: number }[] =>
      Array.from({ length: 50 }, (_, i) => ({ depth: from + (i % 10) }));
    const { snapshot, fields } = await threadsFixture.newDataset(columns, [
      rowsFrom(0),
      rowsFrom(100),
      rowsFrom(200),
    ]);
    const memory = threadsFixture.engine.memory!;
    const projection = project(snapshot.columns, fields, { fields: null, excludeFields: [] });
    const layout = { projection, format: { kind: 'texts' } } as const;
    const lineLayout = { projection, format: { kind: 'json', end: '\n' } } as const;
    const selectRows = async (
      body: object,
      ownLayout: PageLayout = layout,
    ): Promise<SelectedRows> =>
      (await memory.select(
        snapshot,
        { ...parseQuery(body, fields), layout: ownLayout },
        {},
      )) as SelectedRows;
    for (const page of [{}, { ordering: ['-depth'] }, { offset: 20, limit: 7 }, { limit: 0 }]) {
      const body = { filters: [['depth__gte', 202]], ...page };
      const selection = await selectRows(body);
      const records = (selection.records ?? []) as readonly string[];
      expect(selection.total).toBe(40);
      expect(records).toEqual(await memory.records(snapshot, selection.rows, layout, false, {}));
      const { bytes = [] } = ((await selectRows(body, lineLayout)).records ??
        {}) as Partial<RecordBytes>;
      expect(Buffer.from(bytes).toString()).toBe(records.map((text) => `${text}\n`).join(''));
      expect(records.length).toBe('limit' in page ? page.limit : 40);
      const values = records.map((text) => (JSON.parse(text) as { readonly depth: number }).depth);
      expect(Math.min(...values, 202)).toBe(202);
    }
    // The two segments of a snapshot belong to different shards.
    const halfRows = Array.from({ length: 500 }, (_, depth) => ({ depth }));
    const splitDataset = await threadsFixture.newDataset(columns, [halfRows, halfRows]);
    const totalOf = (page: object): number =>
      !('filters' in page) ? 1000 : 'ordering' in page ? 100 : 980;
    const recordsOfPage = async (page: object): Promise<unknown> => {
      const request = { ...parseQuery(page, splitDataset.fields), layout };
      const selection = (await memory.select(splitDataset.snapshot, request, {})) as SelectedRows;
      expect(selection.total).toBe(totalOf(page));
      return selection.records;
    };
    const textsFrom = (from: number, to: number): unknown =>
      halfRows.slice(from, to).map(({ depth }) => expect.stringContaining(`"depth":${depth},`));
    expect(await recordsOfPage({})).toEqual(textsFrom(0, 100));
    expect(await recordsOfPage({ offset: 450, limit: 50 })).toEqual(textsFrom(450, 500));
    expect(await recordsOfPage({ filters: [['depth__gte', 10]], limit: 490 })).toEqual(textsFrom(10, 500)); // prettier-ignore
    // Each of the shards has half of the rows of a page, which it sends along; none does with more, because other rows may come first.
    const nearRows = { filters: [['depth__lt', 50]], ordering: ['depth'] };
    expect(await recordsOfPage({ ...nearRows, limit: 100 })).toHaveLength(100);
    expect(await recordsOfPage({ ...nearRows, limit: 99 })).toBeUndefined();
    // No records are sent along if the page has rows of both segments, or if an order does not tell which segment comes first.
    expect(await recordsOfPage({ offset: 450, limit: 51 })).toBeUndefined();
    expect(await recordsOfPage({ ordering: ['-depth'], limit: 20 })).toBeUndefined();
  });

  test('stop when the client leaves, and when time is up', async () => {
    const { snapshot, fields } = await writeSegments(threadsFixture);
    const request = parseQuery({ filters: [['depth__gt', 5]] }, fields);
    const signal = AbortSignal.abort();
    await expect(runQuery(threadsFixture.engine, snapshot, fields, request, { signal })).rejects.toMatchObject({ code: 'canceled' }); // prettier-ignore
    await expect(runQuery(threadsFixture.engine, snapshot, fields, request, { timeoutMs: 0 })).rejects.toMatchObject({ code: 'budget' }); // prettier-ignore
    // After a failure, the shards still answer queries.
    const answer = await runQuery(threadsFixture.engine, snapshot, fields, request);
    expect(answer.total).toBeGreaterThan(0);
  });
});

test('a text that only later segments have is not found among the narrower numbers of earlier ones', async () => {
  const engineFixture = await openEngineFixture(0);
  try {
    // The names begin differently: texts with the same beginning would get no dictionary and so no dictionary indices.
    const geneName = (gene: number): string => `${((gene * 7919) % 9973).toString(36)}X`;
    // Each segment has 60 distinct texts: their dictionary indices take one byte in the first segments, and two in the later ones.
    const segments = Array.from({ length: 12 }, (_, segment) =>
      Array.from({ length: 600 }, (__, row) => ({ gene: geneName(60 * segment + (row % 60)) })),
    );
    const { snapshot, fields } = await engineFixture.newDataset(
      [column('gene', 'string')],
      segments,
    );
    const ask = async (body: object): Promise<number> =>
      (await runQuery(engineFixture.engine, snapshot, fields, parseQuery(body, fields))).total;
    expect(await ask({ facets: { gene: { limit: 0 } }, limit: 0 })).toBe(7200);
    for (let gene = 0; gene < 720; gene += 7) {
      const firstName = geneName(gene);
      const otherName = geneName((gene + 300) % 720);
      const totals = [
        await ask({ filters: [['gene', firstName.toLowerCase()]], limit: 0 }),
        await ask({ filters: [['gene__in', [firstName, otherName]]], limit: 0 }),
        await ask({ filters: [{ not: ['gene', firstName] }], limit: 0 }),
      ];
      expect([gene, ...totals]).toEqual([gene, 10, 20, 7190]);
    }
  } finally {
    await engineFixture.close();
  }
});

describe('shards that are told of snapshots', () => {
  const query = {
    predicate: all,
    ordering: [],
    first: 3,
    facets: null,
    firstOtherSegment: 0,
    shardCount: 1,
  };
  const shardQueryOf = (snapshot: number, segments: readonly number[]): ShardQuery => ({
    ...query,
    snapshot,
    segments: Uint32Array.from(segments),
  });

  test('keep a segment where it is, and forget old snapshots', async () => {
    const { snapshot } = await writeSegments(threadsFixture);
    const shards = new Shards(2, () => openInlineShard(1 << 20));
    const firstRegistration = await shards.registerSnapshot(snapshot);
    for (let version = 2; version < 90; version++)
      await shards.registerSnapshot({ ...snapshot, version });
    const laterRegistration = await shards.registerSnapshot(snapshot);
    expect(laterRegistration.key).not.toBe(firstRegistration.key);
    expect(laterRegistration.shardOf).toEqual(firstRegistration.shardOf);
    expect(new Set(firstRegistration.shardOf)).toEqual(new Set([0, 1]));
    const ownSegments = snapshot.segments.flatMap((_, i) =>
      firstRegistration.shardOf[i] === 1 ? [i] : [],
    );
    const select = {
      kind: 'select',
      query: shardQueryOf(laterRegistration.key, ownSegments),
    } as const;
    const answers = await shards.askShards([[1, select]], {});
    expect(answers).toMatchObject([{ selected: { rows: Float64Array.of(ownSegments[0]!, 0, ownSegments[0]!, 1, ownSegments[0]!, 2) } }]); // prettier-ignore
    const oldSelect = {
      kind: 'select',
      query: shardQueryOf(firstRegistration.key, ownSegments),
    } as const;
    await expect(shards.askShards([[1, oldSelect]], {})).resolves.toMatchObject({
      unsupported: expect.any(String),
    });
    await shards.close();
  });

  test('have equal shares of each of two datasets that grow in turn', async () => {
    const { snapshot } = await writeSegments(threadsFixture);
    const shards = new Shards(2, () => openInlineShard(1 << 20));
    for (let version = 1; version <= 8; version++)
      for (const datasetId of [1, 2]) {
        const segments = Array.from({ length: version }, () => ({ ...snapshot.segments[0]!, rows: 100 })); // prettier-ignore
        const files = [`${datasetId}`, ...segments.map((_, i) => `${datasetId}/${i}`)];
        const { shardOf } = await shards.registerSnapshot({ ...snapshot, datasetId, version, segments, files }); // prettier-ignore
        const firstShardCount = shardOf.filter((shard) => shard === 0).length;
        expect(Math.abs(version - 2 * firstShardCount)).toBe(version % 2);
      }
    await shards.close();
  });

  test('leave the query of a thread that exits to the SQL engine, and tell its successor of the snapshot', async () => {
    const { snapshot } = await writeSegments(threadsFixture);
    const { promise: death, resolve: die } = Promise.withResolvers<ThreadExit>();
    let events: ShardEvents | undefined;
    const [firstShard, secondShard] = [
      await openInlineShard(1 << 20),
      await openInlineShard(1 << 20),
    ];
    let currentShard = firstShard;
    const thread: ShardThread = {
      // The first thread dies while it runs a query.
      run: (message) =>
        currentShard === firstShard && message.kind === 'select'
          ? death
          : currentShard.run(message),
      counts: firstShard.counts,
      close: () => currentShard.close(),
    };
    const shards = new Shards(1, async (shardEvents) => ((events = shardEvents), thread));
    const select = async (): Promise<readonly unknown[] | Unsupported> => {
      const { key } = await shards.registerSnapshot(snapshot);
      return shards.askShards([[0, { kind: 'select', query: shardQueryOf(key, [0]) }]], {});
    };
    const answer = select();
    await shards.registerSnapshot(snapshot);
    events!.exited();
    currentShard = secondShard;
    die({ exitReason: 'for a test' });
    await expect(answer).resolves.toMatchObject({ unsupported: expect.any(String) });
    await expect(select()).resolves.toMatchObject([{ selected: { rows: Float64Array.of(0, 0, 0, 1, 0, 2) } }]); // prettier-ignore
    await shards.close();
  });

  test('answer again after a thread was killed', async () => {
    const { snapshot } = await writeSegments(threadsFixture);
    const entry = new URL('./mortal-shard.js', import.meta.url).href;
    const { promise: exit, resolve: onExit } = Promise.withResolvers<void>();
    let thread: ShardThread | undefined;
    const shards = new Shards(1, async (events) => {
      const observedEvents = { ...events, exited: () => (events.exited(), onExit()) };
      return (thread = await openShardThread(1 << 20, observedEvents, undefined, entry));
    });
    const select = async (): Promise<readonly unknown[] | Unsupported> => {
      const { key } = await shards.registerSnapshot(snapshot);
      return shards.askShards([[0, { kind: 'select', query: shardQueryOf(key, [0]) }]], {});
    };
    const answerBefore = await select();
    expect(answerBefore).toHaveLength(1);
    await expect(thread!.run({ kind: 'cancel', id: 0 })).resolves.toEqual({
      exitReason: expect.stringMatching(/exited before it answered/),
    });
    await exit;
    expect(await select()).toEqual(answerBefore);
    await shards.close();
  });
});
