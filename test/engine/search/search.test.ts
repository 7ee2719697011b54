import { afterEach, expect, test } from '@jest/globals';
import type { SearchTable } from '../../../engine/search/search-tables.js';
import { AppError } from '../../../engine/core/errors.js';
import { parseJson } from '../../../engine/core/json.js';
import { parseSearch } from '../../../engine/search/search-request.js';
import { searchCatalog, type SearchAnswer } from '../../../engine/search/search.js';
import type { TestRow } from '../query/dataset.js';
import { hostileTexts } from '../query/hostile.js';
import { naiveQuery, naiveTerms } from '../query/naive.js';
import { Random } from '../query/random.js';
import { randomCatalogue, type ModelDocument, type RandomCatalogue, type SearchingUser } from './catalogue.js'; // prettier-ignore
import { bodiesWithText } from './places.js';
import { documentFields, randomFilters, randomOrdering, randomQuery } from './random-search.js';
import { freshSeed } from '../../seed.js';

const givenSeed = process.env.STRANDLAKE_SEED;
const seeds = givenSeed === undefined ? [1, 2, 3, freshSeed] : [Number(givenSeed)];

let catalogue: RandomCatalogue | undefined;
afterEach(async () => {
  await catalogue?.close();
  catalogue = undefined;
});

async function searchAs(searcher: SearchingUser, body: object): Promise<SearchAnswer> {
  return searchCatalog(
    catalogue!.catalogFixture.catalog.search,
    searcher.viewer,
    parseSearch(body),
  );
}

function idsOfAnswer({ documents }: SearchAnswer): readonly string[] {
  return documents.map(({ vault, object }) =>
    object ? `${object.objectType}-${object.id}` : `vault-${vault.id}`,
  );
}

/** Returns the documents that a user may find, according to the test's own model. */
function readableDocuments(searcher: SearchingUser, scope: string): readonly ModelDocument[] {
  const rights = scope === 'access' ? ['own'] : ['own', 'public'];
  return catalogue!.documents.filter((one) =>
    rights.includes(searcher.readable.get(one.vault_id) ?? 'none'),
  );
}

test.each(seeds)(
  'a search finds what a loop over the readable documents finds (seed %i)',
  async (seed) => {
    const random = new Random(seed);
    catalogue = await randomCatalogue(random, 60);
    let foundCount = 0;
    for (let i = 0; i < 120; i++) {
      const searcher = random.pick(catalogue.searchers);
      const scope = random.pick(['all', 'any', 'access']);
      const rows = readableDocuments(searcher, scope) as unknown as readonly TestRow[];
      const filters = randomFilters(random, catalogue.documents);
      const ordering = randomOrdering(random);
      const query = random.chance(0.3) ? randomQuery(random) : null;
      const limit = random.pick([0, 1, 3, 10, 100]);
      const offset = random.pick([0, 0, 1, 5, 1000]);
      // Without an ordering, a search for words is sorted by relevance, which the model lacks.
      const isRanked = query !== null || JSON.stringify(filters).includes('"description__');
      const usedOrdering = isRanked && ordering.length === 0 ? ['id', '_id'] : ordering;
      const facet = random.pick(documentFields.filter(({ column }) => column.type === 'string' && column.name !== '_id')); // prettier-ignore
      const body = {
        filters,
        ordering: usedOrdering,
        limit,
        offset,
        vault_scope: scope,
        include_vaults: true,
        facets: { [facet.name]: { limit: 0 }, id: { facet_type: 'count' } },
        ...(query && { query: query.text }),
      };
      const matchingRows = naiveQuery(rows, documentFields, {
        filters,
        ordering: usedOrdering,
        limit,
        offset,
      }).filter((row) => query?.matches(row) ?? true);
      const page = matchingRows.slice(offset, offset + limit);
      foundCount += matchingRows.length;
      const answer = await searchAs(searcher, body);
      const vaults = Object.fromEntries(
        answer.vaults!.map(({ vault, count }) => [vault.id, count]),
      );
      const counts: Record<string, number> = {};
      for (const row of matchingRows)
        counts[String(row.vault_id)] = (counts[String(row.vault_id)] ?? 0) + 1;
      expect({
        seed,
        i,
        who: searcher.name,
        body,
        total: answer.total,
        ids: idsOfAnswer(answer),
        offset: answer.offset,
        facets: parseJson(answer.facets!),
        vaults,
      }).toEqual({
        seed,
        i,
        who: searcher.name,
        body,
        total: matchingRows.length,
        ids: page.map((row) => row['_id']),
        offset:
          page.length > 0 && offset + page.length < matchingRows.length
            ? offset + page.length
            : null,
        facets: {
          [facet.name]: naiveTerms(matchingRows, facet),
          id: new Set(matchingRows.map(({ id }) => id)).size,
        },
        vaults: counts,
      });
    }
    // The requests together must match enough rows for the comparison to mean something.
    expect(foundCount).toBeGreaterThan(100);
  },
);

test('hostile texts are values or mistakes, in every place (Q1, Q2)', async () => {
  catalogue = await randomCatalogue(new Random(1), 20);
  const [searcher] = catalogue.searchers;
  const allIds = idsOfAnswer(await searchAs(searcher!, {}));
  for (const place of bodiesWithText) {
    for (const text of hostileTexts) {
      const outcome = await searchAs(searcher!, place(text)).catch((error: unknown) => error);
      const code = outcome instanceof AppError ? outcome.code : outcome instanceof Error ? outcome : 'answered'; // prettier-ignore
      expect([text.slice(0, 40), ['answered', 'invalid', 'budget'].includes(String(code))]).toEqual([text.slice(0, 40), true]); // prettier-ignore
    }
  }
  expect(idsOfAnswer(await searchAs(searcher!, {}))).toEqual(allIds);
});

test('a search ends when its client leaves, and when its time is up (Q9, W6)', async () => {
  catalogue = await randomCatalogue(new Random(2), 20);
  const [searcher] = catalogue.searchers;
  const request = parseSearch({});
  const { search: table } = catalogue.catalogFixture.catalog;
  const abortedSearch = searchCatalog(table, searcher!.viewer, request, {
    signal: AbortSignal.abort(),
  });
  await expect(abortedSearch).rejects.toMatchObject({ code: 'canceled' });
  // A table that never ends, over which a search runs until it is stopped.
  let sliceCount = 0;
  const endlessTable: SearchTable<unknown> = {
    ...table,
    boundary: async (after) => after + 1,
    objects: async () => {
      sliceCount += 1;
      return Array.from({ length: 1_000 }, (_, i) => ({ id: i, vaultId: searcher!.readable.keys().next().value!, objectType: 'folder' as const })); // prettier-ignore
    },
  };
  const controller = new AbortController();
  const twoSearches = [
    searchCatalog(endlessTable, searcher!.viewer, request, { timeoutMs: 50 }),
    searchCatalog(endlessTable, searcher!.viewer, request, { signal: controller.signal }),
  ];
  // The third search waits for a slot: one thread runs at most two searches at once.
  const waitingSearch = searchCatalog(endlessTable, searcher!.viewer, request, { timeoutMs: 20 });
  await expect(waitingSearch).rejects.toMatchObject({ code: 'budget', message: expect.stringMatching(/^The search took longer than 0.02 s, .*: narrow it/) }); // prettier-ignore
  await expect(twoSearches[0]).rejects.toMatchObject({ code: 'budget' });
  controller.abort();
  await expect(twoSearches[1]).rejects.toMatchObject({ code: 'canceled' });
  const sliceCountAtEnd = sliceCount;
  await new Promise((resolve) => setImmediate(resolve));
  expect(sliceCount).toBe(sliceCountAtEnd);
});

test('what is deleted while a search goes on is left out of its page, and changes no other', async () => {
  catalogue = await randomCatalogue(new Random(3), 20);
  const [searcher] = catalogue.searchers;
  const { catalog } = catalogue.catalogFixture;
  const goneFile = catalogue.documents.find(
    (one) => one.type === 'file' && searcher!.readable.has(one.vault_id),
  )!;
  const table: SearchTable<unknown> = {
    ...catalog.search,
    byIds: async (ids) => {
      await catalog.objects.delete(goneFile.id);
      return catalog.search.byIds(ids);
    },
  };
  const allIds = idsOfAnswer(await searchAs(searcher!, {}));
  const answer = await searchCatalog(table, searcher!.viewer, parseSearch({}));
  expect(idsOfAnswer(answer)).toEqual(allIds.filter((id) => id !== goneFile['_id']));
});

test('facets of every kind, nested too, are what a count by hand says', async () => {
  catalogue = await randomCatalogue(new Random(4), 40);
  const [searcher] = catalogue.searchers;
  const rows = readableDocuments(searcher!, 'all');
  const answer = await searchAs(searcher!, {
    limit: 0,
    facets: {
      created_at: { facet_type: 'histogram', interval: 'day' },
      updated_at: { facet_type: 'histogram' },
      vault_id: { facet_type: 'stats' },
      vault: { limit: 0, facets: { type: { limit: 0 } } },
      type: { facet_type: 'count' },
      id: { facet_type: 'percentiles', percents: [0, 50, 100] },
    },
  });
  const countByKey = (keys: readonly string[]): readonly (readonly [string, number])[] => {
    const counts = new Map<string, number>();
    for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
    return [...counts];
  };
  const byKey = (a: readonly [string, number], b: readonly [string, number]): number => (a[0] < b[0] ? -1 : 1); // prettier-ignore
  const days = countByKey(rows.map((row) => row.created_at.slice(0, 10))).toSorted(byKey);
  const months = countByKey(rows.map((row) => `${row.updated_at.slice(0, 7)}-01`)).toSorted(byKey);
  const vaultIds = rows.map((row) => row.vault_id);
  const sum = vaultIds.reduce((a, b) => a + b, 0);
  const vaults = naiveTerms(rows as never, { name: 'vault', path: ['vault'], column: { name: 'vault', physical: 'vault', type: 'string', isList: false } }); // prettier-ignore
  const ids = rows.map((row) => row.id).toSorted((a, b) => a - b);
  const middleIndex = (ids.length - 1) / 2;
  expect(parseJson(answer.facets!)).toEqual({
    created_at: days,
    updated_at: months,
    vault_id: {
      count: rows.length,
      min: Math.min(...vaultIds),
      max: Math.max(...vaultIds),
      avg: sum / rows.length,
      sum,
    },
    vault: vaults.map(([name, total]) => {
      const typesInside = rows.filter((row) => row.vault === name).map((row) => row.type);
      const types = countByKey(typesInside).toSorted((a, b) => b[1] - a[1] || byKey(a, b));
      return [name, total, { type: types }];
    }),
    type: new Set(rows.map((row) => row.type)).size,
    id: {
      '0.0': ids[0],
      '50.0': (ids[Math.floor(middleIndex)]! + ids[Math.ceil(middleIndex)]!) / 2,
      '100.0': ids.at(-1),
    },
  });
});

test('documents have no lists of objects, so a condition on one element is refused', () => {
  const body = { filters: [{ any: { path: 'tags', filters: [['name', 'x']] } }] };
  expect(() => parseSearch(body)).toThrow('tags is not a list of objects');
});
